"""A run's use of the machine, measured while it runs."""

import importlib
import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.bench.host_meter import HostMeter, host_use, process_age_s
from pipeline.errors import ConfigError

# Takes 60 MB and some CPU time, says so, and waits for its input to end.
CHILD = "data = bytearray(60_000_000); sum(range(3_000_000)); print('ready', flush=True); input()"


def test_workers_count_while_they_run_and_their_cpu_time_after_them() -> None:
    before = host_use()
    assert before.main_bytes > 10_000_000
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        during = host_use()
        child.communicate("\n")
    after = host_use()
    assert during.worker_bytes - before.worker_bytes > 60_000_000
    assert during.total_bytes == during.main_bytes + during.worker_bytes
    assert during.cpu_s - before.cpu_s >= 0.03
    assert after.worker_bytes < during.worker_bytes - 60_000_000
    assert after.cpu_s >= during.cpu_s - 0.05, "to the ticks of the clock"


def test_the_meter_keeps_the_most() -> None:
    """In a process of its own: one that has run many tests gives back memory in between."""
    script = "from tests.pipeline.bench.test_host_meter import keeps_the_most; keeps_the_most()"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[3])


def keeps_the_most() -> None:
    with HostMeter(period_s=0.01) as meter:
        held = mmap.mmap(-1, 80_000_000)  # new to the process, which a large array need not be
        before = meter.latest
        held.write(bytes([1]) * len(held))
        deadline = time.monotonic() + 60
        while meter.latest.main_bytes < before.main_bytes + 40_000_000 and time.monotonic() < deadline:
            time.sleep(0.01)
        held.close()
    assert meter.peak_main_bytes >= before.main_bytes + 40_000_000
    assert meter.latest.main_bytes < meter.peak_main_bytes
    assert meter.peak_bytes >= meter.peak_main_bytes
    assert before.cpu_s < meter.latest.cpu_s <= host_use().cpu_s


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_the_age_of_a_process_is_known() -> None:
    script = "import time; time.sleep(0.2); from pipeline.bench.host_meter import process_age_s; print(process_age_s())"
    start = time.monotonic()
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert 0.2 <= float(said) <= time.monotonic() - start + 0.02
    assert process_age_s() > 0.2


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    monkeypatch.delitem(sys.modules, "pipeline.bench.host_meter")
    with pytest.raises(ConfigError, match="pip install psutil"):
        importlib.import_module("pipeline.bench.host_meter")
