"""One reading on its way through the model's threads. Torch-free: a run with nothing to read does without."""

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
    """What was read of a page, in this process or another. ended_at: as in Decoded."""

    read: ReadPage
    ended_at: float

    def of(self, rendered: RenderedPage) -> "ReadOut":
        """The same with the page's views."""
        return replace(self, read=replace(self.read, rendered=rendered))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedOn:
    """A model that was just loaded. device: "cuda" or "cpu". gpu: the driver's name of it, "GPU-...", if it tells one.

    imported_at, loaded_at: time.perf_counter() when its libraries and when the model itself were there.
    """

    device: str
    gpu: str | None
    imported_at: float
    loaded_at: float


Outcome = Decoded | ReadOut | PageResult


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
