"""Reads a page again, one retry step after another, until its text is good enough.

The steps are those of further_steps.py. `pipeline.rereading.comparing` says what is good enough, and what is better.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from pipeline.config.retry_steps import Step
from pipeline.types import EmbeddedPage, Page, PageResult, ReadyPage, RenderedPage
from storage.types import PageError


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
        self._tools, self._step, self._below = tools, step, below

    @property
    def model(self) -> str | None:
        """The name of the model that reads, None for the configured one."""
        return self._step.model

    @abstractmethod
    def applies(self, page: PageState) -> bool:
        """Returns whether the page is not good enough yet and the step may help."""

    @abstractmethod
    async def take(self, page: PageState) -> None:
        """Reads the page again and puts what is read among its attempts."""

    async def _rendered(self, page: PageState) -> RenderedPage | PageError | None:
        """Renders the page; returns None where there is nothing to read, being blank or taken from its text layer."""
        rendered = await asyncio.wrap_future(self._tools.render(page.ready.page, self._step))
        if isinstance(rendered, EmbeddedPage) or (isinstance(rendered, RenderedPage) and rendered.blank):
            return None
        return rendered


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
