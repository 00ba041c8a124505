"""Stage decode: makes the decoding engine's request for an encoded page, and takes over what it wrote.

The engine itself (ocr.decoding.cpu, ocr.decoding.gpu) runs in pipeline.device.threads.decoder_thread;
pipeline.stages.localize makes the page's result of its output.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from ocr.character_head.second_opinion import opinion_of
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings, settings_for
from ocr.speculative.page_draft import drafts_for
from pipeline.config.retry_steps import Step
from pipeline.config.schema import DecodeConfig
from pipeline.outcome.doubt import NONE_READ, doubted
from pipeline.outcome.results import blank_result
from pipeline.stages.encode import EncodedPage
from pipeline.stages.localize import ReadPage, Wording
from pipeline.types import Kind, PageResult
from storage.types import StageTiming

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel
    from pipeline.stages.decoded import Decoded

_FEW_PAGES = 8


def page_request(
    loaded: "PageModel", page: EncodedPage, config: DecodeConfig, step: Step | None = None
) -> PageRequest | None:
    """Returns the engine's request for a page; None where the character head sees nothing on it, or only a pattern.

    The model would write a page of dots dot by dot, for minutes. `unread_result` is the result of such a page.

    step: the retry step to read it with, None for the configured way.
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


def unread_result(loaded: "PageModel", page: EncodedPage) -> PageResult:
    """Returns the result of a page without a request: blank, or doubtful where marks are seen on it."""
    result = blank_result(page.rendered, page.timings)
    opinion = opinion_of(page.tokens, loaded.characters)
    return result if opinion is None or not opinion.num_marks else doubted(result, NONE_READ)


def drafts_pay(loaded: "PageModel", config: DecodeConfig) -> bool:
    """Returns whether pages get drafts. On a GPU only a small model's pages do, for when few are left (few_pages)."""
    if not loaded.takes_drafts:
        return False
    if config.drafts is not None:
        return config.drafts
    return loaded.device.type == "cpu" or loaded.characters is not None


def few_pages(config: DecodeConfig) -> int | None:
    """Returns the most pages in progress at which a GPU still verifies drafts; None for no limit, if drafts are set.

    With many pages a small model's steps take less time than drafting: on an H200 351 pages with drafts took 58 s,
    at 7.8 tokens a step; 327 without them 41 s. The last few pages of a run are long ones, whose steps are sequential.
    """
    return None if config.drafts else _FEW_PAGES


def page_settings(config: DecodeConfig, kind: Kind, step: Step | None = None) -> DecodeSettings:
    """Returns the decoding limits of one page; PDF pages and images differ in the no-repeat n-gram.

    step: the retry step whose limits apply, None for the configured ones.
    """
    ngram, published = (
        config.pdf if kind == "pdf" else config.image,
        settings_for("pdf" if kind == "pdf" else "image"),
    )
    settings = DecodeSettings(
        max_tokens=config.max_tokens,
        ngram_size=published.ngram_size if ngram.size is None else ngram.size,
        ngram_window=ngram.window or published.ngram_window,
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
    """Returns a decoded page as input for pipeline.stages.localize.

    The page's share of a stage's time is the engine's figure; the wall time of generating is all that passed meanwhile.
    """
    page = decoded.encoded
    cells_HW = page.tokens.cells_HW
    return ReadPage(
        rendered=page.rendered,
        cells_HW=None if cells_HW is None else cells_HW.cpu().numpy(),
        transcript=decoded.read.transcript,
        timings=(*page.timings, *_timings(decoded)),
    )


def wording_of(loaded: "PageModel") -> Wording:
    """Returns the parts of a model that are needed to interpret its output."""
    return Wording(
        tokenizer=loaded.tokenizer,
        output_format=loaded.output_format,
        characters=loaded.characters,
        calibration=loaded.calibration,
    )


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
