"""Makes the results of pages that need no model, and maps how a reading ended to a page status."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ocr.types import Finish, ParsedText
from pipeline.timing import single
from pipeline.types import EmbeddedPage, Layer, Page, PageResult, PageStatus, ReadyPage, RenderedPage
from storage.types import PageError, StageTiming, facts_of

STATUS_OF_FINISH: dict[Finish, PageStatus] = {"eos": "ok", "loop": "repeated", "length": "truncated"}


def render_timings(seconds: Mapping[str, float]) -> tuple[StageTiming, ...]:
    """Returns the stage timings that a worker measured for a page alone. seconds: a ready page's."""
    return tuple(itertools.starmap(single, seconds.items()))


def result_of(
    ready: ReadyPage,
    parsed: ParsedText,
    status: PageStatus,
    timings: tuple[StageTiming, ...] = (),
    **others: Any,
) -> PageResult:
    """Returns the result of a page that has a text, if only an empty one. others: further fields of it."""
    return PageResult(
        page=ready.page,
        status=status,
        parsed=parsed,
        width_px=ready.width_px,
        height_px=ready.height_px,
        dpi=ready.dpi,
        rotation_deg=ready.rotation_deg,
        timings=timings,
        **others,
    )


def blank_result(rendered: RenderedPage, timings: tuple[StageTiming, ...] | None = None) -> PageResult:
    """Returns a result with empty text, for a page with nothing to read.

    timings: of every stage so far; None for a page that never reached the model.
    """
    timings = render_timings(rendered.seconds) if timings is None else timings
    return result_of(rendered, ParsedText(text="", markdown=""), "blank", timings)


def embedded_result(embedded: EmbeddedPage) -> PageResult:
    """Returns the result of a page taken from its text layer: nothing was read, so it has no confidence."""
    return layer_result(embedded, embedded.layer, render_timings(embedded.seconds))


def layer_result(ready: ReadyPage, layer: Layer, timings: tuple[StageTiming, ...]) -> PageResult:
    """Returns a page's result with its text layer's text. timings: of all stages, those of failed readings too."""
    parsed = ParsedText(**facts_of(layer, ParsedText))
    return result_of(ready, parsed, "embedded", timings, source="layer")


def failed_result(page: Page, error: PageError, timings: Sequence[StageTiming] = ()) -> PageResult:
    """Returns the result of a page that failed with an error."""
    return PageResult(page=page, status="failed", parsed=None, error=error, timings=tuple(timings))
