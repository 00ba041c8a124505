"""Reads a page again, one retry step after another, until a reading is good enough; all attempts are stored.

The second look (pipeline.rereading.second_look) comes before: it belongs to the first reading and reads crops of a page
again one by one. The ladder gets the pages that this did not help: a page that repeats itself, is cut short, on which
the model failed (NaN, memory), or whose confidence is under `ladder.below`. A retry step reads the whole page anew with
one thing changed, so that loops which depend on it do not come back.

The database's rule (storage.records.attempts) decides which attempt is the page's: read to its end before cut short or
repeated, before failed; then the higher confidence; of equals the earlier. Until all attempts are made, none is
doubtful for its confidence (pipeline.outcome.doubt), only for having read nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace

from pipeline.config.retry_steps import Step, turned_step
from pipeline.outcome.results import failed_result, layer_result
from pipeline.rereading.joining import join, readings
from pipeline.rereading.second_look import without_scrap
from pipeline.text_layer.agreement import layer_of
from pipeline.timing import single
from pipeline.types import (
    TAKEN_LAST,
    EmbeddedPage,
    Kind,
    Page,
    PageResult,
    ReadablePage,
    ReadyPage,
    RenderedPage,
)
from storage.records.attempts import merit
from storage.types import PageError

_UNFINISHED = ("repeated", "truncated")
_NOTHING = ("blank", "doubtful")
# Stages whose failure another reading may avoid; a page that cannot be rendered stays that way.
_MODEL_STAGES = ("encode", "decode", "place")
_NOTHING_READ = PageError(
    stage="decode",
    category="nothing_read",
    message="the reading ended before it wrote anything; raise decode.max_tokens if it is set lower than usual",
)

Render = Callable[[Page, Step], Future[ReadyPage | PageError]]
Judge = Callable[[ReadablePage], Future[ReadablePage | PageError]]
Read = Callable[[Sequence[RenderedPage], Step], Awaitable[list[PageResult]]]


class Ladder:
    """Makes further attempts at a page with the configured retry steps.

    steps: for each kind of file the first reading's step, then the retry steps, if any. below: the confidence under
    which a reading is not good enough. render: renders a page for a step. read: returns a result for each of a page's
    readings. judge: returns a page with its text layer judged.
    """

    def __init__(
        self, *, steps: Mapping[Kind, Sequence[Step]], below: float, render: Render, read: Read, judge: Judge
    ) -> None:
        self._steps, self._below = steps, below
        self._render, self._read, self._judge = render, read, judge

    def wants(self, result: PageResult) -> bool:
        """Returns whether the page should be read again."""
        return len(self._steps[result.page.kind]) > 1 and not self._is_good(result)

    async def __call__(
        self, ready: ReadablePage, first: PageResult, *, reads: bool = True
    ) -> tuple[list[PageResult], ReadablePage]:
        """Returns all attempts in order, each with its retry step and its own time, and the page as then known.

        ready: the page as first read, without views; it is returned with its text layer where that was asked for.
        If the page's orientation is in doubt, another one is tried first: no other change helps there. reads: False for
        a page that the model cannot read at all, so that only its text layer may be taken.
        """
        attempts = [first]
        kind = first.page.kind
        is_in_doubt = ready.runner_up_deg is not None and first.status != "failed"
        turned = [turned_step(self._steps[kind][0])] if is_in_doubt else []
        for step in (*turned, *self._steps[kind][1:]):
            if self._is_good(best(attempts)):
                break
            if not reads and not step.text_layer:
                continue
            if step.text_layer:
                ready, attempt = await self._from_layer(ready, step)
            else:
                attempt = await self._again(ready.page, step)
            if attempt is not None:
                attempts.append(replace(attempt, rung=step.name))
        return attempts, ready

    async def _again(self, page: Page, step: Step) -> PageResult | None:
        """Reads a page again; returns None where there is nothing to read, being blank or taken from its text layer."""
        rendered = await asyncio.wrap_future(self._render(page, step))
        if isinstance(rendered, PageError):
            return failed_result(page, rendered)
        if isinstance(rendered, EmbeddedPage) or (isinstance(rendered, RenderedPage) and rendered.blank):
            return None
        reading = self._read(readings(rendered), step)
        rendered = rendered.without_views()
        result = self._checked(join(rendered, await reading), may_be_scrap=not rendered.shows_print)
        if result.status in _NOTHING:  # the first reading saw something on it: that stays
            return failed_result(page, _NOTHING_READ, result.timings)
        return result

    def _checked(self, result: PageResult, *, may_be_scrap: bool) -> PageResult:
        """Returns the result without what hides that it has no text: a doubtful scrap, or an end before any word."""
        if result.parsed is None or self._is_good(result):
            return result
        if result.status in _UNFINISHED and not result.parsed.text.strip():
            return failed_result(result.page, _NOTHING_READ, result.timings)
        return without_scrap(result) if result.status == "ok" and may_be_scrap else result

    async def _from_layer(self, ready: ReadablePage, step: Step) -> tuple[ReadablePage, PageResult | None]:
        """Returns the page with its text layer, judged only now, and an attempt with that text if it can be trusted.

        With "prefer" the layer is not tried again: the page was read only because it had been rejected.
        """
        if layer_of(ready) is None and step.render.text_layer in TAKEN_LAST:
            judged = await asyncio.wrap_future(self._judge(ready))
            if isinstance(judged, PageError):
                return ready, failed_result(ready.page, judged)
            ready = judged
        layer = layer_of(ready)
        if layer is None or not layer.is_trustworthy:
            return ready, None
        seconds = ready.seconds.get("layer")
        return ready, layer_result(ready, layer, () if seconds is None else (single("layer", seconds),))

    def _is_good(self, result: PageResult) -> bool:
        if result.status == "failed":
            return result.error is None or result.error.stage not in _MODEL_STAGES
        if result.status in (*_UNFINISHED, "doubtful"):
            return False
        return result.confidence is None or result.confidence >= self._below


def best(attempts: Sequence[PageResult]) -> PageResult:
    """Returns the best attempt, which is the page's result."""
    return max(attempts, key=lambda attempt: merit(attempt.status, attempt.confidence))
