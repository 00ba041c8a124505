"""Decode: what the language model is asked to read of an encoded page, and what it wrote for the stage after it.

The reading itself is an engine's (ocr.decoding.cpu, ocr.decoding.gpu), in pipeline.device.threads.decoder_thread;
pipeline.stages.localize makes the page's result of what it wrote.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from ocr.character_head.second_opinion import opinion_of
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.speculative.page_draft import drafts_for
from pipeline.config.retry_steps import Step
from pipeline.config.schema import DecodeConfig
from pipeline.outcome.doubt import NONE_READ, doubted
from pipeline.outcome.results import blank_result
from pipeline.stages.encode import EncodedPage
from pipeline.stages.localize import ReadPage, Wording
from pipeline.types import Kind, PageResult, StageTiming

if TYPE_CHECKING:
    from ocr.checkpoints.checkpoint import LoadedModel
    from pipeline.stages.decoded import Decoded

_FEW_PAGES = 8


def page_request(
    loaded: "LoadedModel", page: EncodedPage, config: DecodeConfig, step: Step | None = None
) -> PageRequest | None:
    """Returns what an engine is to read of a page; None where the character head sees nothing on it, or a pattern.

    The model would write a page of dots dot by dot, for minutes. What becomes of such a page says `unread_result`.

    step: how it is read, None for as configured.
    """
    opinion = opinion_of(page.tokens, loaded.characters)
    if opinion is not None and (not opinion.num_marks or opinion.is_pattern):
        return None
    draft = None
    if drafts_pay(loaded, config):
        drafts = drafts_for(loaded.tokenizer, loaded.characters)
        draft = drafts.of(page.tokens, page.rendered.text_layer)
    settings = page_settings(config, page.rendered.page.kind, step)
    return PageRequest(vision=page.tokens, settings=settings, opinion=opinion, draft=draft)


def unread_result(loaded: "LoadedModel", page: EncodedPage) -> PageResult:
    """Returns the result of a page that there is no request for: blank, or doubtful where marks are seen on it."""
    result = blank_result(page.rendered, page.timings)
    opinion = opinion_of(page.tokens, loaded.characters)
    return result if opinion is None or not opinion.num_marks else doubted(result, NONE_READ)


def drafts_pay(loaded: "LoadedModel", config: DecodeConfig) -> bool:
    """Whether pages get drafts. On a GPU those of a small model do, for when few are left (few_pages)."""
    if config.drafts is not None:
        return config.drafts
    return loaded.model.lm_head.weight.device.type == "cpu" or loaded.characters is not None


def few_pages(config: DecodeConfig) -> int | None:
    """Returns of how many pages at once drafts are asked on a GPU, at most; None for no limit, if drafts are asked for.

    With many pages the small model's steps take less time than to draft: on an H200 351 pages with drafts took 58 s,
    7.8 tokens a step; 327 without them 41 s. The last few of a run are long ones, whose steps wait for each other.
    """
    return None if config.drafts else _FEW_PAGES


def page_settings(config: DecodeConfig, kind: Kind, step: Step | None = None) -> DecodeSettings:
    """Returns the limits of one page; PDF pages and images differ in the no-repeat n-gram. step: a rung's own."""
    ngram = config.pdf if kind == "pdf" else config.image
    settings = DecodeSettings(
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
    if step is None:
        return settings
    return replace(
        settings,
        ngram_size=step.ngram_size,
        ngram_window=step.ngram_window,
        temperature=step.temperature,
        seed=step.seed,
    )


def read_page(decoded: "Decoded") -> ReadPage:
    """Returns what was read of a page, for pipeline.stages.localize.

    Its share of a stage's time is what an engine says; of writing, the wall time is all that passed meanwhile.
    """
    page = decoded.encoded
    cells_HW = page.tokens.cells_HW
    return ReadPage(
        rendered=page.rendered,
        cells_HW=None if cells_HW is None else cells_HW.cpu().numpy(),
        transcript=decoded.read.transcript,
        timings=(*page.timings, *_timings(decoded)),
    )


def wording_of(loaded: "LoadedModel") -> Wording:
    """Returns what of a model is needed to understand its output."""
    return Wording(tokenizer=loaded.tokenizer, characters=loaded.characters, calibration=loaded.calibration)


def _timings(decoded: "Decoded") -> tuple[StageTiming, StageTiming]:
    prefill_s, generate_s = decoded.read.prefill_s, decoded.read.generate_s
    return (
        StageTiming(
            stage="decode_prefill", share_s=prefill_s, wall_s=prefill_s, batch_size=decoded.num_together
        ),
        StageTiming(
            stage="decode_generate",
            share_s=generate_s,
            wall_s=max(generate_s, decoded.seconds - prefill_s),
            batch_size=decoded.num_together,
        ),
    )
