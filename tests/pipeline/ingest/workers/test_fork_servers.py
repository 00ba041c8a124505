"""Worker processes are forks of one that has imported what they need."""

import os
import sys
import threading

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
