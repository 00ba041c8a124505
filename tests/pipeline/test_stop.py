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


def test_the_first_reason_counts() -> None:
    stop = Stop()
    stop.request("SIGINT")
    stop.request("time limit")
    with pytest.raises(StopRequest, match="SIGINT"):
        stop.check()


def test_the_time_limit_is_a_request() -> None:
    stop = Stop()
    with stop_on_signals(stop, 0.05):
        time.sleep(0.2)
    assert stop.reason == "time limit"


def test_no_error_boundary_swallows_a_request() -> None:
    assert not issubclass(StopRequest, Exception)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals(Stop(), 60.0):
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
