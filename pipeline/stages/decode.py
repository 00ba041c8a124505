"""Stage decode: says how a page is to be decoded, and takes over what the decoding engine wrote.

The engine itself (ocr.decoding.gpu, ocr.families.generation) runs in pipeline.device.threads.decoder_thread;
pipeline.stages.localize makes the page's result of its output.
"""

from collections.abc import Sequence
from dataclasses import replace

from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings, settings_for
from pipeline.config.retry_steps import Step
from pipeline.config.schema import DecodeConfig
from pipeline.types import Kind
from storage.types import StageTiming


def page_settings(config: DecodeConfig, kind: Kind, step: Step | None = None) -> DecodeSettings:
    """Returns the decoding limits of one page; PDF pages and images differ in the no-repeat n-gram.

    step: the retry step whose limits apply, None for the configured ones.
    """
    ngram = config.pdf if kind == "pdf" else config.image
    published = settings_for("pdf" if kind == "pdf" else "image")
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


def request_together(requests: Sequence[PageRequest], prompt: str) -> PageRequest:
    """Returns one request for several pages, which may be as long as all of them."""
    first, *others = requests
    most = sum(request.settings.max_tokens for request in requests)
    return replace(
        first,
        beside=tuple(request.vision for request in others),
        prompt=prompt,
        settings=replace(first.settings, max_tokens=most),
    )


def decode_timings(
    read: PageRead, seconds: float, num_together: int, num_pages: int = 1
) -> tuple[StageTiming, StageTiming]:
    """Returns the timings of a page that was read: its shares are the engine's figures.

    seconds: all that passed from taking the page to its last token. num_together: how many pages were being read then.
    num_pages: that had the same prompt.
    """

    def timing(stage: str, own_s: float, wall_s: float) -> StageTiming:
        return StageTiming(stage=stage, share_s=own_s / num_pages, wall_s=wall_s, batch_size=num_together)

    generate_wall_s = max(read.generate_s, seconds - read.prefill_s)
    generate = timing("decode_generate", read.generate_s, generate_wall_s)
    return timing("decode_prefill", read.prefill_s, read.prefill_s), generate
