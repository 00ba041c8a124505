"""Runs worker processes that probe files and render pages, so that no file's content can stop the run.

Files are untrusted and their parsers are C. So every file is opened in a spawned process with a time limit and a memory
limit; a crash, a hang or running out of memory costs that page alone. Torch-free, here and in the workers.
"""

import multiprocessing
import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar

from pebble import ProcessExpired, ProcessPool

from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.errors import WorkersError
from pipeline.ingest.workers import failed_tasks, tasks
from pipeline.ingest.workers.shared_memory import Arena, Slot
from pipeline.meter import Meter
from pipeline.types import Document, Kind, Page, PageKind, ReadablePage, ReadyPage
from storage.types import PageError

Result = TypeVar("Result")

# A worker is replaced after this many tasks, which bounds what C libraries leak.
_TASKS_PER_WORKER = 500
_ATTEMPTS = 3
_NO_WORKERS = "the worker processes that open files do not start"
_REMEDY = (
    "free memory, or have fewer of them with render.workers; a script that calls ocrbatch must be a file whose main "
    'part is under `if __name__ == "__main__":`. No file was marked; run again'
)


class TaskPool:
    """A pool of spawned processes for tasks that may crash, hang or be killed; a context manager.

    max_workers: number of processes. initializer: called first in each of them, with initargs. tasks_per_worker: number
    of tasks after which a process is replaced. starting: gets the time that processes took to start.
    """

    def __init__(
        self,
        *,
        max_workers: int,
        initializer: Callable[..., None],
        initargs: tuple[Any, ...],
        tasks_per_worker: int = _TASKS_PER_WORKER,
        starting: Meter | None = None,
    ) -> None:
        self._max_workers = max_workers
        self._initializer, self._initargs = initializer, initargs
        self._tasks_per_worker = tasks_per_worker
        self._starting = starting or Meter()
        self._lock = threading.Lock()
        self._pools: list[Any] = []
        # How many pools in a row broke before they completed a task, and whether the last one completed any.
        self._num_barren, self._is_fruitful = 0, True
        self._pending: set[Future[Any]] = set()

    def __enter__(self) -> Self:
        """Starts the processes. Raises: WorkersError."""
        self._pool()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the workers at once and cancels unfinished tasks."""
        with self._lock:
            pending, self._pending = self._pending, set()
        for future in pending:
            future.cancel()
            future.set_running_or_notify_cancel()
        for pool in self._pools:
            pool.stop()
        for pool in self._pools:
            pool.join()

    def _submit(
        self,
        task: Callable[..., Result],
        arguments: tuple[Any, ...],
        limit_s: float,
        failed: Callable[[BaseException], Result],
        arena: Arena | None = None,
        meter: Meter | None = None,
    ) -> Future[Result]:
        """Runs a task in a worker and returns the future of its result.

        failed: makes the result from the error of a task that failed. arena: where the task puts its result; its last
        argument is then a slot. meter: gets the time the task takes.
        """
        outer: Future[Result] = Future()
        with self._lock:
            self._pending.add(outer)
        job = _Job(task, arguments, limit_s, failed, arena, meter, outer)
        self._attempt(job, 1)
        return outer

    def _attempt(self, job: "_Job[Any]", number: int) -> None:
        """Makes one attempt at a job. Whatever goes wrong must settle the job's future, as its caller waits for it."""
        try:
            slot = None if job.arena is None else job.arena.lend()
            lent = () if slot is None else (slot,)
            arguments = (job.task, *job.arguments, *lent)
            try:
                inner = self._pool().schedule(tasks.timed, args=arguments, timeout=job.limit_s)
            except RuntimeError:  # the pool broke since it was fetched
                inner = self._pool().schedule(tasks.timed, args=arguments, timeout=job.limit_s)
            inner.add_done_callback(partial(self._settle, job, number, slot))
        except Exception as error:
            self._finish(job, error, None, None)

    def _settle(self, job: "_Job[Any]", number: int, slot: Slot | None, inner: Future[Any]) -> None:
        error = None if inner.cancelled() else inner.exception()
        done = None if error is not None or inner.cancelled() else inner.result()
        self._note(job, error, done)
        is_broken = isinstance(error, BrokenProcessPool)
        self._is_fruitful |= not is_broken
        may_be_others = is_broken or _was_killed(error)
        # A pool that breaks before it completed any task does so whatever the job is.
        in_vain = may_be_others and (number < _ATTEMPTS or (is_broken and not self._is_fruitful))
        if in_vain and job.outer in self._pending:
            self._attempt(job, number + 1)
        else:
            self._finish(job, error, slot, None if done is None else done.result)

    def _note(self, job: "_Job[Any]", error: BaseException | None, done: "tasks.Timed[Any] | None") -> None:
        """Adds the time a worker spent on a job to its meter, also after a timeout; of a crash the time is unknown."""
        meter = job.meter or Meter()
        with self._lock:
            if done is not None:
                self._starting.add("busy", done.start_s)
                meter.add("busy", done.seconds)
            elif isinstance(error, TimeoutError):
                meter.add("busy", job.limit_s)

    def _finish(self, job: "_Job[Any]", error: BaseException | None, slot: Slot | None, result: Any) -> None:
        if not (self._claim(job.outer) and job.outer.set_running_or_notify_cancel()):
            return
        if isinstance(error, WorkersError):
            job.outer.set_exception(error)
            return
        try:
            if error is None and job.arena is not None and slot is not None:
                result = job.arena.unpack(slot, result)
        except Exception as failure:  # out of memory, say: the future must be settled all the same
            error = failure
        job.outer.set_result(result if error is None else job.failed(error))

    def _claim(self, future: Future[Any]) -> bool:
        """Returns whether the caller is the one that has to settle the future."""
        with self._lock:
            if future not in self._pending:
                return False
            self._pending.remove(future)
            return True

    def _pool(self) -> Any:
        """Returns the running pool: a new one if the last broke because an idle worker was killed.

        Raises: WorkersError where workers end before they complete a task, or cannot be started.
        """
        with self._lock:
            if not self._pools or not self._pools[-1].active:
                self._num_barren = 0 if self._is_fruitful else self._num_barren + 1
                if self._num_barren >= _ATTEMPTS:
                    raise WorkersError(f"{_NO_WORKERS} (they end as soon as they start): {_REMEDY}")
                self._is_fruitful = False
                pool = ProcessPool(
                    max_workers=self._max_workers,
                    max_tasks=self._tasks_per_worker,
                    initializer=self._initializer,
                    initargs=self._initargs,
                    context=multiprocessing.get_context("spawn"),
                )
                try:
                    if not pool.active:  # asking a new pool starts it
                        raise BrokenProcessPool("they ended while they were started")
                except (BrokenProcessPool, OSError, RuntimeError) as error:  # no process, no pipe, no thread
                    pool.stop()
                    pool.join()
                    raise WorkersError(f"{_NO_WORKERS} ({error.__cause__ or error}): {_REMEDY}") from error
                self._pools.append(pool)
            return self._pools[-1]


