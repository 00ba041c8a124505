"""Supplies a run's input files one by one, and counts those that are left when it ends early."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, Protocol

from pipeline.ingest.walk import Candidate, Found
from pipeline.stop import settle

# How long the end of a run waits for a folder listing in progress.
_PENDING_S = 0.2

_Asked = tuple[Future[Any], Callable[[], Any]]


class InputFiles(Protocol):
    """Where a run's files come from, one by one."""

    num_taken: int

    def take(self) -> Future[Found | None]:
        """Returns the future of the next file, None after the last. Call it again only after that future is done."""


class Inputs:
    """The walk's files, found in a daemon thread: an unreachable file server may block it for ever.

    num_taken: files that were handed out.
    """

    def __init__(self, found: Iterator[Found]) -> None:
        self._found = found
        self._asked: SimpleQueue[_Asked | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._last: Future[Any] | None = None
        self._num_left = 0
        self.num_taken = 0

    def take(self) -> Future[Found | None]:
        """Returns the future of the next file, None after the last. Call it again only after that future is done."""
        return self._ask(self._next)

    def count_rest(self, limit_s: float) -> tuple[int, bool]:
        """Returns how many files were not taken, and whether that is all of them.

        The walk goes on for at most limit_s seconds to count them, and not at all if it is blocked.
        """
        if self._last is not None:
            wait((self._last,), _PENDING_S)
            if not self._last.done():
                return 0, False
        end = time.monotonic() + limit_s
        counting = self._ask(lambda: self._count(end))
        wait((counting,), limit_s + _PENDING_S)
        return self._num_left, counting.done() and counting.exception() is None and bool(counting.result())

    def close(self) -> None:
        """Tells the thread to end as soon as it can."""
        self._asked.put(None)

    def _ask(self, task: Callable[[], Any]) -> Future[Any]:
        if self._thread is None:
            self._thread = threading.Thread(target=_serve, args=(self._asked,), name="walk", daemon=True)
            self._thread.start()
        self._last = Future()
        self._asked.put((self._last, task))
        return self._last

    def _next(self) -> Found | None:
        found = next(self._found, None)
        self.num_taken += found is not None
        return found

    def _count(self, end: float) -> bool:
        for found in self._found:
            self._num_left += isinstance(found, Candidate)
            if time.monotonic() > end:
                return False
        return True


def _serve(asked: "SimpleQueue[_Asked | None]") -> None:
    while (task := asked.get()) is not None:
        if task[0].set_running_or_notify_cancel():
            settle(*task)
