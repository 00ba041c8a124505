"""A stage's times add up to the time that passed."""

import asyncio
import time

import pytest

from pipeline import meter as module
from pipeline.meter import Meter, StageUse, bottleneck, metered_loop


class Clock:
    """A time that passes only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


def use(name: str, busy: float) -> StageUse:
    return StageUse(name=name, busy=busy, waiting_input=0.0, waiting_output=0.0)


def test_each_state_gets_its_time(clock: Clock) -> None:
    meter = Meter()
    clock.now += 2  # before the stage began
    meter.start()
    clock.now += 4
    with meter.waiting("input"):
        clock.now += 1
    clock.now += 1
    with meter.waiting("output"):
        clock.now += 2
    meter.stop()
    clock.now += 10
    meter.stop()
    found = meter.use("encode", 10)
    assert found == StageUse(name="encode", busy=0.5, waiting_input=0.1, waiting_output=0.2)


def test_waiting_ends_with_its_block_also_by_an_error(clock: Clock) -> None:
    meter = Meter()
    meter.start()

    def breaks() -> None:
        clock.now += 1
        raise KeyError

    with pytest.raises(KeyError), meter.waiting("input"):
        breaks()
    clock.now += 3
    meter.stop()
    assert meter.use("a", 4) == StageUse(name="a", busy=0.75, waiting_input=0.25, waiting_output=0.0)


def test_a_stage_begins_and_ends_as_often_as_it_likes(clock: Clock) -> None:
    meter = Meter()
    for _ in range(3):
        meter.start()
        clock.now += 1
        meter.stop()
        clock.now += 1
    assert meter.use("store", 6).busy == 0.5


def test_time_may_be_measured_elsewhere() -> None:
    meter = Meter()
    meter.add("busy", 1.5)
    meter.add("busy", 0.5)
    assert meter.use("render", 8).busy == 0.25


def test_a_run_of_no_time_has_no_shares() -> None:
    meter = Meter()
    meter.add("busy", 1.0)
    assert meter.use("render", 0.0) == use("render", 0.0)


def test_the_bottleneck_is_the_busiest() -> None:
    stages = [use("render", 0.2), use("decode", 0.9), use("store", 0.1)]
    assert bottleneck(stages) is stages[1]
    assert bottleneck([use("render", 0.0)]) is None
    assert bottleneck([]) is None


def test_a_loops_callbacks_are_its_work_and_its_waits_are_none() -> None:
    meter = Meter()

    async def work() -> None:
        await asyncio.sleep(0.2)
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            pass

    with asyncio.Runner(loop_factory=lambda: metered_loop(meter)) as runner:
        runner.run(work())
    assert meter.state is None
    use = meter.use("flow", 1.0)
    assert use.waiting_input >= 0.15
    assert use.busy >= 0.09
