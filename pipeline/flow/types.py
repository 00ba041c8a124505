"""One reading on its way through the model's threads. Torch-free: a run with nothing to read does without."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.ladder_steps import Step
from pipeline.types import PageResult, RenderedPage

if TYPE_CHECKING:
    from ocr.engine.types import PageRead, PageRequest
    from pipeline.stages.encode import EncodedPage


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """What the decoder made of an encoded page. seconds: from when it was taken in to its last token.

    num_together: how many pages were being read then. ended_at: time.monotonic() at its last token.
    """

    encoded: "EncodedPage"
    read: "PageRead"
    request: "PageRequest"
    seconds: float
    num_together: int
    ended_at: float = 0.0


Outcome = Decoded | PageResult


@dataclass(slots=True, kw_only=True, eq=False)
class Ticket:
    """A page, or a part of one, that is to be read. encoded, request: once it has been through the encoder.

    dropped: is told the bytes of the views, where those are let go of before the page is done. step: how it is read
    where that is otherwise than the run's pages are at first. is_urgent: whether it goes before those that are not.
    """

    rendered: RenderedPage
    step: Step | None = None
    is_urgent: bool = False
    outcome: "Future[Outcome]" = field(default_factory=Future)
    encoded: "EncodedPage | None" = None
    request: "PageRequest | None" = None
    taken_at: float = 0.0
    dropped: Callable[[int], None] | None = None

    def settle(self, outcome: Outcome) -> None:
        """Once; nothing happens where nobody waits any more."""
        if self.outcome.set_running_or_notify_cancel():
            self.outcome.set_result(outcome)


class Abandoned(BaseException):
    """The run ended while the model was at work; not an Exception, so no error boundary swallows it."""
