"""Reads pages line by line, each in a process of its own, so that pages on all CPUs never wait for each other."""

import contextlib
import functools
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pebble import ProcessExpired

from encoders.views import PageViews
from ocr.errors import CheckpointError
from pipeline.device.line_device import LineDevice
from pipeline.errors import PipelineError
from pipeline.ingest.workers import tasks
from pipeline.ingest.workers.failed_tasks import failure_of
from pipeline.ingest.workers.shared_memory import Arena, Shared, share
from pipeline.ingest.workers.task_pool import TaskPool
from pipeline.meter import Meter, StageUse
from pipeline.outcome.results import failed_result, render_timings
from pipeline.types import FontSample, Page, PageResult, RenderedPage, SeenWords
from storage.types import PageError

if TYPE_CHECKING:
    from ocr.line_reader.reading import LineReader

Result = TypeVar("Result")

LOGGER = logging.getLogger("ocrbatch")
# Far more than the fullest page takes on a busy machine.
_LIMIT_S = 600.0
# A GPU that was not asked for is woken with this page, the second with twice this, and so on: its process takes some 5
# CPU seconds to start, and spares less than one a page.
_FEW_PAGES = 16
# These processes read no files, so they leak little.
_PAGES_PER_PROCESS = 20_000


class LineReaders(TaskPool):
    """Processes that read pages line by line; they start with start() or the first page.

    folder: with the line reader's files. number: of processes. memory_bytes: what each may allocate, None for no limit.
    stage: how reports call what they do. niceness: of the processes, 0 for as urgent as the run itself. devices: run
    their networks on GPUs, each its share of the pages, and of a few pages only if it was asked for; none where each
    process runs its own.
    arena: the shared memory in which pages' pixels may lie, to be set before the first page.
    """

    def __init__(
        self,
        folder: Path,
        number: int,
        memory_bytes: int | None,
        *,
        stage: str = "read",
        niceness: int = 0,
        devices: Sequence[LineDevice] = (),
    ) -> None:
        self.devices = devices
        self.meter = Meter()
        super().__init__(
            max_workers=number,
            initializer=_begin_process,
            initargs=(str(folder), memory_bytes, niceness, ""),
            tasks_per_worker=_PAGES_PER_PROCESS,
            starting=self.meter,
        )
        self.arena: Arena | None = None
        self._number, self._stage = number, stage
        self._is_started, self._has_read = False, threading.Event()
        self._num_asked = 0

    def start(self) -> None:
        """Begins to start the processes if they have not been started; the first page reports what goes wrong."""
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=self._start, daemon=True).start()

    def _start(self) -> None:
        with contextlib.suppress(PipelineError, CheckpointError):
            self._pool()

    def _pool(self) -> Any:
        """Returns the running pool, once a GPU that was asked for is ready.

        Raises: WorkersError; as LineDevice.address does.
        """
        for device in self.devices:
            if not device.is_optional:
                self._initargs = *self._initargs[:-1], device.address()
        return super()._pool()

    @property
    def is_started(self) -> bool:
        """Tells whether the processes were started."""
        return self._is_started

    @property
    def is_loading(self) -> bool:
        """Tells whether the processes were started and have not read any page yet."""
        return self._is_started and not self._has_read.is_set()

    @property
    def is_ready(self) -> bool:
        """Tells whether they have read a page."""
        return self._has_read.is_set()

    def read(self, rendered: RenderedPage) -> Future[PageResult]:
        """Returns the future of the page's result, which may be a failure. rendered: with its pixels.

        The future raises WorkersError where no process can be started.
        """
        failed = partial(_failed, rendered.page, rendered.seconds)
        return self._begin("read_lines", rendered, failed, self._addresses())

    def _addresses(self) -> Sequence[str]:
        """Returns where the networks of the next page may be served by the time it is read: first one GPU in turn."""
        self._num_asked += 1
        awake = [
            device.wake()
            for number, device in enumerate(self.devices, 1)
            if not device.is_optional or self._num_asked > number * _FEW_PAGES
        ]
        first = self._num_asked % max(1, len(awake))
        return awake[first:] + awake[:first]

    def words(self, rendered: RenderedPage) -> Future[SeenWords]:
        """Returns the future of the words seen on a page, none where that fails. rendered: with its ink.

        The future raises WorkersError where no process can be started.
        """
        only = replace(rendered, views=PageViews(grid=rendered.views.grid), text_layer=None, layer=None)
        return self._begin("find_words", only, partial(_no_words, rendered.page))

    def samples(self, samples: tuple[FontSample, ...]) -> Future[list[str]]:
        """Returns the future of what is read in words of a text layer; of each "" where that fails.

        The future raises WorkersError where no process can be started.
        """

        def failed(error: BaseException) -> list[str]:
            LOGGER.debug("samples could not be read", exc_info=error)
            return [""] * len(samples)

        return self._begin("read_samples", samples, failed)

    def _begin(
        self,
        name: str,
        value: RenderedPage | tuple[FontSample, ...],
        failed: Callable[[BaseException], Result],
        addresses: Sequence[str] = (),
    ) -> Future[Result]:
        """Begins to run a function of pipeline.stages.read_lines, of this name, in a process."""
        self._is_started = True
        shared = (share if self.arena is None else self.arena.share)(value)
        future = self._submit(run_task, (name, shared, addresses), _LIMIT_S, failed, None, self.meter)
        # The pixels must stay where they are until they are read.
        future.add_done_callback(lambda _, kept=value: self._has_read.set())  # type: ignore[misc]
        return future

    def use(self, wall_s: float) -> StageUse:
        """Returns the processes' share of the time that they could have worked; the rest they waited for pages."""
        used = self.meter.use(self._stage, wall_s * self._number)
        return replace(used, waiting_input=max(0.0, 1 - used.busy))

    def close(self) -> None:
        """Ends the processes and gives up the pages that are not read yet."""
        for device in self.devices:
            device.close()
        self.__exit__(None, None, None)


