"""Runs tasks in processes of their own that may crash, hang or be killed, so that only the task is lost. Torch-free."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Self, TypeVar

from pebble import ProcessExpired, ProcessPool

from pipeline.errors import ConfigError, DeviceUnusableError, WorkersError
from pipeline.ingest.workers import plain_pickle, tasks
from pipeline.ingest.workers.fork_servers import context
from pipeline.ingest.workers.shared_memory import Arena, Slot
from pipeline.meter import Meter

Result = TypeVar("Result")

# A worker is replaced after this many tasks, which bounds what C libraries leak.
_TASKS_PER_WORKER = 500
# Of a job whose worker died, and whose pool broke: it does so, with all it holds, where it sees that a worker died
# before it hears of its task, as on a busy machine. Jobs that kill their workers are found out before this many breaks.
_ATTEMPTS, _BREAKS = 3, 10
# What processes import that open files, and those that read lines: forks of one server, as both need most of it.
IMPORTS = "pipeline.ingest.workers.worker", "pipeline.stages.read_lines", "pipeline.device.line_readers"
_NO_WORKERS = "the worker processes that open files do not start"
_REMEDY = (
    "free memory, or lower render.workers; a script that calls ocrbatch must be a file whose main "
    'part is under `if __name__ == "__main__":`. No file was marked; run again'
)


class TaskPool:
    """A pool of processes for tasks that may crash, hang or be killed; a context manager.

    max_workers: number of processes. initializer: called first in each of them, with initargs. tasks_per_worker: number
    of tasks after which a process is replaced. starting: gets the time that processes took to start. imports: the
    modules that tasks need, which all processes share.
    """

    def __init__(
        self,
        *,
        max_workers: int,
        initializer: Callable[..., None],
        initargs: tuple[Any, ...],
        tasks_per_worker: int = _TASKS_PER_WORKER,
        starting: Meter | None = None,
        imports: tuple[str, ...] = IMPORTS,
    ) -> None:
        self._context = context(imports)
        self._max_workers = max_workers
        self._initializer, self._initargs = initializer, initargs
        self._tasks_per_worker = tasks_per_worker
        self._starting = starting or Meter()
        self._lock, self._starting_pool = threading.Lock(), threading.Lock()
        self._is_closed = False
        self._pools: list[Any] = []
        # How many pools in a row broke before they completed a task, and whether the last one completed any.
        self._num_barren, self._is_fruitful = 0, True
        self._pending: set[Future[Any]] = set()

    def __enter__(self) -> Self:
        """Starts the processes. Raises: WorkersError."""
        self._pool()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the workers at once and cancels unfinished tasks."""
        with self._starting_pool:  # a pool may be starting in another thread, where it waits for its imports
            self._is_closed = True
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

        failed: makes the result from the error of a task that failed. arena: where its result's arrays are put. meter:
        gets the time the task takes.
        """
        outer: Future[Result] = Future()
        with self._lock:
            self._pending.add(outer)
        job = _Job(task, arguments, limit_s, failed, arena, meter, outer)
        if self._pools:
            self._attempt(job)
        else:  # the caller, which may be an event loop, does not wait for what processes import
            threading.Thread(target=self._attempt, args=(job,), daemon=True).start()
        return outer

    def _attempt(self, job: "_Job[Any]", deaths: int = 0, breaks: int = 0) -> None:
        """Makes one attempt at a job, after so many. It must settle the job's future, as its caller waits for it."""
        try:
            slot = None if job.arena is None else job.arena.lend()
            arguments = (job.limit_s, slot, job.task, *job.arguments)
            try:
                inner = self._pool().schedule(tasks.timed, args=arguments, timeout=job.limit_s)
            except RuntimeError:  # the pool broke since it was fetched
                inner = self._pool().schedule(tasks.timed, args=arguments, timeout=job.limit_s)
            inner.add_done_callback(partial(self._settle, job, deaths, breaks, slot))
        except Exception as error:
            self._finish(job, error, None, None)

    def _settle(
        self, job: "_Job[Any]", deaths: int, breaks: int, slot: Slot | None, inner: Future[Any]
    ) -> None:
        error, done = None if inner.cancelled() else inner.exception(), None
        try:
            if error is None and not inner.cancelled():
                done = plain_pickle.loads(inner.result())
            self._note(job, error, done)
        except Exception as failure:  # what the process sent is no Timed
            error, done = failure, None
        is_broken = isinstance(error, BrokenProcessPool)
        self._is_fruitful |= not is_broken
        # Killed for lack of memory perhaps, or by the next task, of which the pool had not heard: that tells by trying.
        deaths, breaks = deaths + isinstance(error, ProcessExpired), breaks + is_broken
        # A pool that breaks before it completed any task does so whatever the job is.
        may_break = breaks < _BREAKS or not self._is_fruitful
        in_vain = deaths < _ATTEMPTS if isinstance(error, ProcessExpired) else is_broken and may_break
        if in_vain and job.outer in self._pending:
            self._attempt(job, deaths, breaks)
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
        with self._lock:  # one of those that end it has to settle it
            if job.outer not in self._pending:
                return
            self._pending.remove(job.outer)
        if not job.outer.set_running_or_notify_cancel():
            return
        if isinstance(error, (WorkersError, ConfigError, DeviceUnusableError)):
            job.outer.set_exception(error)
            return
        try:
            if error is None and job.arena is not None and slot is not None:
                result = job.arena.unpack(slot, result)
        except Exception as failure:  # out of memory, say: the future must be settled all the same
            error = failure
        job.outer.set_result(result if error is None else job.failed(error))

    def _pool(self) -> Any:
        """Returns the running pool: a new one if the last broke because an idle worker was killed.

        Raises: WorkersError where workers end before they complete a task, or cannot be started.
        """
        with self._starting_pool:
            if self._is_closed:
                raise WorkersError("the worker processes have been ended")
            if not self._pools or not self._pools[-1].active:
                self._num_barren = 0 if self._is_fruitful else self._num_barren + 1
                if self._num_barren >= _ATTEMPTS:
                    raise WorkersError(f"{_NO_WORKERS} (they end as soon as they start): {_REMEDY}")
                self._is_fruitful = False
                its = self._max_workers, self._tasks_per_worker, self._initializer, self._initargs
                pool = ProcessPool(*its, context=self._context)
                try:
                    if not pool.active:  # asking a new pool starts it
                        raise BrokenProcessPool("they ended during their start")
                except (BrokenProcessPool, OSError, RuntimeError) as error:  # no process, no pipe, no thread
                    pool.stop()
                    pool.join()
                    raise WorkersError(f"{_NO_WORKERS} ({error.__cause__ or error}): {_REMEDY}") from error
                self._pools.append(pool)
            return self._pools[-1]


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
