"""Defines a ticket: one reading on its way through the model's threads.

Torch-free: a run with nothing to read never imports torch.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from pipeline.config.retry_steps import Step
from pipeline.stages.localize import ReadPage
from pipeline.types import Page, PageResult, RenderedPage
from storage.types import StageTiming

if TYPE_CHECKING:
    from ocr.decoding.requests import PageRequest


Outcome = ReadPage | PageResult


@dataclass(slots=True, kw_only=True, eq=False)
class Ticket:
    """A page that is to be read. request, timings: set once it has been through the encoder.

    num_bytes: of the pixels that it came with, which are dropped once they are encoded.
    step: the retry step to read it with, None for a first reading. is_urgent: goes before tickets that are not.
    outcome: what was read, or the result of a page that could not be read. dropped: called with the bytes of its views
    if they are released before the page is done. lot: the pages that it shares a prompt with, None for a page by
    itself. members: of a ticket for a whole lot, which only the decoder gets, those of its pages; nobody waits for its
    outcome.
    """

    rendered: RenderedPage
    step: Step | None = None
    is_urgent: bool = False
    outcome: "Future[Outcome]" = field(default_factory=Future)
    request: "PageRequest | None" = None
    timings: tuple[StageTiming, ...] = ()
    taken_at: float = 0.0
    dropped: Callable[[int], None] | None = None
    lot: "Lot | None" = None
    members: tuple["Ticket", ...] = ()
    num_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.num_bytes = self.rendered.num_bytes

    @property
    def pages(self) -> "tuple[Ticket, ...]":
        """The tickets of its pages: itself, but for a lot's."""
        return self.members or (self,)

    def settle(self, outcome: Outcome) -> None:
        """Sets the page's outcome, once; does nothing if the future was cancelled."""
        if self.outcome.set_running_or_notify_cancel():
            self.outcome.set_result(outcome)


class Lot:
    """Neighbouring pages of a document that are read in one prompt.

    They are gathered in the event loop; once all are there, or known not to come, only the encoder's thread uses it,
    to which each comes: models that take several pages have no preparer's thread, where one might fail before.
    """

    def __init__(self, pages: Iterable[Page]) -> None:
        self._awaited = set(pages)
        self._is_whole = asyncio.Event()
        self._num_left = 0
        self._encoded: list[Ticket] = []

    async def join(self, page: Page) -> None:
        """Waits until every page has come or is left out."""
        self._num_left += 1
        self.leave(page)
        await self._is_whole.wait()

    def leave(self, page: Page) -> None:
        """Notes that a page is no longer to be waited for."""
        self._awaited.discard(page)
        if not self._awaited:
            self._is_whole.set()

    def encoded(self, ticket: Ticket) -> tuple[Ticket, ...]:
        """Takes a page that went through the encoder, which may have failed; returns those to be read with the last.

        They are in the document's order.
        """
        self._num_left -= 1
        if ticket.request is not None:
            self._encoded.append(ticket)
        encoded = sorted(self._encoded, key=attrgetter("rendered.page.page_index"))
        return () if self._num_left else tuple(encoded)


class Abandoned(BaseException):
    """The run ended while the model was at work. Not an Exception, so that no error boundary swallows it."""