def _no_words(page: Page, error: BaseException) -> SeenWords:
    LOGGER.warning(
        "%s, page %d: its words stay without boxes: %s: %s",
        page.path,
        page.page_number,
        type(error).__name__,
        " ".join(str(error).split())[:300],
    )
    return SeenWords()


def _failed(page: Page, seconds: Mapping[str, float], error: BaseException) -> PageResult:
    """Returns the result of a page whose reading failed. seconds: what a worker measured for it."""
    LOGGER.debug("a page could not be read", exc_info=error)
    category, message = "internal", " ".join(f"{type(error).__name__}: {error}".split())[:500]
    if isinstance(error, MemoryError):
        category, message = "memory", "reading the page took more memory than a process may use"
    elif isinstance(error, (TimeoutError, ProcessExpired)):
        category, happened = failure_of(error, _LIMIT_S)
        message = f"reading the page {happened}"
    failure = PageError(stage="read", category=category, message=message)
    return failed_result(page, failure, render_timings(seconds))


# The folder with the reader's files, and where its networks are served, in the processes that read; what follows runs
# there.
_FOLDER: list[Path] = []
_ADDRESS: list[str] = []


def _begin_process(folder: str, memory_bytes: int | None, niceness: int, address: str) -> None:
    """Prepares a process for pages; it ends on SIGTERM and with its parent. folder: with the reader's files.

    memory_bytes: what it may allocate from here on, None for no limit. niceness: how far others go first. address:
    where the networks are served, "" where this process runs its own.
    """
    tasks.start(None, "ocrb-read")  # first of all, so that the process never outlives its parent
    os.nice(niceness)
    from safetensors import safe_open

    from pipeline.ingest.workers.limits import limit_process

    for name in ("finder", "reader"):
        safe_open(
            Path(folder) / f"{name}.safetensors", "np"
        )  # missing or cut off: told now, and not of each page
    _FOLDER[:], _ADDRESS[:] = [Path(folder)], [address]
    limit_process(memory_bytes)


def run_task(name: str, shared: Shared, addresses: Sequence[str]) -> Any:
    """Returns what a function of pipeline.stages.read_lines makes of a value.

    addresses: where the networks may be served. That is looked at only now, as hundreds of pages may have waited here
    since before a GPU was ready.
    """
    from pipeline.stages import read_lines

    address = next(filter(os.path.exists, addresses), _ADDRESS[0])
    return getattr(read_lines, name)(shared.open(), _loaded(address))


@functools.cache
def _loaded(address: str) -> "LineReader":
    """Returns a reader, loaded with its first page: a process that gets none does without its memory."""
    from ocr.line_reader.reading import LineReader
    from pipeline.device.served_networks import ServedNetworks

    [folder] = _FOLDER
    return LineReader.load(folder, networks=ServedNetworks(folder, address) if address else None)
