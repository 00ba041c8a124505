"""Retry steps that are attempts of their own: the other way up, with other settings, and a PDF's own text.

They are for pages that the first attempt did not read well: a page that repeats itself, is cut short, on which the
model failed (NaN, memory), or whose confidence is under `ladder.below`. A configured step reads the whole page anew
with one thing changed, so that loops which depend on it do not come back.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from pipeline.config.retry_steps import Step, turned_step
from pipeline.outcome.results import failed_result, layer_result
from pipeline.rereading.comparing import UNFINISHED, best, is_good_enough, without_scrap
from pipeline.rereading.retry import PageState, RetryStep, Tools
from pipeline.timing import single
from pipeline.types import TAKEN_LAST, PageResult
from storage.types import PageError

# Readings that repeat themselves after which the configured model is not asked again.
_REPEATS = 2
_NOTHING_READ = PageError(
    stage="decode",
    category="nothing_read",
    message="the reading ended before it wrote anything; raise decode.max_tokens if it is set lower than usual",
)


def further_steps(tools: Tools, steps: Sequence[Step], below: float) -> Sequence[RetryStep]:
    """Returns the steps that are attempts of their own. steps: the first reading's, then the configured ones."""
    if len(steps) < 2:
        return ()
    configured = [
        (FromLayer if step.text_layer else Anew)(tools, step, below if step.below is None else step.below)
        for step in steps[1:]
    ]
    return Turned(tools, turned_step(steps[0]), below), *configured


class _FurtherStep(RetryStep):
    """A step that adds an attempt under its name."""

    def applies(self, page: PageState) -> bool:
        """Returns whether no attempt is good enough."""
        return not is_good_enough(best(page.attempts), self._below)

    def _add(self, page: PageState, attempt: PageResult) -> None:
        page.attempts.append(replace(attempt, rung=self._step.name))


class Anew(_FurtherStep):
    """Reads the page with other settings."""

    def applies(self, page: PageState) -> bool:
        """Returns whether no attempt is good enough and the model can read the page.

        Another may know its script, and end where this one repeated itself twice: a third time would take as long, and
        at a run's end nothing else is left to do beside it.
        """
        num_repeated = sum(attempt.status == "repeated" for attempt in page.attempts)
        may_help = page.is_legible and num_repeated < _REPEATS
        return (may_help or self._step.model is not None) and super().applies(page)

    async def take(self, page: PageState) -> None:
        """Adds the reading, unless there is nothing to read."""
        rendered = await self._rendered(page)
        if isinstance(rendered, PageError):
            self._add(page, failed_result(page.ready.page, rendered))
        elif rendered is not None:
            self._add(page, self._with_text(await self._tools.read(rendered, self._step)))

    def _with_text(self, result: PageResult) -> PageResult:
        """Returns a reading, as failed if it has no text: the first one saw something on the page, which stays."""
        if result.status == "ok":
            result = without_scrap(result, self._below)
        text = "" if result.parsed is None else result.parsed.text.strip()
        if result.status in ("blank", "doubtful") or (result.status in UNFINISHED and not text):
            return failed_result(result.page, _NOTHING_READ, result.timings)
        return result


class Turned(Anew):
    """Reads the page in its second-best orientation. It comes first: no other change helps there."""

    def applies(self, page: PageState) -> bool:
        """Returns whether no attempt is good enough and the page's orientation is in doubt."""
        is_in_doubt = page.ready.runner_up_deg is not None and page.attempts[0].status != "failed"
        return is_in_doubt and super().applies(page)


class FromLayer(_FurtherStep):
    """Takes the PDF's own text where it can be trusted."""

    async def take(self, page: PageState) -> None:
        """Adds an attempt with the layer's text. The page keeps its layer, which is judged only now.

        With "prefer" the layer is not tried again: the page was read only because it had been rejected.
        """
        if page.ready.layer is None and self._step.render.text_layer in TAKEN_LAST:
            judged = await asyncio.wrap_future(self._tools.judge(page.ready))
            if isinstance(judged, PageError):
                self._add(page, failed_result(page.ready.page, judged))
                return
            page.ready = judged
        layer = page.ready.layer
        if layer is not None and layer.is_trustworthy:
            seconds = page.ready.seconds.get("layer")
            timings = () if seconds is None else (single("layer", seconds),)
            self._add(page, layer_result(page.ready, layer, timings))
