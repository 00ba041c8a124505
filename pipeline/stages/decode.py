"""Decode: the language model reads a batch of encoded pages, and its output is parsed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ocr import decoding, grounding
from ocr.confidence import assess
from ocr.drafts.page import drafts_for
from ocr.drafts.types import Draft
from ocr.placing.blocks import placed
from ocr.reading import DecodeSettings
from ocr.second_opinion import SecondOpinion, opinion_of, visible
from ocr.types import Transcript
from pipeline.config import DecodeConfig
from pipeline.results import STATUS_OF_FINISH, blank_result
from pipeline.stages.encode import EncodedPage
from pipeline.timing import split
from pipeline.types import Kind, PageResult, StageTiming

if TYPE_CHECKING:
    from ocr.checkpoint import LoadedModel
    from ocr.paged.reader import PagedReader


def decode(
    loaded: "LoadedModel",
    pages: Sequence[EncodedPage],
    config: DecodeConfig,
    paged: "PagedReader | None" = None,
) -> list[PageResult]:
    """Returns one result for each page, in order. paged: reads with it, if there is one (ocr.decoding).

    The wall time of prefill is shared by prompt tokens, that of generation by the tokens written. A page on
    which the character head sees nothing is not read.
    """
    opinions = [opinion_of(page.tokens, loaded.characters) for page in pages]
    readable = [index for index, opinion in enumerate(opinions) if opinion is None or opinion.num_marks]
    read = _read(
        loaded, [pages[index] for index in readable], [opinions[index] for index in readable], config, paged
    )
    results = dict(zip(readable, read, strict=True))
    return [
        results.get(index) or blank_result(page.rendered, page.timings) for index, page in enumerate(pages)
    ]


def _read(
    loaded: "LoadedModel",
    pages: Sequence[EncodedPage],
    opinions: Sequence[SecondOpinion | None],
    config: DecodeConfig,
    paged: "PagedReader | None",
) -> list[PageResult]:
    output = decoding.decode_pages(
        loaded,
        [page.tokens for page in pages],
        prompt=config.prompt or loaded.prompt,
        settings=[page_settings(config, page.rendered.page.kind) for page in pages],
        opinions=opinions,
        drafts=_drafts(loaded, pages) if config.drafts and paged is None else None,
        paged=paged,
    )
    prompt_tokens = [page.tokens.tokens_TD.shape[0] for page in pages]
    # The end-of-text token costs a step as well, so no page is free.
    written_tokens = [len(transcript.token_ids) + 1 for transcript in output.transcripts]
    prefill = split("decode_prefill", output.prefill_s, prompt_tokens)
    generate = split("decode_generate", output.generate_s, written_tokens)
    return [
        _result(loaded, page, transcript, opinion, (*page.timings, prefill_share, generate_share))
        for page, transcript, opinion, prefill_share, generate_share in zip(
            pages, output.transcripts, opinions, prefill, generate, strict=True
        )
    ]


def _drafts(loaded: "LoadedModel", pages: Sequence[EncodedPage]) -> list[Draft]:
    drafts = drafts_for(loaded.tokenizer, loaded.characters)
    return [drafts.of(page.tokens, page.rendered.text_layer) for page in pages]


def page_settings(config: DecodeConfig, kind: Kind) -> DecodeSettings:
    """Returns the limits of one page; PDF pages and images differ in the no-repeat n-gram."""
    ngram = config.pdf if kind == "pdf" else config.image
    return DecodeSettings(
        max_tokens=config.max_tokens,
        ngram_size=ngram.size,
        ngram_window=ngram.window,
        loop_tokens=config.loop.tokens,
        loop_repeats=config.loop.repeats,
        loop_period=config.loop.period,
        loop_variety=config.loop.variety,
        min_share=config.length.min_share,
        max_share=config.length.max_share,
    )


def _result(
    loaded: "LoadedModel",
    page: EncodedPage,
    transcript: Transcript,
    opinion: SecondOpinion | None,
    timings: tuple[StageTiming, ...],
) -> PageResult:
    rendered = page.rendered
    if opinion is not None and opinion.is_none_of(visible(transcript.raw)):
        return blank_result(rendered, timings)
    parsed = grounding.parse(
        transcript.raw,
        width_px=rendered.width_px,
        height_px=rendered.height_px,
        page_number=rendered.page.page_number,
    )
    parsed = placed(
        parsed, page.tokens, loaded.characters, rendered.views, rendered.width_px, rendered.height_px
    )
    parsed, confidence = assess(parsed, transcript, loaded.tokenizer, opinion, loaded.calibration)
    return PageResult(
        page=rendered.page,
        status=STATUS_OF_FINISH[transcript.finish],
        parsed=parsed,
        error=None,
        confidence=confidence,
        num_tokens=len(transcript.token_ids),
        width_px=rendered.width_px,
        height_px=rendered.height_px,
        dpi=rendered.dpi,
        timings=timings,
    )
