"""Measures memory and CPU time of this process and of its workers. Needs the extra `bench`."""

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import ConfigError

try:
    import psutil
except ImportError as missing:
    raise ConfigError("measuring a run needs one more package: pip install psutil") from missing

_PERIOD_S = 0.5  # a measurement takes some milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUse:
    """The use of the host at one moment. main_bytes, worker_bytes: resident memory, with shared memory in each process.

    cpu_s: user and system time of this process and all it ever started, since it began.
    """

    main_bytes: int = 0
    worker_bytes: int = 0
    cpu_s: float = 0.0

    @property
    def total_bytes(self) -> int:
        """The resident memory of all processes."""
        return self.main_bytes + self.worker_bytes


def host_use() -> HostUse:
    """Returns the current use of the host."""
    main = psutil.Process()
    cpu_s = sum(main.cpu_times()[:4])  # its own, and of those of its children that ended
    worker_bytes = 0
    for worker in main.children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended
            worker_bytes += worker.memory_info().rss
            cpu_s += sum(worker.cpu_times()[:4])
    return HostUse(main_bytes=main.memory_info().rss, worker_bytes=worker_bytes, cpu_s=cpu_s)


def process_age_s() -> float:
    """Returns the seconds since this process was started, to a hundredth; 0 where the system does not tell.

    psutil tells the time of day when it was, by a boot time in whole seconds. Source: proc(5).
    """
    try:
        fields = Path("/proc/self/stat").read_text(errors="replace").rpartition(")")[2].split()
        uptime_s = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0.0
    return uptime_s - int(fields[19]) / os.sysconf("SC_CLK_TCK")


class HostMeter:
    """Measures the host's use periodically in its block. peak_main_bytes: of this process, peak_bytes: of all."""

    def __init__(self, period_s: float = _PERIOD_S) -> None:
        self._period_s = period_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="host-meter", daemon=True)
        self.latest = HostUse()
        self.peak_main_bytes = self.peak_bytes = 0

    def __enter__(self) -> "HostMeter":
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._ended.wait(self._period_s):
            self._look()

    def _look(self) -> None:
        found = self.latest = host_use()
        self.peak_main_bytes = max(self.peak_main_bytes, found.main_bytes)
        self.peak_bytes = max(self.peak_bytes, found.total_bytes)
