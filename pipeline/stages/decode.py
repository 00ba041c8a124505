"""Decode: the language model reads a batch of encoded pages, and its output is parsed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ocr import decoding, grounding
from ocr.types import Transcript
from pipeline.config import DecodeConfig
from pipeline.results import STATUS_OF_FINISH
from pipeline.stages.encode import EncodedPage
from pipeline.timing import split
from pipeline.types import Kind, PageResult, StageTiming

if TYPE_CHECKING:
    from ocr.checkpoint import LoadedModel


def decode(loaded: "LoadedModel", pages: Sequence[EncodedPage], config: DecodeConfig) -> list[PageResult]:
    """Returns one result for each page, in order.

    The wall time of prefill is shared by prompt tokens, that of generation by the tokens written.
    """
    output = decoding.decode_pages(
        loaded,
        [page.tokens for page in pages],
        prompt=config.prompt or loaded.prompt,
        settings=[page_settings(config, page.rendered.page.kind) for page in pages],
    )
    prompt_tokens = [page.tokens.tokens_TD.shape[0] for page in pages]
    # The end-of-text token costs a step as well, so no page is free.
    written_tokens = [len(transcript.token_ids) + 1 for transcript in output.transcripts]
    prefill = split("decode_prefill", output.prefill_s, prompt_tokens)
    generate = split("decode_generate", output.generate_s, written_tokens)
    return [
        _result(page, transcript, (*page.timings, prefill_share, generate_share))
        for page, transcript, prefill_share, generate_share in zip(
            pages, output.transcripts, prefill, generate, strict=True
        )
    ]


def page_settings(config: DecodeConfig, kind: Kind) -> decoding.DecodeSettings:
    """Returns the limits of one page; PDF pages and images differ in the no-repeat n-gram."""
    ngram = config.pdf if kind == "pdf" else config.image
    return decoding.DecodeSettings(
        max_tokens=config.max_tokens,
        ngram_size=ngram.size,
        ngram_window=ngram.window,
        loop_tokens=config.loop.tokens,
        loop_repeats=config.loop.repeats,
        loop_period=config.loop.period,
        loop_variety=config.loop.variety,
    )


def _result(page: EncodedPage, transcript: Transcript, timings: tuple[StageTiming, ...]) -> PageResult:
    rendered = page.rendered
    return PageResult(
        page=rendered.page,
        status=STATUS_OF_FINISH[transcript.finish],
        parsed=grounding.parse(
            transcript.raw,
            width_px=rendered.width_px,
            height_px=rendered.height_px,
            page_number=rendered.page.page_number,
        ),
        error=None,
        confidence=transcript.confidence,
        num_tokens=len(transcript.token_ids),
        width_px=rendered.width_px,
        height_px=rendered.height_px,
        dpi=rendered.dpi,
        timings=timings,
    )
