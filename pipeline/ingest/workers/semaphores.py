"""Keeps shared memory free of what killed runs leave: the names of the semaphores between processes.

Spawned processes find the locks that they share by name, so a name stays as long as one may still be started. Where all
of them are killed at once, with the one that would have cleaned up, their names stay for ever.
"""

import contextlib
import multiprocessing
import os
from pathlib import Path
from typing import Any

_FOLDER = Path("/dev/shm")


def name_and_sweep() -> None:
    """Names this process's semaphores after it, and removes those of such processes that are no more.

    Only Linux lists semaphores as files. Those of another space of process numbers (a container that shares the memory)
    are not judged.
    """
    try:
        space = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return
    process: Any = multiprocessing.current_process()
    process._config["semprefix"] = f"/ocrbatch-{space}-{os.getpid()}"
    for left in _FOLDER.glob(f"sem.ocrbatch-{space}-*-*"):
        if not Path("/proc", left.name.split("-")[2]).exists():
            with contextlib.suppress(OSError):  # of another user
                left.unlink()
