"""Worker tasks with a parser that crashes, hangs and so on, by the file's name. Workers find them by their module."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from pipeline.ingest.workers import worker
from pipeline.types import Page

# Taken before a test replaces them.
_RENDER_TASK, _PROBE_TASK = worker.render_task, worker.probe_task
_RENDER, _PROBE = worker.render, worker.probe
FATES = ("segv", "abort", "kill", "exit", "leave", "hang", "stopped", "eat", "raise", "unpicklable")
_SIGNALS = {
    "segv": signal.SIGSEGV,
    "abort": signal.SIGABRT,
    "kill": signal.SIGKILL,
    "stopped": signal.SIGSTOP,
}


def render_task(*arguments: Any) -> Any:
    """Stands in for pipeline.ingest.workers.tasks.render_task: the same, with a parser that fails as the name says."""
    worker.render = _render
    return _RENDER_TASK(*arguments)


def probe_task(*arguments: Any) -> Any:
    """Stands in for pipeline.ingest.workers.tasks.probe_task: fails in the same ways, for files named probe-..."""
    worker.probe = _probe
    return _PROBE_TASK(*arguments)


def _render(page: Page, *arguments: Any) -> Any:
    befall(page.path)
    return _RENDER(page, *arguments)


def _probe(path: str, *arguments: Any) -> Any:
    if Path(path).name.startswith("probe-"):
        befall(path)
    return _PROBE(path, *arguments)


def befall(path: str) -> None:
    """Fails as the last word of the file's name says, if it says anything."""
    fate = Path(path).stem.rpartition("-")[2]
    if fate in _SIGNALS:
        os.kill(os.getpid(), _SIGNALS[fate])
        time.sleep(60)
    elif fate in ("exit", "leave"):
        os._exit(3 if fate == "exit" else 0)
    elif fate == "hang":
        time.sleep(60)
    elif fate == "eat":
        _eat()
    elif fate == "raise":
        raise RuntimeError("bad \x1b[31m bytes")
    elif fate == "unpicklable":
        raise _UnpicklableError("of a parser's own")


def _eat() -> None:
    held = []
    while True:
        held.append(bytes(64 << 20))  # never touched, so it takes no time


class _UnpicklableError(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("cannot be sent")
