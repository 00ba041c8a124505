"""Defines a gate: an event that a thread sets once and that coroutines can wait for."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError


class Gate:
    """An event for threads and coroutines: closed until a thread opens it, and open from then on."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._waiting: deque[Future[None]] = deque()

    def open(self) -> None:
        """Opens the gate. For any thread."""
        self._opened.set()
        while self._waiting:
            with contextlib.suppress(InvalidStateError):  # the waiting coroutine was cancelled
                self._waiting.popleft().set_result(None)

    @property
    def is_open(self) -> bool:
        """Tells whether the gate is open. For any thread."""
        return self._opened.is_set()

    def then(self, tell: Callable[[], None]) -> None:
        """Calls tell once the gate is open: in the thread that opens it, or at once. For any thread."""
        self._wait().add_done_callback(lambda opened: tell())

    async def passed(self) -> None:
        """Waits until the gate is open."""
        if self._opened.is_set():
            return
        await asyncio.wrap_future(self._wait())  # a future for each caller: cancelling one cancels its future

    def _wait(self) -> Future[None]:
        waits: Future[None] = Future()
        self._waiting.append(waits)
        if self._opened.is_set():  # it may have opened before the future was added
            with contextlib.suppress(InvalidStateError):
                waits.set_result(None)
        return waits
