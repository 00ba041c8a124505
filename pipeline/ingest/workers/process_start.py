"""Prepares worker processes: how they end, what they print, what limits they have. It imports nothing that opens files,
as processes that read lines open none: PyMuPDF and what goes with it takes .2 s."""

import contextlib
import multiprocessing
import os
import signal
import threading
import warnings
from pathlib import Path

from threadpoolctl import threadpool_limits

from pipeline.ingest.workers.limits import keep_freed_memory, limit_process


def start(memory_bytes: int | None, name: str) -> None:
    """Prepares the process: it ends at once on SIGTERM and with its parent, and limits itself.

    name: the one that the system lists it under, at most 15 letters.
    """
    with contextlib.suppress(OSError):  # where there is no /proc
        Path("/proc/self/comm").write_text(name, encoding="ascii")
    # Ctrl-C reaches the whole process group; the parent decides when workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Handled by the kernel: a Python handler would wait for C code to return.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _silence()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Tasks run in parallel as processes: threads that spin while waiting for work would only take CPU from others.
    threadpool_limits(1)
    keep_freed_memory()
    limit_process(memory_bytes)


def _end_with_parent() -> None:
    """Ends the process soon after its parent has ended, however that happened.

    PR_SET_PDEATHSIG will not do: it follows the parent's thread, and short-lived threads start replacement workers.
    """
    parent = multiprocessing.parent_process()
    parent_pid = os.getppid()
    while parent is not None and parent.is_alive() and os.getppid() == parent_pid:
        parent.join(1.0)
    os._exit(1)


def _silence() -> None:
    """Silences what the process and its C libraries print: damaged files are reported through their rows."""
    warnings.simplefilter("ignore")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
