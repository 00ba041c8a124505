"""Measures the cost of a command: CPU seconds, wall seconds and peak memory, child processes included. Linux only."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

_SAMPLE_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """cpu_s: user and system, of the process and its descendants. peak_mb: MiB, see `run`."""

    cpu_s: float
    wall_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A finished command. stdout, stderr: as UTF-8."""

    returncode: int
    stdout: str
    stderr: str
    cost: Cost


def run(command: Sequence[str], environment: Mapping[str, str], scratch: Path) -> Finished:
    """Runs a command to its end; its output goes to files in `scratch`, so that it never blocks on us.

    Peak memory: the greatest sum over the process and its living descendants of their proportional set sizes
    (shared pages counted once), sampled every quarter of a second; at least the maximum resident set of the
    largest process, which the kernel tracks exactly.
    """
    out, err = scratch / "stdout", scratch / "stderr"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, env={**os.environ, **environment}
        )
        watch = _Watch(process.pid)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again
        peak_kib = max(usage.ru_maxrss, watch.stop())
    return Finished(
        returncode=process.returncode,
        stdout=out.read_text(encoding="utf-8", errors="replace"),
        stderr=err.read_text(encoding="utf-8", errors="replace"),
        cost=Cost(cpu_s=usage.ru_utime + usage.ru_stime, wall_s=wall_s, peak_mb=peak_kib / 1024),
    )


class _Watch(threading.Thread):
    """Samples the memory of a process and its descendants until stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self._peak_kib = 0
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(_SAMPLE_S):
            with suppress(psutil.Error):
                family = [self._process, *self._process.children(recursive=True)]
                self._peak_kib = max(self._peak_kib, sum(map(_pss_bytes, family)) >> 10)

    def stop(self) -> int:
        self._ended.set()
        self.join()
        return self._peak_kib


def _pss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:  # it has just ended
        return 0
