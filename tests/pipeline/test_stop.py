import asyncio
import os
import signal
import threading

import pytest

from pipeline.errors import ConfigError, StopRequest
from pipeline.stop import Stop, parse_duration, stop_on_signals, time_limit
from tests.pipeline.runs import wait_until


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
        wait_until(lambda: stop.reason is not None)
    assert stop.reason == "time limit"


def test_a_coroutine_is_awaited_until_a_stop_is_asked_for() -> None:
    stop, ended = Stop(), []

    async def work(seconds: float) -> str:
        try:
            await asyncio.sleep(seconds)
        finally:
            ended.append(seconds)
        return "done"

    assert asyncio.run(stop.while_awaiting(work(0.0))) == "done"
    stop.request("SIGTERM")
    with pytest.raises(StopRequest, match="SIGTERM"):
        asyncio.run(stop.while_awaiting(work(0.0)))

    async def stopped_later() -> None:
        later = Stop()
        asyncio.get_running_loop().call_later(0.01, later.request, "SIGINT")
        await later.while_awaiting(work(60.0))

    with pytest.raises(StopRequest, match="SIGINT"):
        asyncio.run(stopped_later())
    assert ended == [0.0, 60.0], "what had begun was cancelled"


def test_no_error_boundary_swallows_a_request() -> None:
    assert not issubclass(StopRequest, Exception)


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals(Stop(), 60.0):
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(60.0)
            assert not thread.is_alive()


def test_the_time_limit_needs_no_signal_and_no_main_thread() -> None:
    before, stop = signal.getsignal(signal.SIGALRM), Stop()

    def work() -> None:
        with stop_on_signals(stop, 0.05):
            assert signal.getsignal(signal.SIGALRM) is before
            wait_until(lambda: stop.reason is not None)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert stop.reason == "time limit"


def test_after_the_first_signal_any_second_one_ends_the_process() -> None:
    with stop_on_signals(Stop()):
        os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGINT) == signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_long_task_is_left_behind_on_a_request() -> None:
    stop, ended = Stop(), threading.Event()
    assert stop.while_doing(lambda: 7) == 7
    with pytest.raises(ValueError, match="seven"):
        stop.while_doing(lambda: int("seven"))
    with pytest.raises(StopRequest), time_limit(stop, 0.05):
        stop.while_doing(lambda: ended.wait(30))
    ended.set()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6h", 21600),
        ("30m", 1800),
        ("90s", 90),
        ("1h30m", 5400),
        ("5400", 5400),
        ("1.5h", 5400),
        ("1H30M5s", 5405),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0h", "soon", "-3h", "6 h", "30m1h", "1d", "h", "nan", "1e3"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--max-time"):
        parse_duration(text)
