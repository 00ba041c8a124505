"""The GPU's meter, on a driver made of paper; the real one is asked under the mark gpu."""

import sys
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pipeline.device.gpu_meter import GpuMeter

UUID = "f00d"
HAS_GPU = torch.cuda.is_available()


class NvmlError(Exception):
    pass


@dataclass
class Driver:
    """NVML with one GPU. state: percent busy, one a call, the last of them again and again."""

    state: list[int] = field(default_factory=lambda: [0])
    used: list[int] = field(default_factory=lambda: [5])
    known: tuple[str, ...] = (f"GPU-{UUID}",)
    asked: list[Any] = field(default_factory=list)
    is_open: bool = False
    NVMLError: type[Exception] = NvmlError

    def nvmlInit(self) -> None:  # noqa: N802
        self.is_open = True

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.is_open = False

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        if uuid not in self.known:
            raise NvmlError("not found")
        return uuid

    def nvmlDeviceGetHandleByPciBusId(self, place: str) -> str:  # noqa: N802
        return place

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:  # noqa: N802
        self.asked.append(handle)
        return SimpleNamespace(gpu=self.state.pop(0) if len(self.state) > 1 else self.state[0])

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:  # noqa: N802
        return SimpleNamespace(used=self.used.pop(0) if len(self.used) > 1 else self.used[0])


@pytest.fixture(autouse=True)
def _a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(uuid=UUID, pci_domain_id=0, pci_bus_id=0x3B, pci_device_id=0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)


def test_a_block_is_measured_to_its_end_and_the_driver_let_go() -> None:
    driver = Driver(state=[25], used=[7, 9])
    with GpuMeter("cuda:0", nvml=driver, period_s=60) as meter:
        time.sleep(0.01)
    found = meter.reading()
    assert found is not None
    assert (found.busy_share, found.peak_memory_bytes) == (pytest.approx(0.25), 7)
    assert driver.asked == [f"GPU-{UUID}"]
    assert not driver.is_open


def test_the_drivers_own_name_of_a_gpu_needs_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    driver = Driver(state=[40])
    with GpuMeter(f"GPU-{UUID}", nvml=driver, period_s=60) as meter:
        time.sleep(0.01)
    assert meter.reading() is not None


def test_a_part_of_the_block_is_read_between_marks() -> None:
    driver = Driver(state=[100, 10])
    with GpuMeter(nvml=driver, period_s=60) as meter:
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
    with GpuMeter(nvml=driver, period_s=0.002) as meter:
        deadline = time.monotonic() + 60
        while len(driver.asked) < 4 and time.monotonic() < deadline:
            time.sleep(0.002)
    found = meter.reading()
    assert found is not None
    assert found.busy_share == pytest.approx(0.7)
    assert found.peak_memory_bytes == 8


def test_a_gpu_unknown_by_its_uuid_is_found_by_its_place() -> None:
    driver = Driver(known=())
    with GpuMeter(nvml=driver, period_s=60):
        pass
    assert driver.asked[0] == "00000000:3B:00.0"


def test_nothing_is_raised_and_nothing_read_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with GpuMeter("cpu", nvml=Driver()) as meter:
        pass
    assert meter.reading() is None
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with GpuMeter(nvml=Driver()) as meter:
        pass
    assert meter.reading() is None


def test_nothing_is_raised_without_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with GpuMeter() as meter:
        pass
    assert meter.reading() is None


def test_a_driver_that_fails_on_the_way_ends_the_measuring_only() -> None:
    driver = Driver(state=[50], used=[1])
    with GpuMeter(nvml=driver, period_s=60) as meter:
        meter._look()
        driver.used = []
    found = meter.reading()
    assert found is not None
    assert found.busy_share == pytest.approx(0.5)


@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")
def test_a_real_gpu_is_seen_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    pytest.importorskip("pynvml")
    matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    with GpuMeter("cuda") as meter:
        start = time.monotonic()
        while time.monotonic() - start < 3:
            for _ in range(20):
                matrix @ matrix
            torch.cuda.synchronize()
    found = meter.reading()
    assert found is not None
    assert found.busy_share > 0.8
    assert found.peak_memory_bytes >= matrix.nbytes
