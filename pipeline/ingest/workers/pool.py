"""Runs worker processes that probe files and render pages, so that no file's content can stop the run.

Files are untrusted and their parsers are C. So every file is opened in a spawned process with a time limit and a memory
limit; a crash, a hang or running out of memory costs that page alone. Torch-free, here and in the workers.
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.ingest.workers import failed_tasks, tasks
from pipeline.ingest.workers.shared_memory import Arena
from pipeline.ingest.workers.task_pool import TaskPool
from pipeline.meter import Meter
from pipeline.types import Document, Kind, Page, PageKind, ReadablePage, ReadyPage
from storage.types import PageError

if TYPE_CHECKING:
    from pipeline.documents.page_picture import FigurePlaces, Look, PagePicture


class WorkerPool(TaskPool):
    """The pool of processes that open files. The caller bounds how many pages are in flight.

    page_timeout_s, probe_timeout_s: seconds that rendering a page and probing a file may take. memory_bytes: what a
    worker may allocate, None for no limit; enforced on Linux. page_bytes: the most that a page's views take; they come
    through shared memory where available. None: through a pipe.
    discovering, rendering: get the time that workers spend probing files, and on everything else, starting included.
    """

    def __init__(
        self,
        *,
        max_workers: int,
        ingest: IngestSettings,
        render: RenderSettings,
        tile: TileSettings,
        page_timeout_s: float = 60.0,
        probe_timeout_s: float = 120.0,
        memory_bytes: int | None = 4 << 30,
        page_bytes: int | None = None,
        discovering: Meter | None = None,
        rendering: Meter | None = None,
    ) -> None:
        self._discovering, self._rendering = discovering or Meter(), rendering or Meter()
        super().__init__(
            max_workers=max_workers,
            initializer=tasks.start,
            initargs=(memory_bytes,),
            starting=self._rendering,
        )
        self._ingest, self._render, self._tile = ingest, render, tile
        self._page_timeout_s, self._probe_timeout_s = page_timeout_s, probe_timeout_s
        self.arena = None if page_bytes is None else Arena.where_possible(page_bytes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the workers at once and cancels unfinished tasks."""
        super().__exit__(kind, error, trace)
        if self.arena is not None:
            self.arena.close()

    @property
    def render_settings(self) -> RenderSettings:
        """The settings that pages are rendered with by default."""
        return self._render

    def probe(self, path: str, frames: tuple[str, ...] = ()) -> Future[Document]:
        """Probes a file; the future's result is a Document whatever goes wrong with the file.

        frames: the names of a video's frames, where path is their folder.
        The future raises WorkersError where no worker can be started.
        """
        limit_s = self._probe_timeout_s

        def failed(error: BaseException) -> Document:
            reason = (
                f"inspecting the file {failed_tasks.failure_of(error, limit_s, 'ingest.probe_timeout_s')[1]}"
            )
            return failed_tasks.broken(path, reason)

        return self._submit(
            tasks.probe_task, (path, frames, self._ingest, limit_s), limit_s, failed, meter=self._discovering
        )

    def survey(self, path: str, kind: Kind, indices: Sequence[int]) -> Future[Counter[PageKind]]:
        """Returns the future of how many of the pages are of each kind, "unknown" whatever goes wrong."""
        limit_s = self._probe_timeout_s
        arguments = (path, kind, indices, self._ingest, self.render_settings.text_layer, limit_s)
        return self._submit(
            tasks.survey_task, arguments, limit_s, lambda error: failed_tasks.unknown(len(indices))
        )

    def render(
        self,
        page: Page,
        *,
        render: RenderSettings | None = None,
        tile: TileSettings | None = None,
    ) -> Future[ReadyPage | PageError]:
        """Renders a page; the future's result is its views, or a PageError whatever goes wrong with the page.

        render, tile: settings for this call, None for the default ones. The future raises WorkersError.
        """
        limit_s = self._page_timeout_s
        arguments = (page, render or self._render, tile or self._tile, limit_s)
        failed = partial(_not_rendered, limit_s)
        return self._submit(tasks.render_task, arguments, limit_s, failed, self.arena, self._rendering)

    def layer(self, ready: ReadablePage) -> Future[ReadablePage | PageError]:
        """Judges a page's text layer; the future's result is the page with its layer, or a PageError.

        ready: should be without views, as it is sent to the worker and back. The future raises WorkersError.
        """
        limit_s = self._page_timeout_s

        def failed(error: BaseException) -> ReadablePage | PageError:
            category, happened = failed_tasks.failure_of(error, limit_s, "render.page_timeout_s")
            return PageError(stage="layer", category=category, message=f"{failed_tasks.JUDGING} {happened}")

        return self._submit(
            tasks.layer_task, (ready, self._render, limit_s), limit_s, failed, meter=self._rendering
        )

    def picture(self, page: Page, *, rotation_deg: int, look: "Look") -> "Future[PagePicture | PageError]":
        """Draws a page for people; the future's result is a picture, or a PageError whatever goes wrong.

        rotation_deg: clockwise turn to be upright. The future raises WorkersError.
        """
        limit_s = self._page_timeout_s
        arguments = (page, self._render, rotation_deg, look, limit_s)
        failed = partial(_not_drawn, limit_s)
        return self._submit(tasks.picture_task, arguments, limit_s, failed, meter=self._rendering)

    def figures(self, page: Page, places: "FigurePlaces") -> Future[list[bytes] | PageError]:
        """Cuts figures out of a page; the future's result are JPEG files, or a PageError whatever goes wrong.

        The future raises WorkersError.
        """
        limit_s = self._page_timeout_s
        arguments = (page, self._render, places, limit_s)
        return self._submit(tasks.figures_task, arguments, limit_s, partial(_not_drawn, limit_s))


def _not_rendered(limit_s: float, error: BaseException) -> PageError:
    category, happened = failed_tasks.failure_of(error, limit_s, "render.page_timeout_s")
    return PageError(stage="render", category=category, message=f"{failed_tasks.RENDERING} {happened}")


def _not_drawn(limit_s: float, error: BaseException) -> PageError:
    category, happened = failed_tasks.failure_of(error, limit_s)
    return PageError(stage="render", category=category, message=f"{failed_tasks.DRAWING} {happened}")
