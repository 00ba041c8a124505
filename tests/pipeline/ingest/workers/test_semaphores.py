"""Nothing stays in shared memory, even of processes that were all killed at once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.ingest.workers.semaphores import name_and_sweep

SHM = Path("/dev/shm")
pytestmark = pytest.mark.skipif(
    not (SHM.is_dir() and Path("/proc/self/ns/pid").exists()), reason="only Linux lists semaphores"
)
RUN = """
import time
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.ingest.workers.pool import WorkerPool

if __name__ == "__main__":
    with WorkerPool(
        max_workers=1, ingest=IngestSettings(), render=RenderSettings(), tile=TileSettings(), page_bytes=1 << 20
    ) as pool:
        pool.probe("nothing").result()
        print("works", flush=True)
        time.sleep(600)
"""


def named_after(process: int) -> list[str]:
    return [path.name for path in SHM.iterdir() if path.name.split("-")[2:3] == [str(process)]]


def test_a_kill_of_all_processes_leaves_nothing_for_long(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(RUN)
    before = {path.name for path in SHM.iterdir() if not path.name.startswith(("sem.ocrbatch-", "sem.mp-"))}
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "works\n"
            name_and_sweep()
            assert named_after(process.pid), "those of a process that lives stay"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    name_and_sweep()
    assert named_after(process.pid) == []
    after = {path.name for path in SHM.iterdir() if not path.name.startswith(("sem.ocrbatch-", "sem.mp-"))}
    assert after <= before
