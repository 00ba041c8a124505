"""Measures during a run how busy the GPU is and how much of its memory is used, as its driver (NVML) counts them.

The driver tells the share of a short period (1/6 to 1 s) in which at least one kernel ran. Asked four times a second,
it says over 9 s what all samples of its ring do, within 0.03: on an H100, with kernels for 10, 50 and 90% of the time.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

LOGGER = logging.getLogger("ocrbatch")
T = TypeVar("T")
_PERIOD_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a process that serves networks says of itself.

    device: "cuda" or "cpu". name, gpu: of the GPU, for people and for its driver. load_s: the seconds until it could
    serve.
    """

    device: str
    name: str
    gpu: str | None
    load_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReading:
    """The use of a GPU over some time. busy_share: 0 to 1, the share of time in which at least one kernel ran.

    peak_memory_bytes: the most in use on the whole GPU, by any process, since the meter began.
    """

    busy_share: float
    peak_memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuMark:
    """The counts at one moment; the difference of two marks measures the part of the run between them."""

    busy_s: float = 0.0
    measured_s: float = 0.0


class GpuMeter:
    """Measures a GPU's use from entering the block to its end; without NVML or a CUDA device there is no reading.

    It never raises into the block. name: the driver's of the GPU ("GPU-..."), None for a CPU. nvml: pynvml or a
    stand-in for it. mark: the counts so far, for reading().
    """

    def __init__(self, name: str | None, *, nvml: Any = None, period_s: float = _PERIOD_S) -> None:
        self._name = name
        self._nvml = nvml
        self._period_s = period_s
        self._handle: Any = None
        self.mark = GpuMark()
        self._peak_bytes = 0
        self._looked_at = 0.0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "GpuMeter":
        if self._name is None:
            return self
        try:
            self._nvml = self._nvml or _nvml()
            self._nvml.nvmlInit()
            self._handle = self._nvml.nvmlDeviceGetHandleByUUID(self._name)
            self._looked_at = time.monotonic()
        except Exception as error:
            LOGGER.debug("the GPU's use cannot be measured: %s", error)
            return self
        self._thread = threading.Thread(target=self._watch, name="gpu-meter", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is None:
            return
        self._ended.set()
        self._thread.join()
        try:
            self._look()
            self._nvml.nvmlShutdown()
        except Exception as error:
            LOGGER.debug("the GPU's use was not measured to the end: %s", error)

    def reading(self, since: GpuMark | None = None, until: GpuMark | None = None) -> GpuReading | None:
        """Returns the use over the whole block, or between two marks; None where nothing was measured."""
        start, end = since or GpuMark(), until or self.mark
        measured_s = end.measured_s - start.measured_s
        if measured_s <= 0:
            return None
        return GpuReading(
            busy_share=min((end.busy_s - start.busy_s) / measured_s, 1.0),
            peak_memory_bytes=self._peak_bytes,
        )

    def _watch(self) -> None:
        while not self._ended.wait(self._period_s):
            try:
                self._look()
            except Exception as error:
                LOGGER.debug("the GPU's use cannot be measured any more: %s", error)
                return

    def _look(self) -> None:
        """Adds the time since the last call to the counts."""
        share = float(self._nvml.nvmlDeviceGetUtilizationRates(self._handle).gpu) / 100
        now, before = time.monotonic(), self.mark
        passed_s, self._looked_at = now - self._looked_at, now
        self.mark = GpuMark(busy_s=before.busy_s + share * passed_s, measured_s=before.measured_s + passed_s)
        self._peak_bytes = max(self._peak_bytes, int(self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used))


def visible_gpus(number: int | None = None) -> list[str]:
    """Returns the GPUs that CUDA may see, as CUDA_VISIBLE_DEVICES names them. number: of them, None to ask for it."""
    names = os.environ.get("CUDA_VISIBLE_DEVICES")
    return names.split(",") if names else [str(gpu) for gpu in range(number or len(gpu_bytes()) or 1)]


def gpu_bytes(nvml: Any = None) -> list[int]:
    """Returns the memory of each of the machine's GPUs, none where their driver does not tell. nvml: see GpuMeter."""

    def memory(nvml: Any) -> list[int]:
        handles = map(nvml.nvmlDeviceGetHandleByIndex, range(nvml.nvmlDeviceGetCount()))
        return [int(nvml.nvmlDeviceGetMemoryInfo(handle).total) for handle in handles]

    return ask_driver(memory, nvml) or []


def ask_driver(ask: Callable[[Any], T], nvml: Any = None) -> T | None:
    """Returns what the driver's library answers; None where there is none, which may be so where CUDA works."""
    try:
        nvml = nvml or _nvml()
        nvml.nvmlInit()
        try:
            return ask(nvml)
        finally:
            nvml.nvmlShutdown()
    except Exception as error:
        LOGGER.debug("the GPUs' driver does not answer: %s", error)
        return None


def _nvml() -> Any:
    import pynvml  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return pynvml
