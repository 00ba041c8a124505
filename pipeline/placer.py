"""What runs inside a process that places texts on their pages. Never imports torch."""

from pipeline import tasks
from pipeline.arena import Shared
from pipeline.stages.place import ReadPage, Wording, place
from pipeline.types import PageResult

_WORDING: list[Wording] = []


def start(wording: Wording) -> None:
    """Prepares the process for the pages of one model: it ends when told to, and with its parent."""
    tasks.start(None, "ocrb-place")
    _WORDING[:] = [wording]


def place_task(shared: Shared) -> PageResult:
    """Returns the page's result. shared: of a ReadPage."""
    read: ReadPage = shared.open()
    return place(read, _WORDING[0])
