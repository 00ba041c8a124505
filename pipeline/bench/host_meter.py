"""Measures memory and CPU time of this process and of its workers, from /proc.

On other systems than Linux it sees neither workers nor memory.
"""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_PROC = Path("/proc")
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


@dataclass(frozen=True, slots=True)
class _Process:
    """A process as listed in /proc. started_s: seconds from the machine's start to the process's."""

    pid: int
    parent: int
    rss_bytes: int
    cpu_s: float
    started_s: float


def host_use() -> HostUse:
    """Returns the current use of the host."""
    cpu_s = sum(os.times()[:4])  # its own, and of those of its children that ended
    main = _read(os.getpid())
    workers = list(_descendants(os.getpid()))
    return HostUse(
        main_bytes=main.rss_bytes if main else 0,
        worker_bytes=sum(worker.rss_bytes for worker in workers),
        cpu_s=cpu_s + sum(worker.cpu_s for worker in workers),
    )


def process_age_s() -> float:
    """Returns the seconds since this process was started, to a hundredth; 0 where the system does not tell."""
    found = _read(os.getpid())
    if found is None:
        return 0.0
    return float((_PROC / "uptime").read_text(encoding="ascii").split()[0]) - found.started_s


class HostMeter:
    """Measures the host's use periodically while its block runs. peak: the highest value of each figure."""

    def __init__(self, period_s: float = _PERIOD_S) -> None:
        self._period_s = period_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="host-meter", daemon=True)
        self.latest = HostUse()
        self.peak = HostUse()
        self.peak_bytes = 0

    def __enter__(self) -> "HostMeter":
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._ended.wait(self._period_s):
            self._look()

    def _look(self) -> None:
        found = self.latest = host_use()
        self.peak = HostUse(
            main_bytes=max(self.peak.main_bytes, found.main_bytes),
            worker_bytes=max(self.peak.worker_bytes, found.worker_bytes),
            cpu_s=max(self.peak.cpu_s, found.cpu_s),
        )
        self.peak_bytes = max(self.peak_bytes, found.total_bytes)


def _descendants(pid: int) -> Iterator[_Process]:
    children: dict[int, list[_Process]] = {}
    for entry in _PROC.glob("[0-9]*"):
        if process := _read(int(entry.name)):
            children.setdefault(process.parent, []).append(process)
    waiting = [pid]
    while waiting:
        found = children.get(waiting.pop(), [])
        waiting += [process.pid for process in found]
        yield from found


def _read(pid: int) -> _Process | None:
    """Returns a process from /proc/PID/stat, None if it has ended; the name before the last bracket may be anything.

    Source: proc(5).
    """
    try:
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:  # it has ended, or there is no /proc
        return None
    ticks = os.sysconf("SC_CLK_TCK")
    return _Process(
        pid=pid,
        parent=int(fields[1]),
        rss_bytes=int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
        cpu_s=sum(map(int, fields[11:15])) / ticks,
        started_s=int(fields[19]) / ticks,
    )
