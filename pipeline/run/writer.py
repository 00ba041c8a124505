"""Runs all database work in threads of its own, so that a slow disk holds up nothing else."""

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from pipeline.meter import Meter, StageUse
from pipeline.run.shared_commits import SharedCommits
from storage.records.store import Store
from storage.recovery.in_flight import Marker

P = ParamSpec("P")
R = TypeVar("R")


class Records(Protocol):
    """A run's database, in this process or in that of the run which this one works for."""

    def call(self, task: Callable[Concatenate[Store, P], R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Runs task(store, ...) and returns its future."""

    def use(self, wall_s: float) -> StageUse:
        """Returns the use of the time."""

    def begin(self, run_id: int, pages: Sequence[tuple[str, int]], *, alone: bool = False) -> Future[None]:
        """Marks pages (sha256, page_index) as being read and returns the future."""

    def look(self) -> Future[None]:
        """Checks that the database is still there; the returned future raises DatabaseGoneError if it is not."""

    def end(self, run_id: int) -> Future[None]:
        """Removes the marks and returns the future."""


class Writer:
    """Opens a database in its own thread, which runs all calls one at a time, in the order they were made.

    Calls that wait for each other share a transaction (shared_commits.py); a future is done once its call is stored.
    Marking pages has a second thread and connection: the model waits for marks, and storing results may take long.
    A third thread checks that the database is still there, however busy the others are.
    Raises: whatever opening a Store raises.
    """

    def __init__(self, path: str) -> None:
        self.meter, self._marks, self._looks = Meter(), Meter(), Meter()
        with contextlib.ExitStack() as stack:
            self._thread = stack.enter_context(_thread("store"))
            self._store = self._thread.submit(Store, path).result()
            stack.callback(lambda: self._thread.submit(self._store.close).result())
            self._shared = SharedCommits(self._store, self._thread, self.meter)
            self._marking = stack.enter_context(_thread("marks"))
            self._marker = self._marking.submit(Marker, path).result()
            stack.callback(lambda: self._marking.submit(self._marker.close).result())
            self._looking = stack.enter_context(_thread("presence"))
            self._closing = stack.pop_all()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        """Finishes all pending calls, then closes the database."""
        self._closing.close()

    def call(self, task: Callable[Concatenate[Store, P], R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Runs task(store, ...) in the database's thread and returns its future."""
        return self._shared.call(task, partial(task, self._store, *args, **kwargs))

    def use(self, wall_s: float) -> StageUse:
        """Returns the use of all three threads' time, added up as one stage."""
        meters = (self.meter, self._marks, self._looks)
        busy = sum(meter.use("store", wall_s).busy for meter in meters)
        return StageUse(name="store", busy=busy, waiting_input=max(0.0, 1 - busy), waiting_output=0.0)

    def begin(self, run_id: int, pages: Sequence[tuple[str, int]], *, alone: bool = False) -> Future[None]:
        """Marks pages (sha256, page_index) as being read and returns the future; in_flight.py says why."""
        mark = partial(self._marker.begin_pages, run_id, pages, alone=alone)
        return self._marking.submit(self._first, mark)

    def look(self) -> Future[None]:
        """Checks that the database is still there; the returned future raises DatabaseGoneError if it is not."""
        return self._looking.submit(_metered, self._looks, self._store.presence.look)

    def end(self, run_id: int) -> Future[None]:
        """Removes a run's marks and returns the future."""
        return self._marking.submit(self._first, partial(self._marker.end_run, run_id))

    def _first(self, mark: Callable[[], R]) -> R:
        with self._shared.priority.first():
            return _metered(self._marks, mark)


def _metered(meter: Meter, task: Callable[[], R]) -> R:
    meter.start()
    try:
        return task()
    finally:
        meter.stop()


def _thread(name: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
