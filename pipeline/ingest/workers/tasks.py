"""Names the tasks of worker processes, so that their caller imports nothing that only the workers need.

A run's own process opens no files. Without PyMuPDF and everything that draws, cuts and judges pages it starts a third
of a second earlier. The tasks themselves are in pipeline.ingest.workers.worker.
"""

import contextlib
import pickle
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.ingest.workers.plain_pickle import plain
from pipeline.ingest.workers.shared_memory import Slot
from pipeline.types import Document, Kind, LayerUse, Page, PageKind, ReadyPage, RenderedPage
from storage.types import PageError

if TYPE_CHECKING:
    from pipeline.documents.page_picture import FigurePlaces, Look, PagePicture

Result = TypeVar("Result")


# The CPU seconds that this process took to start, until its first task has reported them.
_start_s: list[float] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed(Generic[Result]):
    """A task's result and the seconds it took. start_s: CPU time of starting the process, with its first task only."""

    result: Result
    seconds: float
    start_s: float


def start(memory_bytes: int | None, name: str = "ocrb-render") -> None:
    """Prepares a worker process: calls pipeline.ingest.workers.worker.start.

    name: the one that the system lists the process under, at most 15 letters.
    """
    from pipeline.ingest.workers import worker

    with contextlib.suppress(OSError):  # where there is no /proc
        Path("/proc/self/comm").write_text(name, encoding="ascii")
    worker.start(memory_bytes)
    _start_s[:] = [time.process_time()]


def timed(task: Callable[..., Result], *arguments: Any) -> bytes:
    """Runs a task and returns its Timed, pickled: the process pool opens messages, and not what is in them.

    Raises: what the task raises, as an error that the run can open.
    """
    start_s = _start_s.pop() if _start_s else 0.0
    began = time.perf_counter()
    try:
        result = task(*arguments)
        done = Timed(result=result, seconds=time.perf_counter() - began, start_s=start_s)
        return pickle.dumps(done, protocol=5)
    except Exception as error:
        raise plain(error) from None


def probe_task(path: str, frames: tuple[str, ...], settings: IngestSettings, limit_s: float) -> Document:
    """Probes a file: calls pipeline.ingest.workers.worker.probe_task."""
    from pipeline.ingest.workers import worker

    return worker.probe_task(path, frames, settings, limit_s)


def survey_task(
    path: str,
    kind: Kind,
    indices: Sequence[int],
    settings: IngestSettings,
    text_layer: LayerUse,
    partly: bool,
    limit_s: float,
) -> Counter[PageKind]:
    """Returns how many pages are of each kind: calls pipeline.ingest.workers.worker.survey_task."""
    from pipeline.ingest.workers import worker

    return worker.survey_task(path, kind, indices, settings, text_layer, partly, limit_s)


def render_task(
    page: Page, settings: RenderSettings, layout: TileSettings, limit_s: float, slot: Slot | None = None
) -> ReadyPage | PageError:
    """Returns the page's views, or why there are none: calls pipeline.ingest.workers.worker.render_task."""
    from pipeline.ingest.workers import worker

    return worker.render_task(page, settings, layout, limit_s, slot)


def layer_task(ready: RenderedPage, settings: RenderSettings, limit_s: float) -> RenderedPage | PageError:
    """Returns a rendered page with its text layer judged: calls pipeline.ingest.workers.worker.layer_task."""
    from pipeline.ingest.workers import worker

    return worker.layer_task(ready, settings, limit_s)


def picture_task(
    page: Page, settings: RenderSettings, rotation_deg: int, look: "Look", limit_s: float
) -> "PagePicture | PageError":
    """Returns the page as a picture for people: calls pipeline.ingest.workers.worker.picture_task."""
    from pipeline.ingest.workers import worker

    return worker.picture_task(page, settings, rotation_deg, look, limit_s)


def figures_task(
    page: Page, settings: RenderSettings, places: "FigurePlaces", limit_s: float
) -> list[bytes] | PageError:
    """Returns the page's figures as JPEG files: calls pipeline.ingest.workers.worker.figures_task."""
    from pipeline.ingest.workers import worker

    return worker.figures_task(page, settings, places, limit_s)
