"""Measures the cost of a command: CPU and wall seconds, child processes included."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """cpu_s: user and system, of the process and its descendants."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A finished command. stdout, stderr: as UTF-8."""

    returncode: int
    stdout: str
    stderr: str
    cost: Cost


def run(command: Sequence[str], environment: Mapping[str, str], scratch: Path) -> Finished:
    """Runs a command to its end; its output goes to files in `scratch`, so that it never blocks on us."""
    out, err = scratch / "stdout", scratch / "stderr"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, env={**os.environ, **environment}
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again
    return Finished(
        returncode=process.returncode,
        stdout=out.read_text(encoding="utf-8", errors="replace"),
        stderr=err.read_text(encoding="utf-8", errors="replace"),
        cost=Cost(cpu_s=usage.ru_utime + usage.ru_stime, wall_s=wall_s),
    )
