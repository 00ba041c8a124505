"""What a thread says once, and coroutines wait for."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
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

    def then(self, tell: Callable[[], None]) -> None:
        """Has it called once the gate is open, by whoever opens it, or now. For any thread."""
        self._wait().add_done_callback(lambda opened: tell())

    async def passed(self) -> None:
        """Returns once it is open."""
        if self._opened.is_set():
            return
        await asyncio.wrap_future(self._wait())  # one's own: who is cancelled cancels it

    def _wait(self) -> Future[None]:
        waits: Future[None] = Future()
        self._waiting.append(waits)
        if self._opened.is_set():  # or it may have been overlooked
            with contextlib.suppress(InvalidStateError):
                waits.set_result(None)
        return waits
