"""Worker processes are forks of one that has imported what they need; a kill of all leaves nothing in shared memory."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.ingest.workers.fork_servers import ForkingContext, UnnamedLock
from pipeline.ingest.workers.task_pool import TaskPool

# A module that nothing else imports.
RARE = "sched"


def nothing() -> None:
    """Prepares nothing."""


def about_itself(meeting: float) -> tuple[bool, int, int]:
    threading.Event().wait(meeting)
    return RARE in sys.modules, os.getpid(), os.getppid()


def test_processes_share_what_their_server_imported() -> None:
    with TaskPool(max_workers=2, initializer=nothing, initargs=(), imports=(RARE,)) as pool:
        futures = [pool._submit(about_itself, (0.5,), 60.0, lambda error: (False, 0, 0)) for _ in range(4)]
        found = [future.result(60) for future in futures]
    assert all(is_there for is_there, *_ in found)
    assert len({pid for _, pid, _ in found}) == 2
    assert len({parent for *_, parent in found} - {os.getpid()}) == 1


def test_each_kind_of_process_has_its_own_imports() -> None:
    with TaskPool(max_workers=1, initializer=nothing, initargs=()) as pool:
        is_there, _, parent = pool._submit(about_itself, (0.0,), 60.0, lambda error: (True, 0, 0)).result(60)
    assert not is_there
    assert parent != os.getpid()


SHM = Path("/dev/shm")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere locks have names")
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


@LINUX
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


@LINUX
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
