"""Defines a ticket: one reading on its way through the model's threads.

Torch-free: a run with nothing to read never imports torch.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.config.retry_steps import Step
from pipeline.stages.decoded import Decoded
from pipeline.stages.localize import ReadPage
from pipeline.types import PageResult, RenderedPage

if TYPE_CHECKING:
    from ocr.decoding.requests import PageRequest
    from pipeline.stages.encode import EncodedPage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOut:
    """A page as read, in this process or another. ended_at: time.monotonic() at its last token."""

    read: ReadPage
    ended_at: float

    def of(self, rendered: RenderedPage) -> "ReadOut":
        """Returns the reading with the page's views."""
        return replace(self, read=replace(self.read, rendered=rendered))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedOn:
    """A model that was just loaded. device: "cuda" or "cpu". gpu: the driver's name of it, "GPU-...", if known.

    imported_at, loaded_at: time.perf_counter() when its libraries were imported and when the model was loaded.
    """

    device: str
    gpu: str | None
    imported_at: float
    loaded_at: float


Outcome = Decoded | ReadOut | PageResult


@dataclass(slots=True, kw_only=True, eq=False)
class Ticket:
    """A page, or a crop of one, that is to be read. encoded, request: set once it has been through the encoder.

    dropped: called with the bytes of its views if they are released before the page is done. step: the retry step to
    read it with, None for a first reading. is_urgent: goes before tickets that are not.
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
        """Sets the page's outcome, once; does nothing if the future was cancelled."""
        if self.outcome.set_running_or_notify_cancel():
            self.outcome.set_result(outcome)


class Abandoned(BaseException):
    """The run ended while the model was at work. Not an Exception, so that no error boundary swallows it."""
