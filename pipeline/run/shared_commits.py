"""Has calls that wait for the database share a transaction: many pages a second cost little more than one.

A page is stored whole or not at all, and its future is done only once it is. A call that raises takes no other with it:
the transaction is undone, and each of its calls gets one of its own.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from pipeline.meter import Meter
from pipeline.stages.store import store_document, store_first, store_page
from storage.records.store import Store

R = TypeVar("R")
# What a run calls for each page and file. All they do is undone with their transaction.
SHARED = (store_page, store_first, store_document, Store.find_known, Store.plan_pages, Store.put_off)
# A transaction takes no further call after so long: marks wait for it, and those whose pages are in it.
_MOST_S = 0.02


class SharedCommits:
    """Runs calls in a database's thread, in their order. priority: for others that write to the same database."""

    def __init__(self, store: Store, thread: ThreadPoolExecutor, meter: Meter) -> None:
        self._store, self._thread, self._meter = store, thread, meter
        self._lock, self._has_turn = threading.Lock(), False
        self._waiting: deque[_Call] = deque()
        self.priority = PriorityLock()

    def call(self, task: object, do: Callable[[], R]) -> "Future[R]":
        """Does something and returns its future. task: what it is, which decides whether it shares."""
        call = _Call(do, may_share=task in SHARED)
        with self._lock:
            self._waiting.append(call)
            if not self._has_turn:
                self._thread.submit(self._run)
                self._has_turn = True
        return call.future

    def _run(self) -> None:
        """Runs calls until none waits."""
        while (call := self._taken()) is not None:
            self._meter.start()
            try:
                settle = self._together(call) if call.may_share else call.done()
            finally:
                self._meter.stop()  # before anybody who waited asks for its figures
            settle()

    def _taken(self) -> "_Call | None":
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._has_turn = False
            return None

    def _sharing(self) -> "_Call | None":
        """Returns the next call if it shares."""
        with self._lock:
            return self._waiting.popleft() if self._waiting and self._waiting[0].may_share else None

    def _together(self, first: "_Call") -> Callable[[], None]:
        """Does a call and those that wait behind it in one transaction; returns what settles their futures."""
        calls = [first]
        try:
            with self.priority.after() as leave, self._store.together():
                settles = [first.do()]
                end = time.monotonic() + _MOST_S
                while time.monotonic() < end and (call := self._sharing()) is not None:
                    calls.append(call)
                    settles.append(call.do())
                leave()  # the commit may wait for the disk
        except BaseException as error:
            settles = [first.failed(error)] if len(calls) == 1 else [call.done() for call in calls]

        def settle() -> None:
            for one in settles:
                one()

        return settle


class _Call:
    def __init__(self, task: Callable[[], Any], *, may_share: bool) -> None:
        self._task, self.may_share = task, may_share
        self.future: Future[Any] = Future()
        self.future.set_running_or_notify_cancel()  # what was asked for is stored, whoever still waits for it

    def do(self) -> Callable[[], None]:
        """Does it and returns what settles its future. Raises what it raises."""
        return partial(self.future.set_result, self._task())

    def done(self) -> Callable[[], None]:
        """Does it, on its own, and returns what settles its future, with an error too."""
        try:
            return self.do()
        except BaseException as error:
            return self.failed(error)

    def failed(self, error: BaseException) -> Callable[[], None]:
        """Returns what settles its future with an error."""
        return partial(self.future.set_exception, error)


class PriorityLock:
    """A lock that lets short writes overtake long transactions.

    SQLite lets one write at a time, and who has to wait only looks again now and then: it might never find a gap.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_taken = False
        self._num_first = 0

    @contextlib.contextmanager
    def first(self) -> Iterator[None]:
        """Waits for the other's turn to end, and for no second one."""
        with self._changed:
            self._num_first += 1
            self._changed.wait_for(lambda: not self._is_taken)
        try:
            yield
        finally:
            with self._changed:
                self._num_first -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def after(self) -> Iterator[Callable[[], None]]:
        """Waits until nobody goes first; yields what ends the turn, which the end of the context does at the latest."""
        with self._changed:
            self._changed.wait_for(lambda: not self._num_first)
            self._is_taken = True
        try:
            yield self._leave
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._changed:
            self._is_taken = False
            self._changed.notify_all()
