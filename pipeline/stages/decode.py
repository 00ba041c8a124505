"""Stage decode: makes the decoding engine's request for an encoded page, and takes over what it wrote.

The engine itself (ocr.decoding.gpu, ocr.families.generation) runs in pipeline.device.threads.decoder_thread;
pipeline.stages.localize makes the page's result of its output.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings, settings_for
from pipeline.config.retry_steps import Step
from pipeline.config.schema import DecodeConfig
from pipeline.stages.encode import EncodedPage
from pipeline.stages.localize import ReadPage, Wording
from pipeline.types import Kind
from storage.types import StageTiming

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel
    from pipeline.stages.decoded import Decoded


def page_request(page: EncodedPage, config: DecodeConfig, step: Step | None = None) -> PageRequest:
    """Returns the engine's request for a page. step: the retry step to read it with, None for the configured way."""
    settings = page_settings(config, page.rendered.page.kind, step)
    return PageRequest(vision=page.tokens, settings=settings)


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
    return ReadPage(
        rendered=page.rendered,
        transcript=decoded.read.transcript,
        timings=(*page.timings, *_timings(decoded)),
    )


def wording_of(loaded: "PageModel") -> Wording:
    """Returns the parts of a model that are needed to interpret its output."""
    return Wording(
        tokenizer=loaded.tokenizer,
        output_format=loaded.output_format,
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
