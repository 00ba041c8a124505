"""What a thread says once, and coroutines wait for."""

import asyncio
import contextlib
import threading
from collections import deque
from concurrent.futures import Future, InvalidStateError


class Gate:
    """Closed until a thread opens it, and open from then on."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._waiting: deque[Future[None]] = deque()

    def open(self) -> None:
        """For any thread."""
        self._opened.set()
        while self._waiting:
            with contextlib.suppress(InvalidStateError):  # nobody waits for it any more
                self._waiting.popleft().set_result(None)

    @property
    def is_open(self) -> bool:
        """For any thread."""
        return self._opened.is_set()

    async def passed(self) -> None:
        """Returns once it is open."""
        if self._opened.is_set():
            return
        waits: Future[None] = Future()  # one's own: who is cancelled cancels it
        self._waiting.append(waits)
        if not self._opened.is_set():  # or it may have been overlooked
            await asyncio.wrap_future(waits)