class WorkerPool(TaskPool):
    """The pool of processes that open files. The caller bounds how many pages are in flight.

    page_timeout_s, probe_timeout_s: seconds that rendering a page and probing a file may take. memory_bytes: what a
    worker may allocate, None for no limit; enforced on Linux. page_bytes: the most that a page's views take; they come
    through shared memory where available. None: through a pipe.
    discovering, rendering: get the time that workers spend probing files, and on everything else, starting included.
    """

    def __init__(
        self,
        *,
        max_workers: int,
        ingest: IngestSettings,
        render: RenderSettings,
        tile: TileSettings,
        page_timeout_s: float = 60.0,
        probe_timeout_s: float = 120.0,
        memory_bytes: int | None = 4 << 30,
        page_bytes: int | None = None,
        discovering: Meter | None = None,
        rendering: Meter | None = None,
    ) -> None:
        self._discovering, self._rendering = discovering or Meter(), rendering or Meter()
        super().__init__(
            max_workers=max_workers,
            initializer=tasks.start,
            initargs=(memory_bytes,),
            starting=self._rendering,
        )
        self._ingest, self._render, self._tile = ingest, render, tile
        self._page_timeout_s, self._probe_timeout_s = page_timeout_s, probe_timeout_s
        self.arena = None if page_bytes is None else Arena.where_possible(page_bytes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the workers at once and cancels unfinished tasks."""
        super().__exit__(kind, error, trace)
        if self.arena is not None:
            self.arena.close()

    @property
    def render_settings(self) -> RenderSettings:
        """The settings that pages are rendered with by default."""
        return self._render

    def probe(self, path: str) -> Future[Document]:
        """Probes a file; the future's result is a Document whatever goes wrong with the file.

        The future raises WorkersError where no worker can be started.
        """
        limit_s = self._probe_timeout_s

        def failed(error: BaseException) -> Document:
            reason = f"looking into the file {failure_of(error, limit_s, 'ingest.probe_timeout_s')[1]}"
            return failed_tasks.broken(path, reason)

        return self._submit(
            tasks.probe_task, (path, self._ingest, limit_s), limit_s, failed, meter=self._discovering
        )

    def survey(self, path: str, kind: Kind, indices: Sequence[int]) -> Future[Counter[PageKind]]:
        """Returns the future of how many of the pages are of each kind, "unknown" whatever goes wrong."""
        limit_s = self._probe_timeout_s
        arguments = (path, kind, indices, self._ingest, self.render_settings.text_layer, limit_s)
        return self._submit(
            tasks.survey_task, arguments, limit_s, lambda error: failed_tasks.unknown(len(indices))
        )

    def render(
        self,
        page: Page,
        *,
        cut: Literal["as_needed", "fine", "never"] = "as_needed",
        render: RenderSettings | None = None,
        tile: TileSettings | None = None,
    ) -> Future[ReadyPage | PageError]:
        """Renders a page; the future's result is its views, or a PageError whatever goes wrong with the page.

        cut: whether the page is cut into crops: where it holds too much, always and finely, or never.
        render, tile: settings for this call, None for the default ones. The future raises WorkersError.
        """
        limit_s = self._page_timeout_s

        def failed(error: BaseException) -> ReadyPage | PageError:
            category, happened = failure_of(error, limit_s, "render.page_timeout_s")
            return PageError(
                stage="render", category=category, message=f"{failed_tasks.RENDERING} {happened}"
            )

        tile = tile or self._tile
        tile = replace(tile, parts=tile.parts and cut != "never", fine=cut == "fine")
        arguments = (page, render or self._render, tile, limit_s)
        return self._submit(tasks.render_task, arguments, limit_s, failed, self.arena, self._rendering)

    def layer(self, ready: ReadablePage) -> Future[ReadablePage | PageError]:
        """Judges a page's text layer; the future's result is the page with its layer, or a PageError.

        ready: should be without views, as it is sent to the worker and back. The future raises WorkersError.
        """
        limit_s = self._page_timeout_s

        def failed(error: BaseException) -> ReadablePage | PageError:
            category, happened = failure_of(error, limit_s, "render.page_timeout_s")
            return PageError(stage="layer", category=category, message=f"{failed_tasks.JUDGING} {happened}")

        return self._submit(
            tasks.layer_task, (ready, self._render, limit_s), limit_s, failed, meter=self._rendering
        )


@dataclass(frozen=True, slots=True)
class _Job(Generic[Result]):
    """A task and the future of its result.

    It has no reference to its attempts: in a reference cycle, views would live until the next garbage collection.
    """

    task: Callable[..., Result]
    arguments: tuple[Any, ...]
    limit_s: float
    failed: Callable[[BaseException], Result]
    arena: Arena | None
    meter: Meter | None
    outer: Future[Result]


def _was_killed(error: BaseException | None) -> bool:
    """Returns whether the worker was killed from outside, for lack of memory perhaps: the file is not to blame."""
    return isinstance(error, ProcessExpired) and error.exitcode == -signal.SIGKILL


def failure_of(error: BaseException, limit_s: float, key: str | None = None) -> tuple[str, str]:
    """Returns an error's category, and how the sentence "rendering the page ..." continues.

    key: the configuration key of the time limit, if it has one.
    """
    if isinstance(error, TimeoutError):
        remedy = f"; raise {key} if the file deserves it" if key else ""
        return "timeout", f"took longer than {limit_s:g} s{remedy}"
    if isinstance(error, ProcessExpired):
        return "crash", f"crashed its worker process ({_death(error.exitcode)})"
    return "crash", f"failed: {type(error).__name__}: {error}"


def _death(exit_code: int) -> str:
    """Returns how a process ended, in words."""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"exit code {exit_code}"
