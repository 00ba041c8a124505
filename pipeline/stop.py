"""Ends a run in order on SIGINT, SIGTERM or the time limit. Works on Windows too, so it uses no alarm signals."""

import asyncio
import re
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from pipeline.errors import ConfigError, StopRequest

Result = TypeVar("Result")
# How often a waiting task checks for a stop request.
_POLL_S = 0.1
_KINDS = (signal.SIGINT, signal.SIGTERM)
_UNITS_S = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")


def parse_duration(text: str) -> float:
    """Returns the seconds in "6h", "30m", "90s", "1h30m" or plain "5400". Raises: ConfigError."""
    found = _DURATION.fullmatch(text.strip().lower())
    parts = (
        [] if found is None else [(part, unit) for part, unit in zip(found.groups(), _UNITS_S, strict=True)]
    )
    seconds = sum(float(part) * _UNITS_S[unit] for part, unit in parts if part)
    if seconds <= 0:
        raise ConfigError(f"--max-time {text}: expected a time such as 6h, 30m, 90s or 1h30m")
    return seconds


class Stop:
    """Remembers that the run was asked to stop. The run polls it with `check`, several times a second."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def request(self, reason: str) -> None:
        """Asks the run to stop; of several requests the first one's reason counts."""
        self.reason = self.reason or reason

    def check(self) -> None:
        """Raises StopRequest if a stop was requested."""
        if self.reason is not None:
            raise StopRequest(self.reason)

    def while_doing(self, task: Callable[[], Result]) -> Result:
        """Runs a long task in another thread and returns its result; a stop request abandons it.

        Raises: StopRequest, or what the task raises.
        """
        future: Future[Result] = Future()
        threading.Thread(target=settle, args=(future, task), name="task", daemon=True).start()
        while not future.done():
            self.check()
            wait((future,), timeout=_POLL_S)
        return future.result()

    async def while_awaiting(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Returns the result of a coroutine; a stop request cancels it.

        Raises: StopRequest, or what the coroutine raises.
        """
        task = asyncio.create_task(work)
        try:
            while not task.done():
                self.check()
                await asyncio.wait((task,), timeout=_POLL_S)
        finally:
            task.cancel()
        return task.result()


def settle(future: "Future[Result]", task: Callable[[], Result]) -> None:
    """Runs a task and sets its result or its error on the future."""
    try:
        future.set_result(task())
    except BaseException as error:
        future.set_exception(error)


@contextmanager
def stop_on_signals(stop: Stop, time_limit_s: float | None = None) -> Iterator[None]:
    """Turns the first signal into a stop request; a second one, of either kind, kills the process at once.

    time_limit_s: seconds from now, by the monotonic clock, after which a stop is requested.
    """
    with _on_first_signal(stop), time_limit(stop, time_limit_s):
        yield


@contextmanager
def _on_first_signal(stop: Stop) -> Iterator[None]:
    """Handles signals, if called from the main thread: no other can set handlers, so elsewhere it does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        for kind in _KINDS:
            signal.signal(kind, signal.SIG_DFL)
        stop.request(signal.Signals(number).name)

    before = [signal.signal(kind, on_signal) for kind in _KINDS]
    try:
        yield
    finally:
        for kind, handler in zip(_KINDS, before, strict=True):
            signal.signal(kind, handler)


@contextmanager
def time_limit(stop: Stop, seconds: float | None) -> Iterator[None]:
    """Requests a stop after so many seconds by the monotonic clock, from another thread; never for None."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), stop.request, ("time limit",))
    timer.daemon = True  # must not keep the process alive
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
