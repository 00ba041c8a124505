"""Which part of a run is steady, and how fast it was."""

import time
from types import SimpleNamespace
from typing import cast

import pytest

from pipeline.bench.host_meter import HostMeter, HostUse
from pipeline.bench.whole_run.track import Moment, PageTrack
from pipeline.device.gpu_meter import GpuMark
from pipeline.types import PageResult


def tracked(
    times: list[float], monkeypatch: pytest.MonkeyPatch, statuses: list[str] | None = None
) -> PageTrack:
    """Pages of 10 tokens stored at these seconds; the CPU worked all the time, on two cores."""
    host = SimpleNamespace(latest=HostUse())
    found = PageTrack(cast(HostMeter, host))
    for at_s, status in zip(times, statuses or ["ok"] * len(times), strict=True):
        host.latest = HostUse(cpu_s=2 * at_s)
        monkeypatch.setattr(time, "perf_counter", lambda at_s=at_s: at_s)
        found.page_done(cast(PageResult, SimpleNamespace(status=status, num_tokens=10 * (status == "ok"))))
    return found


def start(at_s: float) -> Moment:
    return Moment(at_s=at_s, gpu=GpuMark(), host=HostUse(cpu_s=2 * at_s))


def test_all_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    track = tracked([3.0, 4.0, 7.0], monkeypatch)
    whole = track.since(start(1.0))
    assert whole is not None
    assert (whole["num_pages"], whole["seconds"], whole["pages_s"], whole["tokens_s"]) == (3, 6.0, 0.5, 5.0)
    assert whole["cpu_s_a_page"] == pytest.approx(12 / 3)
    assert track.statuses == {"ok": 3}


def test_pages_that_failed_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = ["ok", "failed", "blank", "quarantined", "failed", "failed"]
    track = tracked([2.0, 3.0, 4.0, 5.0, 6.0, 9.0], monkeypatch, statuses)
    whole, steady = track.since(start(1.0)), track.steady(1)
    assert whole is not None
    assert steady is not None
    assert (track.num_read, whole["num_pages"], whole["num_failed"]) == (2, 2, 4)
    assert (whole["seconds"], whole["pages_s"]) == (8.0, 0.25), "what they took is part of the time"
    assert whole["cpu_s_a_page"] == pytest.approx(16 / 2)
    assert (steady["num_pages"], steady["num_failed"]) == (1, 4)
    assert track.since(start(5.0)) is None, "none was read any more"


@pytest.mark.parametrize("at_once", [1, 4])
def test_pages_in_bursts_have_the_rate_of_the_bursts(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bursts = [5.0 + number * at_once / 2 for number in range(5)]  # two pages a second, once it has begun
    steady = tracked([at_s for at_s in bursts for _ in range(at_once)], monkeypatch).steady(at_once)
    assert steady is not None
    assert steady["num_pages"] == 4 * at_once
    assert steady["pages_s"] == pytest.approx(2.0)


def test_the_start_is_not_steady(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_start, even = [10.0, 20.0], [21.0 + number for number in range(6)]
    steady = tracked([*slow_start, *even], monkeypatch).steady(2)
    assert steady is not None
    assert (steady["num_pages"], steady["pages_s"]) == (6, 1.0)


def test_waves_that_end_just_then_make_nothing_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two waves more than the first, ten seconds each, whatever happens to end when."""
    waves = [10.0] * 4 + [20.0] * 3 + [21.0] + [31.0] * 4
    steady = tracked(waves, monkeypatch).steady(4)
    assert steady is not None
    assert steady["pages_s"] == pytest.approx(8 / 21)


def test_few_pages_have_no_steady_part(monkeypatch: pytest.MonkeyPatch) -> None:
    track = tracked([1.0, 2.0, 3.0], monkeypatch)
    assert track.steady(2) is None
    assert track.since(start(6.0)) is None
