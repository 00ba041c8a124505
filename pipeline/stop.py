"""An orderly end on SIGINT, SIGTERM or the time limit."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pipeline.errors import StopRequest


class Stop:
    """Remembers that somebody asked for an end. The run looks for itself (`check`), several times a second."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def request(self, reason: str) -> None:
        self.reason = self.reason or reason

    def check(self) -> None:
        """Raises: StopRequest after a request."""
        if self.reason is not None:
            raise StopRequest(self.reason)


@contextmanager
def stop_on_signals(stop: Stop, time_limit_s: float | None = None) -> Iterator[None]:
    """Turns the first signal into a request; a second one of the same kind ends the process at once.

    Signals reach the main thread only: elsewhere this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.request("time limit" if number == signal.SIGALRM else signal.Signals(number).name)

    kinds = [signal.SIGINT, signal.SIGTERM]
    if time_limit_s is not None:
        kinds.append(signal.SIGALRM)
    before = [signal.signal(kind, on_signal) for kind in kinds]
    try:
        if time_limit_s is not None:
            signal.setitimer(signal.ITIMER_REAL, time_limit_s)
        yield
    finally:
        if time_limit_s is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
