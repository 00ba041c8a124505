"""A kill of all processes leaves nothing in shared memory, and a lock of a killed one is free."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.ingest.workers.fork_servers import ForkingContext
from pipeline.ingest.workers.unnamed_lock import UnnamedLock

SHM = Path("/dev/shm")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere locks have names")
RUN = """
import time
from multiprocessing import synchronize

made = []
named = synchronize.SemLock._make_name
synchronize.SemLock._make_name = staticmethod(lambda: made.append(named()) or made[-1])

from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.ingest.workers.pool import WorkerPool

if __name__ == "__main__":
    with WorkerPool(
        max_workers=2, ingest=IngestSettings(), render=RenderSettings(), tile=TileSettings(), page_bytes=1 << 20
    ) as pool:
        pool.probe("nothing").result()
        print(*made, flush=True)
        time.sleep(600)
"""


def test_a_kill_of_all_processes_leaves_nothing(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(RUN)
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "\n", "semaphores with names were made"
            opened = [os.readlink(file) for file in Path(f"/proc/{process.pid}/fd").iterdir()]
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert sum("memfd:ocrbatch" in file for file in opened) >= 3, "the pages' memory, and two locks"
    assert not [file for file in opened if file.startswith(str(SHM))]


def take_and_end(lock: UnnamedLock, fate: signal.Signals) -> None:
    assert lock.acquire()
    assert lock.acquire(), "again while it has it"
    os.kill(os.getpid(), fate)


def test_a_lock_is_held_by_one_process_and_goes_with_it() -> None:
    context = ForkingContext(("signal",))
    lock = context.RLock()
    process = context.Process(target=take_and_end, args=(lock, signal.SIGSTOP))
    process.start()
    while Path(f"/proc/{process.pid}/stat").read_text().split()[2] != "T":
        process.join(0.01)
    assert not lock.acquire(block=False)
    process.kill()
    assert lock.acquire()
    assert lock.acquire(block=False)
    lock.release()
    lock.release()
    process.join()
