"""Ends of a page that need no model, and how a reading's end becomes a page status."""

from collections.abc import Sequence

from ocr.types import Finish, ParsedText
from pipeline.timing import single
from pipeline.types import (
    EmbeddedPage,
    Layer,
    Page,
    PageError,
    PageResult,
    PageStatus,
    ReadyPage,
    RenderedPage,
    StageTiming,
)

STATUS_OF_FINISH: dict[Finish, PageStatus] = {"eos": "ok", "loop": "repeated", "length": "truncated"}


def render_timings(rendered: ReadyPage) -> tuple[StageTiming, ...]:
    """Returns the timings that a worker measured for this page alone."""
    return tuple(single(stage, seconds) for stage, seconds in rendered.seconds.items())


def blank_result(rendered: RenderedPage, timings: tuple[StageTiming, ...] | None = None) -> PageResult:
    """Returns an empty text: a page without anything to read gets no invented one.

    timings: of every stage so far; None for a page that never reached the model.
    """
    return PageResult(
        page=rendered.page,
        status="blank",
        parsed=ParsedText(text="", markdown=""),
        error=None,
        width_px=rendered.width_px,
        height_px=rendered.height_px,
        dpi=rendered.dpi,
        rotation_deg=rendered.rotation_deg,
        timings=render_timings(rendered) if timings is None else timings,
    )


def embedded_result(embedded: EmbeddedPage) -> PageResult:
    """Returns a page with the text of its own text layer: nothing was read, so there is no confidence."""
    return layer_result(embedded, embedded.layer, render_timings(embedded))


def layer_result(ready: ReadyPage, layer: Layer, timings: tuple[StageTiming, ...]) -> PageResult:
    """Returns a page with the text of its text layer. timings: of all that was done for it, failed readings too."""
    return PageResult(
        page=ready.page,
        status="embedded",
        parsed=ParsedText(text=layer.text, markdown=layer.markdown, blocks=layer.blocks),
        error=None,
        width_px=ready.width_px,
        height_px=ready.height_px,
        dpi=ready.dpi,
        source="layer",
        rotation_deg=0 if isinstance(ready, EmbeddedPage) else ready.rotation_deg,
        timings=timings,
    )


def failed_result(page: Page, error: PageError, timings: Sequence[StageTiming] = ()) -> PageResult:
    """Returns a page without a text."""
    return PageResult(page=page, status="failed", parsed=None, error=error, timings=tuple(timings))
