"""Runs inside the processes that place texts on their pages. Never imports torch."""

import pickle

from pipeline.ingest.workers import tasks
from pipeline.ingest.workers.shared_memory import Shared
from pipeline.stages.localize import ReadPage, Wording, place
from pipeline.types import PageResult

_WORDING: list[Wording] = []


def start(shared: Shared) -> None:
    """Prepares the process for the pages of one model; it ends on SIGTERM and with its parent.

    shared: the model's Wording, pickled.
    """
    tasks.start(None, "ocrb-place")
    _WORDING[:] = [pickle.loads(shared.open())]


def place_task(shared: Shared) -> PageResult:
    """Returns the page's result. shared: a ReadPage."""
    read: ReadPage = shared.open()
    return place(read, _WORDING[0])
