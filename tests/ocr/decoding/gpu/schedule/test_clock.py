"""Shares of the wall time."""

import pytest

from ocr.decoding.gpu.schedule import clock
from ocr.decoding.gpu.schedule.clock import ShareClock


class Time:
    now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(clock, "time", made)
    return made


def test_pages_that_come_and_go_share_what_passed_while_they_were_there(time: Time) -> None:
    shares = ShareClock()
    first = shares.enter()
    time.now += 1.0
    second = shares.enter()
    time.now += 3.0
    assert shares.leave(first) == pytest.approx(1.0 + 1.5)
    time.now += 0.25
    assert shares.leave(second) == pytest.approx(1.5 + 0.25)


def test_what_prefills_take_is_not_shared(time: Time) -> None:
    shares = ShareClock()
    entered = shares.enter()
    time.now += 1.0
    shares.take_prefill(1.5)  # of a device that is not through with it yet
    assert shares.leave(entered) == 0.0
    entered = shares.enter()
    time.now += 2.0
    assert shares.leave(entered) == pytest.approx(1.5)


def test_time_between_turns_and_without_pages_is_nobodys(time: Time) -> None:
    shares = ShareClock()
    time.now += 5.0
    shares.pause()
    time.now += 5.0
    shares.resume()
    entered = shares.enter()
    time.now += 1.0
    shares.pause()
    time.now += 7.0
    shares.resume()
    time.now += 1.0
    assert shares.leave(entered) == pytest.approx(2.0)


def test_time_of_another_prefill_is_not_shared_before_it_is_deducted(time: Time) -> None:
    shares = ShareClock()
    time.now += 5.0  # two prefills, of 2 and 3 seconds
    shares.take_prefill(2.0)
    first = shares.enter(shares=False)
    second = shares.enter(shares=False)
    shares.take_prefill(3.0)
    third = shares.enter()
    time.now += 0.3
    assert [shares.leave(entered) for entered in (first, second, third)] == pytest.approx([0.1, 0.1, 0.1])
