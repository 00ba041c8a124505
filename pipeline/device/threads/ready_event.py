"""Defines an event that a thread sets once and that coroutines can wait for."""

import asyncio
import contextlib
import threading
from collections import deque
from concurrent.futures import Future, InvalidStateError


class ReadyEvent:
    """An event for threads and coroutines: closed until a thread opens it, and open from then on."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._waiting: deque[Future[None]] = deque()

    def open(self) -> None:
        """Sets the event. For any thread."""
        self._opened.set()
        while self._waiting:
            with contextlib.suppress(InvalidStateError):  # the waiting coroutine was cancelled
                self._waiting.popleft().set_result(None)

    @property
    def is_open(self) -> bool:
        """Tells whether the event is set. For any thread."""
        return self._opened.is_set()

    async def passed(self) -> None:
        """Waits until the event is set."""
        if self._opened.is_set():
            return
        waits: Future[None] = Future()  # one for each caller: cancelling a caller cancels its future
        self._waiting.append(waits)
        if self._opened.is_set():  # it may have opened before the future was added
            with contextlib.suppress(InvalidStateError):
                waits.set_result(None)
        await asyncio.wrap_future(waits)
