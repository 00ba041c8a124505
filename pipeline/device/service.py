"""Defines a run's interface to its model, in whichever processes that is: pages go in, placed results come out."""

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.config.retry_steps import Step
from pipeline.device.faults import failed_pages
from pipeline.device.localizers import Localizer, open_localizer
from pipeline.device.startup.loading import placer_processes
from pipeline.device.tickets import Outcome, ReadOut, Ticket
from pipeline.errors import WorkersError
from pipeline.ingest.workers.shared_memory import Arena
from pipeline.meter import StageUse
from pipeline.stages.localize import Wording
from pipeline.types import Page, PageResult, RenderedPage, SeenWords
from storage.types import PageError

if TYPE_CHECKING:
    from encoders.graphs.stats import PathStats
    from pipeline.device.gpu_meter import GpuReading

LOGGER = logging.getLogger("ocrbatch")


class ModelService(ABC):
    """Reads pages with the configured model. Use it, and its methods, from the event loop's thread only.

    arena: the shared memory in which pages' views may lie, to be set before start(). failed: settled with the error
    that ends the model, if any does. device: where the model is, None before it is loaded. ended_at: time.monotonic()
    at the last token of each page that was read; the caller removes the entries it has seen.
    load_s, capture_s: seconds of loading, and of the encoder's graphs, once the run is over.
    """

    def __init__(self) -> None:
        self.failed: Future[None] = Future()
        self.load_s = 0.0
        self.device: str | None = None
        self.ended_at: dict[Page, float] = {}
        self.gpu: GpuReading | None = None
        self.arena: Arena | None = None
        self._localizer: Localizer | None = None
        self._lost: Mapping[Ticket, PageError] = {}

    @abstractmethod
    def prepare(self) -> None:
        """Begins to import what loading needs, for a run that will almost certainly read something."""

    @abstractmethod
    def start(self) -> None:
        """Begins to load the model if it has not been started: a run with nothing to read never loads it."""

    @property
    @abstractmethod
    def is_loading(self) -> bool:
        """Tells whether the model was started and does not take pages yet."""

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Tells whether the model takes pages."""

    @abstractmethod
    async def ready(self, *, alone: bool = False) -> None:
        """Starts the model if need be, and waits until it takes pages; until then no page is in it.

        alone: also waits until nothing else is being set up whose failure could be blamed on a page, as the decoder's
        graphs are captured while the encoder has the first pages. If the model fails to load, this never returns, and
        `failed` has the error.
        """

    @abstractmethod
    def submit(self, ticket: Ticket) -> None:
        """Queues a page to be read; its ticket is settled when it is done. For any thread."""

    @abstractmethod
    def close(self) -> None:
        """Ends the model, giving up pages that are not read yet. Frees graphs and caches."""

    def let_go(self) -> None:
        """Ends the model as close() does, and frees its memory; counts and times stay. For any thread."""
        self.close()

    @property
    @abstractmethod
    def capture_s(self) -> float:
        """The seconds that capturing the encoder's graphs took."""

    @abstractmethod
    def encoder_stats(self) -> "dict[str, PathStats] | None":
        """Returns the statistics of each encoder path; None where no encoder was needed."""

    @abstractmethod
    def decoded(self) -> tuple[int, int]:
        """Returns the tokens written and the steps that pages took for them."""

    @abstractmethod
    def _used(self, wall_s: float) -> list[StageUse]:
        """Returns where the encoder's and the decoder's time went; call it after close()."""

    async def read(
        self,
        rendered: RenderedPage,
        dropped: Callable[[int], None] | None = None,
        step: Step | None = None,
        *,
        is_urgent: bool = False,
        seen: Future[SeenWords] | None = None,
    ) -> PageResult:
        """Reads a page or a crop and returns its result.

        dropped: called with the number of bytes of views that are released before the page is done; the caller must
        not hold them either. step: the retry step to read it with, None for the configured way. is_urgent: puts it
        before waiting pages that are not. seen: the words that are seen on it by other means.
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
        return await self._placed(outcome, seen)

    async def _placed(self, outcome: Outcome, seen: Future[SeenWords] | None) -> PageResult:
        assert self._localizer is not None, "there is one before anything is read"
        out = read_out(outcome)
        self.ended_at[out.read.rendered.page] = out.ended_at
        read = out.read if seen is None else replace(out.read, seen=await _seen(seen))
        return await asyncio.wrap_future(self._localizer.place(read))

    def lost(self) -> list[PageResult]:
        """Returns the failures of the pages that were being computed when the model failed; once `failed` is settled.

        A page that crashed the device is among them, so that it will not always be the first page of the next run.
        """
        return failed_pages(self._lost)

    def encoder_record(self) -> dict[str, dict[str, Any]] | None:
        """Returns the statistics of each encoder path as JSON values, for the database."""
        stats = self.encoder_stats()
        return None if stats is None else {name: path.summary() for name, path in stats.items()}

    def stages(self, wall_s: float) -> list[StageUse]:
        """Returns where the time of the model's stages went; call it after close()."""
        used = self._used(wall_s)
        if self._localizer is not None:
            used.append(self._localizer.meter.use("place", wall_s * self._localizer.num_workers))
        return used

    def _open_localizer(self, wording: Wording, device: str) -> None:
        num_processes = 0 if device == "cpu" else placer_processes()
        self._localizer = open_localizer(wording, num_processes, self.arena)


async def _seen(finding: Future[SeenWords]) -> SeenWords:
    """Returns the words that are found; none where the processes that look for them do not start."""
    try:
        return await asyncio.wrap_future(finding)
    except WorkersError as error:
        LOGGER.warning("words stay without boxes: %s", error)
        return SeenWords()


def read_out(outcome: Outcome) -> ReadOut:
    """Returns the reading in a page's outcome, whether it was made in this process or another."""
    assert not isinstance(outcome, PageResult), "something was read"
    if isinstance(outcome, ReadOut):
        return outcome
    from pipeline.stages.decode import read_page

    return ReadOut(read=read_page(outcome), ended_at=outcome.ended_at)


def _call_in(loop: asyncio.AbstractEventLoop, task: Callable[[int], None], value: int) -> None:
    """Calls task(value) in the event loop from another thread; does nothing if the loop has ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(task, value)
