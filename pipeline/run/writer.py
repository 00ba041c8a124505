"""The database's own threads, so that a slow disk holds up nothing else."""

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar

from pipeline.meter import Meter, StageUse
from storage.records.store import Store
from storage.recovery.marker import Marker

P = ParamSpec("P")
R = TypeVar("R")


class Writer:
    """Opens a database in a thread of its own, where all calls run one after the other, in the order of asking.

    Marks of pages have another thread and connection: the model waits for them, and results may be long in storing.
    A third thread looks whether the database is still there, however busy it is.
    Raises: what opening a Store raises.
    """

    def __init__(self, path: str) -> None:
        self.meter, self._marks, self._looks = Meter(), Meter(), Meter()
        with contextlib.ExitStack() as stack:
            self._thread = stack.enter_context(_thread("store"))
            self._store = self._thread.submit(Store, path).result()
            stack.callback(lambda: self._thread.submit(self._store.close).result())
            self._marking = stack.enter_context(_thread("marks"))
            self._marker = self._marking.submit(Marker, path).result()
            stack.callback(lambda: self._marking.submit(self._marker.close).result())
            self._looking = stack.enter_context(_thread("presence"))
            self._closing = stack.pop_all()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What was asked for is done first."""
        self._closing.close()

    def call(self, task: Callable[Concatenate[Store, P], R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Returns the future of task(store, ...)."""

        return self._thread.submit(_metered, self.meter, partial(task, self._store, *args, **kwargs))

    def use(self, wall_s: float) -> StageUse:
        """Returns where the time of all three threads went, as that of one stage."""
        meters = (self.meter, self._marks, self._looks)
        busy = sum(meter.use("store", wall_s).busy for meter in meters)
        return StageUse(name="store", busy=busy, waiting_input=max(0.0, 1 - busy), waiting_output=0.0)

    def begin(self, run_id: int, pages: Sequence[tuple[str, int]], *, alone: bool = False) -> Future[None]:
        """Returns the future of marking pages (sha256, page_index) as being read; in_flight.py says what for."""
        mark = partial(self._marker.begin_pages, run_id, pages, alone=alone)
        return self._marking.submit(_metered, self._marks, mark)

    def look(self) -> Future[None]:
        """Returns the future of a look whether the database is still there. Raises (the future): DatabaseGoneError."""
        return self._looking.submit(_metered, self._looks, self._store.presence.look)

    def end(self, run_id: int) -> Future[None]:
        """Returns the future of forgetting a run's marks."""
        return self._marking.submit(_metered, self._marks, partial(self._marker.end_run, run_id))


def _metered(meter: Meter, task: Callable[[], R]) -> R:
    meter.start()
    try:
        return task()
    finally:
        meter.stop()


def _thread(name: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
