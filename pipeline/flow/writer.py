"""The database's own thread, so that a slow disk holds up nothing else."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar

from pipeline.flow.meter import Meter
from storage.store import Store

P = ParamSpec("P")
R = TypeVar("R")


class Writer:
    """Opens a database in a thread of its own, where all calls run one after the other, in the order of asking.

    Raises: what opening a Store raises.
    """

    def __init__(self, path: str) -> None:
        self.meter = Meter()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        try:
            self._store = self._thread.submit(Store, path).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What was asked for is done first."""
        self._thread.submit(self._store.close).result()
        self._thread.shutdown()

    def call(self, task: Callable[Concatenate[Store, P], R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Returns the future of task(store, ...)."""

        def work() -> R:
            self.meter.start()
            try:
                return task(self._store, *args, **kwargs)
            finally:
                self.meter.stop()

        return self._thread.submit(work)
