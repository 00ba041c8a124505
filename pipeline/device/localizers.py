"""Places texts on their pages: with a GPU in processes of its own, otherwise in a thread.

Placing takes 10 to 50 ms a page. In the interpreter that feeds a GPU, nothing is launched during that time.
"""

import logging
import pickle
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np
import numpy.typing as npt
from pebble import ProcessExpired

from pipeline.device import localizer_process
from pipeline.errors import WorkersError
from pipeline.ingest.workers.failed_tasks import failure_of
from pipeline.ingest.workers.shared_memory import Arena, pack, share
from pipeline.ingest.workers.task_pool import TaskPool
from pipeline.meter import Meter
from pipeline.outcome.results import failed_result
from pipeline.stages.localize import ReadPage, Wording, place
from pipeline.types import PageResult
from storage.types import PageError

LOGGER = logging.getLogger("ocrbatch")
# Far more than the fullest page takes.
_LIMIT_S = 60.0
# These processes read no files, so they leak little.
_PAGES_PER_PROCESS = 20_000


class Localizer(Protocol):
    """Places texts on their pages. num_workers: pages placed at once. meter: measures its working time."""

    num_workers: int
    meter: Meter

    def place(self, read: ReadPage) -> Future[PageResult]:
        """Returns the future of the page's result, which may be a failure. For any thread."""

    def close(self) -> None:
        """Ends placing and gives up the pages that are not placed yet. Closing twice is harmless."""


def open_localizer(wording: Wording, num_processes: int, arena: Arena | None) -> Localizer:
    """Returns a localizer, which the caller closes.

    num_processes: 0 for a thread of this process. arena: the shared memory in which the pages' views may lie.
    """
    if num_processes:
        pool = LocalizerPool(wording, num_processes, arena)
        try:
            return pool.__enter__()
        except WorkersError as error:
            pool.close()
            LOGGER.warning("%s; texts are placed without them, only slower", error)
    return LocalizerThread(wording)


class LocalizerThread:
    """Places one page after the other in a thread."""

    num_workers = 1

    def __init__(self, wording: Wording) -> None:
        self.meter = Meter()
        self._wording = wording
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="place")

    def place(self, read: ReadPage) -> Future[PageResult]:
        """Returns the future of the page's result."""
        return self._thread.submit(self._place, read)

    def close(self) -> None:
        """Ends the thread and gives up the pages that are not placed yet."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _place(self, read: ReadPage) -> PageResult:
        self.meter.start()
        try:
            return place(read, self._wording)
        except Exception as error:
            return _failed(read, error)
        finally:
            self.meter.stop()


class LocalizerPool(TaskPool):
    """Places pages in processes. arena: views that lie in it are not copied."""

    def __init__(self, wording: Wording, num_processes: int, arena: Arena | None) -> None:
        self.meter = Meter()
        # The wording is larger than a pipe's buffer: sent through pipes, it would make the processes start in turn.
        self._wording = _in_arena(np.frombuffer(pickle.dumps(wording), dtype=np.uint8), arena)
        super().__init__(
            starting=self.meter,
            max_workers=num_processes,
            initializer=localizer_process.start,
            initargs=((share if arena is None else arena.share)(self._wording),),
            tasks_per_worker=_PAGES_PER_PROCESS,
        )
        self.num_workers = num_processes
        self._share = share if arena is None else arena.share

    def place(self, read: ReadPage) -> Future[PageResult]:
        """Returns the future of the page's result."""
        return self._submit(
            localizer_process.place_task,
            (self._share(read),),
            _LIMIT_S,
            lambda error: _failed(read, error),
            meter=self.meter,
        )

    def close(self) -> None:
        """Ends the processes."""
        self.__exit__(None, None, None)


def _in_arena(array: npt.NDArray[np.uint8], arena: Arena | None) -> npt.NDArray[np.uint8]:
    """Returns the array, moved into the arena if there is one with a free slot."""
    slot = None if arena is None else arena.lend()
    if arena is None or slot is None:
        return array
    moved: npt.NDArray[np.uint8] = arena.unpack(slot, pack(array, slot))
    return moved


def _failed(read: ReadPage, error: BaseException) -> PageResult:
    LOGGER.debug("the text of a page could not be located on it", exc_info=error)
    category, message = "internal", " ".join(f"{type(error).__name__}: {error}".split())[:500]
    if isinstance(error, (TimeoutError, ProcessExpired)):
        category, happened = failure_of(error, _LIMIT_S)
        message = f"placing the page's text {happened}"
    failure = PageError(stage="place", category=category, message=message)
    return failed_result(read.rendered.page, failure, read.timings)
