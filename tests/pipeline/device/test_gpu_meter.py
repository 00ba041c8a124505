"""The GPU's meter, on a driver made of paper; the real one is asked under the mark gpu."""

import sys
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pipeline.device.gpu_meter import GpuMeter
from pipeline.device.threads.streams import gpu_name

NAME = "GPU-f00d"
HAS_GPU = torch.cuda.is_available()


@dataclass
class Driver:
    """NVML with one GPU. state: percent busy, one a call, the last of them again and again."""

    state: list[int] = field(default_factory=lambda: [0])
    used: list[int] = field(default_factory=lambda: [5])
    asked: list[Any] = field(default_factory=list)
    is_open: bool = False

    def nvmlInit(self) -> None:  # noqa: N802
        self.is_open = True

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.is_open = False

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        if uuid != NAME:
            raise LookupError("not found")
        return uuid

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:  # noqa: N802
        self.asked.append(handle)
        return SimpleNamespace(gpu=self.state.pop(0) if len(self.state) > 1 else self.state[0])

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:  # noqa: N802
        return SimpleNamespace(used=self.used.pop(0) if len(self.used) > 1 else self.used[0])


def test_a_block_is_measured_to_its_end_and_the_driver_let_go() -> None:
    driver = Driver(state=[25], used=[7, 9])
    with GpuMeter(NAME, nvml=driver, period_s=60) as meter:
        time.sleep(0.01)
    found = meter.reading()
    assert found is not None
    assert (found.busy_share, found.peak_memory_bytes) == (pytest.approx(0.25), 7)
    assert driver.asked == [NAME]
    assert not driver.is_open


def test_the_drivers_name_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid="f00d"))
    assert gpu_name(torch.device("cuda")) == NAME
    assert gpu_name(torch.device("cpu")) is None


def test_a_part_of_the_block_is_read_between_marks() -> None:
    driver = Driver(state=[100, 10])
    with GpuMeter(NAME, nvml=driver, period_s=60) as meter:
        time.sleep(0.01)
        meter._look()
        middle = meter.mark
        time.sleep(0.01)
    first, second = meter.reading(until=middle), meter.reading(since=middle)
    assert first is not None
    assert second is not None
    assert first.busy_share == pytest.approx(1.0)
    assert second.busy_share == pytest.approx(0.1)
    assert meter.reading(since=middle, until=middle) is None


def test_it_looks_by_itself() -> None:
    driver = Driver(state=[70], used=[1, 8, 2])
    with GpuMeter(NAME, nvml=driver, period_s=0.002) as meter:
        deadline = time.monotonic() + 60
        while len(driver.asked) < 4 and time.monotonic() < deadline:
            time.sleep(0.002)
    found = meter.reading()
    assert found is not None
    assert found.busy_share == pytest.approx(0.7)
    assert found.peak_memory_bytes == 8


@pytest.mark.parametrize("name", [None, "GPU-gone"])
def test_nothing_is_raised_and_nothing_read_without_a_gpu(name: str | None) -> None:
    with GpuMeter(name, nvml=Driver()) as meter:
        pass
    assert meter.reading() is None


def test_nothing_is_raised_without_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with GpuMeter(NAME) as meter:
        pass
    assert meter.reading() is None


def test_a_driver_that_fails_on_the_way_ends_the_measuring_only() -> None:
    driver = Driver(state=[50], used=[1])
    with GpuMeter(NAME, nvml=driver, period_s=60) as meter:
        meter._look()
        driver.used = []
    found = meter.reading()
    assert found is not None
    assert found.busy_share == pytest.approx(0.5)


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")
def test_a_real_gpu_is_seen_at_work() -> None:
    pytest.importorskip("pynvml")
    matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    with GpuMeter(gpu_name(torch.device("cuda"))) as meter:
        start = time.monotonic()
        while time.monotonic() - start < 3:
            for _ in range(20):
                matrix @ matrix
            torch.cuda.synchronize()
    found = meter.reading()
    assert found is not None
    assert found.busy_share > 0.8
    assert found.peak_memory_bytes >= matrix.nbytes
