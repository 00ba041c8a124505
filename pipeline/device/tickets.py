"""Defines a ticket: one reading on its way through the model's threads.

Torch-free: a run with nothing to read never imports torch.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.config.retry_steps import Step
from pipeline.stages.localize import ReadPage
from pipeline.types import PageResult, RenderedPage
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
    if they are released before the page is done.
    """

    rendered: RenderedPage
    step: Step | None = None
    is_urgent: bool = False
    outcome: "Future[Outcome]" = field(default_factory=Future)
    request: "PageRequest | None" = None
    timings: tuple[StageTiming, ...] = ()
    taken_at: float = 0.0
    dropped: Callable[[int], None] | None = None
    num_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        self.num_bytes = self.rendered.num_bytes

    def settle(self, outcome: Outcome) -> None:
        """Sets the page's outcome, once; does nothing if the future was cancelled."""
        if self.outcome.set_running_or_notify_cancel():
            self.outcome.set_result(outcome)


class Abandoned(BaseException):
    """The run ended while the model was at work. Not an Exception, so that no error boundary swallows it."""
