"""Reads a page again, one retry step after another, until its text is good enough.

Each step is an attempt of its own: the other way up, with other settings, or a PDF's own text. They are for pages that
the first attempt did not read well: a page that repeats itself, is cut short, on which the model failed (NaN, memory),
or whose confidence is under `ladder.below`. A configured step reads the whole page anew with one thing changed, so that
loops which depend on it do not come back. `pipeline.rereading.comparing` says what is good enough, and what is better.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from pipeline.config.retry_steps import Step, turned_step
from pipeline.outcome.results import failed_result, layer_result
from pipeline.rereading.comparing import UNFINISHED, best, is_good_enough, without_scrap
from pipeline.timing import single
from pipeline.types import TAKEN_LAST, EmbeddedPage, Page, PageResult, ReadyPage, RenderedPage
from storage.types import PageError

# Readings that repeat themselves after which the configured model is not asked again.
_REPEATS = 2
_NOTHING_READ = PageError(
    stage="decode",
    category="nothing_read",
    message="the reading ended before it wrote anything; raise decode.max_tokens if it is set lower than usual",
)


@dataclass(slots=True, kw_only=True)
class PageState:
    """A page on its way through the retry steps, which change it.

    ready: the page as known so far, without views. attempts: in the order they were made, the first reading first.
    is_legible: whether the model can read the page at all.
    """

    ready: RenderedPage
    attempts: list[PageResult]
    is_legible: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What retry steps work with.

    render: renders a page for a step. read: returns the result of reading it. judge: returns a page with its text layer
    judged.
    """

    render: Callable[[Page, Step], Future[ReadyPage | PageError]]
    read: Callable[[RenderedPage, Step], Awaitable[PageResult]]
    judge: Callable[[RenderedPage], Future[RenderedPage | PageError]]


class RetryStep(ABC):
    """One way to read a page again. below: the confidence under which a reading is not good enough."""

    def __init__(self, tools: Tools, step: Step, below: float) -> None:
        self._tools, self._step = tools, step
        self._below = below if step.below is None else step.below

    @property
    def model(self) -> str | None:
        """The name of the model that reads, None for the configured one."""
        return self._step.model

    def applies(self, page: PageState) -> bool:
        """Returns whether no attempt is good enough yet and the step may help."""
        return not is_good_enough(best(page.attempts), self._below)

    @abstractmethod
    async def take(self, page: PageState) -> None:
        """Reads the page again and adds what is read to its attempts, under the step's name."""

    def _add(self, page: PageState, attempt: PageResult) -> None:
        page.attempts.append(replace(attempt, rung=self._step.name))


class Anew(RetryStep):
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
        """Adds the reading, unless there is nothing to read: the page is blank or taken from its text layer."""
        rendered = await asyncio.wrap_future(self._tools.render(page.ready.page, self._step))
        if isinstance(rendered, PageError):
            self._add(page, failed_result(page.ready.page, rendered))
        elif not isinstance(rendered, EmbeddedPage) and not rendered.blank:
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


class FromLayer(RetryStep):
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


def retry_steps(tools: Tools, steps: Sequence[Step], below: float) -> Sequence[RetryStep]:
    """Returns the steps by which a page is read again. steps: the first reading's, then the configured ones."""
    if len(steps) < 2:
        return ()
    configured = [(FromLayer if step.text_layer else Anew)(tools, step, below) for step in steps[1:]]
    return Turned(tools, turned_step(steps[0]), below), *configured


async def retry(
    page: PageState, steps: Sequence[RetryStep], waits: Callable[[str], bool] = lambda model: False
) -> Sequence[RetryStep]:
    """Takes the steps that apply, in order.

    Returns those that are left, from the first that applies but whose model has to wait for its turn.
    """
    for number, step in enumerate(steps):
        if step.applies(page):
            if step.model is not None and waits(step.model):
                return steps[number:]
            await step.take(page)
    return ()
