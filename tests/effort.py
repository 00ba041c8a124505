"""Measures work in units that do not depend on the machine or on how busy it is."""

import time
from collections.abc import Callable

_TURNS = 1_000_000


def effort(work: Callable[[], object]) -> float:
    """Returns the work's CPU time in units of that of a million turns of an empty Python loop, timed next to it.

    A unit takes 10 to 50 ms. Only this thread's time counts: what other processes and threads do does not.
    """
    before = _unit_s()
    started = time.thread_time()
    work()
    spent_s = time.thread_time() - started
    return 2 * spent_s / (before + _unit_s())


def _unit_s() -> float:
    started = time.thread_time()
    for _ in range(_TURNS):
        pass
    return time.thread_time() - started
