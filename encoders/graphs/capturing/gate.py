"""Keeps other threads off the device while one of them captures CUDA graphs; process-wide.

PyTorch lets threads compute at the same time, but not during a capture: emptying its caches then is an internal error,
and so is waiting for the whole device, which its own torch.cuda.graph starts with.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager


class _Own(threading.local):
    """A thread's state. depth: how many working() it is in. counts: whether it counts as one of those at work."""

    depth = 0
    counts = False
    captures = False


class Gate:
    """Admits any number of threads at work, or one that captures. Without a capture no thread waits.

    A thread that wants to capture waits for those at work, and threads that come later wait for the capture. After each
    capture all threads that waited to work proceed before the next one; captures run in the order in which they came.
    """

    def __init__(self) -> None:
        self._own = _Own()
        self._changed = threading.Condition()
        self._num_working = self._num_waiting = 0
        self._capturers: deque[object] = deque()
        self._capturing = False
        self._num_admissions = 0
        self._working = _Working(self)

    def working(self) -> AbstractContextManager[None]:
        """Returns a context for work on the device. May be nested, also within capturing(), where it does nothing."""
        return self._working

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """Holds off other threads during a capture and its warm-up. May be nested.

        Within working() the thread gives its place up and takes it back: others may work or capture in between.
        """
        own = self._own
        if own.captures:
            yield
            return
        self._leave()
        try:
            self._take()
            own.captures = True
            try:
                yield
            finally:
                own.captures = False
                self._give_back()
        finally:
            if own.depth:
                self._enter()

    def come(self) -> None:
        """Enters working()."""
        own = self._own
        if not own.depth and not own.captures:
            self._enter()
        own.depth += 1

    def go(self) -> None:
        """Leaves working()."""
        own = self._own
        own.depth -= 1
        if not own.depth:
            self._leave()

    def _enter(self) -> None:
        with self._changed:
            if not self._capturing and not self._capturers:
                self._num_working += 1
            else:
                self._wait_for_admission()
            self._own.counts = True

    def _wait_for_admission(self) -> None:
        """Waits until admitted.

        The admitting thread counts this one as working, so that the next capture cannot come first.
        """
        before = self._num_admissions
        self._num_waiting += 1
        try:
            self._changed.wait_for(lambda: self._num_admissions != before)
        except BaseException:  # interrupted
            if self._num_admissions == before:
                self._num_waiting -= 1
            else:
                self._stop_working()
            raise

    def _leave(self) -> None:
        if self._own.counts:
            with self._changed:
                self._own.counts = False
                self._stop_working()

    def _stop_working(self) -> None:
        self._num_working -= 1
        if not self._num_working and self._capturers:
            self._changed.notify_all()

    def _take(self) -> None:
        turn = object()
        with self._changed:
            self._capturers.append(turn)
            try:
                self._changed.wait_for(
                    lambda: self._capturers[0] is turn and not self._capturing and not self._num_working
                )
            except BaseException:  # interrupted: threads that waited for this capture must not wait on
                self._capturers.remove(turn)
                if not self._capturing:
                    self._admit()
                raise
            self._capturers.popleft()
            self._capturing = True

    def _give_back(self) -> None:
        with self._changed:
            self._capturing = False
            self._admit()

    def _admit(self) -> None:
        self._num_working += self._num_waiting
        self._num_waiting = 0
        self._num_admissions += 1
        self._changed.notify_all()


class _Working(AbstractContextManager[None]):
    """The context of working(), entered for every step of decoding; a generator costs more than the gate itself."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __enter__(self) -> None:
        self._gate.come()

    def __exit__(self, *raised: object) -> None:
        self._gate.go()


_GATE = Gate()


def working() -> AbstractContextManager[None]:
    """Returns a context for a batch or step on the device; waits while another thread captures, or is about to.

    May be nested, also within capturing(). Within it, never wait for a thread that may capture.
    """
    return _GATE.working()


def capturing() -> AbstractContextManager[None]:
    """Returns a context for the capture of a CUDA graph, warm-up included; waits until no other thread is in working().

    The thread's own working() is given up until then and restored at the end.
    """
    return _GATE.capturing()
