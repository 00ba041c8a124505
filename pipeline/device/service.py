"""What a run asks of its model, whichever processes that is in: pages go in, and results come out, placed."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from pipeline.config.retry_steps import Step
from pipeline.device.faults import failed_pages
from pipeline.device.localizing import Placer, open_placer
from pipeline.device.startup.loading import placer_processes
from pipeline.device.tickets import Outcome, ReadOut, Ticket
from pipeline.ingest.workers.shared_memory import Arena
from pipeline.meter import StageUse
from pipeline.stages.localize import Wording
from pipeline.types import Page, PageError, PageResult, RenderedPage

if TYPE_CHECKING:
    from encoders.graphs.stats import PathStats
    from pipeline.device.gpu_meter import GpuReading


class ModelService(ABC):
    """For the event loop's thread, as are all its methods.

    arena: where the views of pages may lie, to be set before it is started. failed: is settled with the error that ends
    the model, if any does. device: where it is, None before it is loaded. ended_at: time.monotonic() at the last token
    of each page that was read; the caller takes out what it has seen.
    load_s, capture_s: seconds of loading, and of the encoder's graphs, once the run is over.
    """

    def __init__(self) -> None:
        self.failed: Future[None] = Future()
        self.load_s = 0.0
        self.device: str | None = None
        self.ended_at: dict[Page, float] = {}
        self.gpu: GpuReading | None = None
        self.arena: Arena | None = None
        self._placer: Placer | None = None
        self._lost: Mapping[Ticket, PageError] = {}

    @abstractmethod
    def prepare(self) -> None:
        """Begins with what loading needs, for a run that is sure to read something, or nearly so."""

    @abstractmethod
    def start(self) -> None:
        """Begins to load, unless that was done: a run with nothing to read does without."""

    @property
    @abstractmethod
    def is_loading(self) -> bool:
        """Whether it was started and does not take pages yet."""

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it takes pages."""

    @abstractmethod
    async def ready(self, *, alone: bool = False) -> None:
        """Waits until the model takes pages, and begins to load where that was not done: before, none is in it.

        alone: until nothing is being made any more that could fail in a page's stead; the decoder's graphs are captured
        while the encoder has the first pages. Where the model fails to load this never returns, and `failed` says why.
        """

    @abstractmethod
    def submit(self, ticket: Ticket) -> None:
        """Has a page read, whose ticket is settled then. For any thread."""

    @abstractmethod
    def close(self) -> None:
        """Ends it; pages that are not read by now are given up. Frees graphs and caches."""

    @property
    @abstractmethod
    def capture_s(self) -> float:
        """Seconds that the encoder's graphs took."""

    @abstractmethod
    def encoder_stats(self) -> "dict[str, PathStats] | None":
        """Returns the statistics of each encoder path; None where no encoder was needed."""

    @abstractmethod
    def decoded(self) -> tuple[int, int]:
        """Returns the tokens written and the steps that pages took for them."""

    @abstractmethod
    def _used(self, wall_s: float) -> list[StageUse]:
        """Where encoder and decoder's time went; after close()."""

    async def read(
        self,
        rendered: RenderedPage,
        dropped: Callable[[int], None] | None = None,
        step: Step | None = None,
        *,
        is_urgent: bool = False,
    ) -> PageResult:
        """Returns what became of a page or a part.

        dropped: is told how many bytes of views are no longer held, where that is before the page is done. For it to
        be true the caller must not hold them either. step: how it is read, None for as configured. is_urgent: before
        those that wait and are not.
        """
        self.start()
        ticket = Ticket(rendered=rendered, step=step, is_urgent=is_urgent)
        if dropped is not None:
            loop = asyncio.get_running_loop()
            ticket.dropped = lambda num_bytes: _call_in(loop, dropped, num_bytes)
        self.submit(ticket)
        del rendered
        outcome = await asyncio.wrap_future(ticket.outcome)
        if isinstance(outcome, PageResult):
            return outcome
        return await self._placed(outcome)

    async def _placed(self, outcome: Outcome) -> PageResult:
        assert self._placer is not None, "there is one before anything is read"
        out = read_out(outcome)
        self.ended_at[out.read.rendered.page] = out.ended_at
        return await asyncio.wrap_future(self._placer.place(out.read))

    def lost(self) -> list[PageResult]:
        """Returns the failures of the pages that were being computed when the model failed; once `failed` is settled.

        A page that takes the device with it is among them, so that it is not always the first one of the next run.
        """
        return failed_pages(self._lost)

    def encoder_record(self) -> dict[str, dict[str, Any]] | None:
        """Returns the same as JSON values, for the database."""
        stats = self.encoder_stats()
        return None if stats is None else {name: path.summary() for name, path in stats.items()}

    def stages(self, wall_s: float) -> list[StageUse]:
        """Returns where the time went; after close()."""
        used = self._used(wall_s)
        if self._placer is not None:
            used.append(self._placer.meter.use("place", wall_s * self._placer.num_workers))
        return used

    def _open_placer(self, wording: Wording, device: str) -> None:
        num_processes = 0 if device == "cpu" else placer_processes()
        self._placer = open_placer(wording, num_processes, self.arena)


def read_out(outcome: Outcome) -> ReadOut:
    """Returns what was read of a page, wherever that was."""
    assert not isinstance(outcome, PageResult), "something was read"
    if isinstance(outcome, ReadOut):
        return outcome
    from pipeline.stages.decode import read_page

    return ReadOut(read=read_page(outcome), ended_at=outcome.ended_at)


def _call_in(loop: asyncio.AbstractEventLoop, task: Callable[[int], None], value: int) -> None:
    """From another thread; nothing happens where the loop has ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(task, value)
