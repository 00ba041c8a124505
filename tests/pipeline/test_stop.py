import os
import signal
import time

import pytest

from pipeline.errors import StopRequest
from pipeline.stop import Stop, stop_on_signals


def test_a_signal_waits_for_the_next_check() -> None:
    stop = Stop()
    with stop_on_signals(stop):
        os.kill(os.getpid(), signal.SIGTERM)
        reached = True
    assert reached
    assert stop.reason == "SIGTERM"
    with pytest.raises(StopRequest, match="SIGTERM"):
        stop.check()


def test_a_signal_interrupts_computation_at_once() -> None:
    stop = Stop()
    started = time.monotonic()

    def compute() -> None:
        with stop.interruptible():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

    with stop_on_signals(stop), pytest.raises(StopRequest):
        compute()
    assert time.monotonic() - started < 4


def test_computation_does_not_start_after_a_request() -> None:
    stop = Stop()
    stop.request("SIGINT")
    with pytest.raises(StopRequest), stop.interruptible():
        pytest.fail("the computation started")


def test_after_the_block_a_signal_waits_again() -> None:
    stop = Stop()
    with stop.interruptible():
        pass
    stop.request("SIGINT")
    assert stop.reason == "SIGINT"


def test_the_time_limit_is_a_request() -> None:
    stop = Stop()
    with stop_on_signals(stop, 0.05), pytest.raises(StopRequest, match="time limit"), stop.interruptible():
        time.sleep(5)


def test_no_error_boundary_swallows_a_request() -> None:
    assert not issubclass(StopRequest, Exception)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals(Stop(), 60.0):
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
