"""Runs worker processes that probe files and render pages, so that no file's content can stop the run.

Files are untrusted and their parsers are C. So every file is opened in a process of its own with a time limit and a
memory limit; a crash, a hang or running out of memory costs that page alone. Torch-free, here and in the workers.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.ingest.found import unreadable
from pipeline.ingest.objects.fetched import fetched, of_page, refused
from pipeline.ingest.objects.spool import Spool
from pipeline.ingest.workers import tasks
from pipeline.ingest.workers.failed_tasks import DRAWING, JUDGING, PLACING, RENDERING, PageWork, failure_of
from pipeline.ingest.workers.shared_memory import Arena
from pipeline.ingest.workers.task_pool import TaskPool
from pipeline.meter import Meter
from pipeline.types import Document, Kind, Page, PageKind, PageResult, ReadyPage, RenderedPage, SeenWords
from storage.strings.urls import is_url
from storage.types import PageError

if TYPE_CHECKING:
    from pipeline.documents.page_picture import FigurePlaces, Look, PagePicture


class WorkerPool(TaskPool):
    """The pool of processes that open files. The caller bounds how many pages are in flight.

    An object of a store, whose path is a URL, is fetched to a local file first, which the processes open in its stead.

    ingest, render, tile: None for what they are by default.
    page_timeout_s, probe_timeout_s: seconds that rendering a page and probing a file may take. memory_bytes: what a
    worker may allocate, None for no limit; enforced on Linux. page_bytes: the most that a page's views take; they come
    through shared memory where available. None: through a pipe.
    discovering, rendering: get the time that workers spend probing files, and on everything else, starting included.
    """

    def __init__(
        self,
        *,
        max_workers: int,
        ingest: IngestSettings | None = None,
        render: RenderSettings | None = None,
        tile: TileSettings | None = None,
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
        self._ingest, self._render = ingest or IngestSettings(), render or RenderSettings()
        self._tile = tile or TileSettings()
        self._page_timeout_s, self._probe_timeout_s = page_timeout_s, probe_timeout_s
        self.arena = None if page_bytes is None else Arena.where_possible(page_bytes)
        self._spool = Spool(self._ingest)

    def __exit__(self, *raised: object) -> None:
        """Ends the workers at once and cancels unfinished tasks."""
        super().__exit__(*raised)
        self._spool.close()
        if self.arena is not None:
            self.arena.close()

    @property
    def render_settings(self) -> RenderSettings:
        """The settings that pages are rendered with by default."""
        return self._render

    def hold(self, path: str, pages: Sequence[int]) -> None:
        """Keeps an object's local file for these of its pages; of a file it does nothing."""
        if is_url(path):
            self._spool.hold(path, pages)

    def release(self, page: Page) -> None:
        """Notes that a page is stored, or waits until others are: with its last one an object's local file goes."""
        if is_url(page.path):
            self._spool.release(page.path, page.page_index)

    def probe(self, path: str, frames: tuple[str, ...] = ()) -> Future[Document]:
        """Probes a file; the future's result is a Document whatever goes wrong with the file.

        frames: the names of a video's frames, where path is their folder.
        The future raises WorkersError where no worker can be started.
        """
        limit_s = self._probe_timeout_s

        def failed(error: BaseException) -> Document:
            _, happened = failure_of(error, limit_s, "ingest.probe_timeout_s")
            return unreadable(path, "broken", f"inspecting the file {happened}")

        def probed(file: str) -> Future[Document]:
            arguments = (file, frames, self._ingest)
            return self._submit(tasks.probe_task, arguments, limit_s, failed, meter=self._discovering)

        return fetched(
            self._spool,
            path,
            probed,
            lambda reason: refused(path, reason, self._ingest),
            lambda document: replace(document, path=path),
        )

    def survey(self, path: str, kind: Kind, indices: Sequence[int]) -> Future[Counter[PageKind]]:
        """Returns the future of how many of the pages are of each kind, "unknown" whatever goes wrong."""

        def unknown(_: str | BaseException) -> Counter[PageKind]:
            return Counter[PageKind]({"unknown": len(indices)})

        def surveyed(file: str) -> Future[Counter[PageKind]]:
            arguments = (file, kind, indices, self._ingest, self._render.text_layer, self._tile.lines)
            return self._submit(tasks.survey_task, arguments, self._probe_timeout_s, unknown)

        return fetched(self._spool, path, surveyed, unknown)

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
        asked = render or self._render, tile or self._tile
        return self._of_page(RENDERING, tasks.render_task, page, lambda its: (its, *asked), self.arena)

    def layer(self, ready: RenderedPage) -> Future[RenderedPage | PageError]:
        """Judges a page's text layer; the future's result is the page with its layer, or a PageError.

        ready: should be without views, as it is sent to the worker and back. The future raises WorkersError.
        """
        task = tasks.layer_task
        return self._of_page(JUDGING, task, ready.page, lambda its: (of_page(its, ready), self._render))

    def words(self, result: PageResult, seen: SeenWords) -> Future[PageResult | PageError]:
        """Finds where a result's words are among those seen on its page; the future's result is it, or a PageError.

        The future raises WorkersError.
        """
        limit_s = self._page_timeout_s
        failed = partial(PLACING.failed, limit_s)
        return self._submit(tasks.words_task, (result, seen), limit_s, failed, meter=self._rendering)

    def picture(self, page: Page, *, rotation_deg: int, look: "Look") -> "Future[PagePicture | PageError]":
        """Draws a page for people; the future's result is a picture, or a PageError whatever goes wrong.

        rotation_deg: clockwise turn to be upright. The future raises WorkersError.
        """
        task = tasks.picture_task
        return self._of_page(DRAWING, task, page, lambda its: (its, self._render, rotation_deg, look))

    def figures(self, page: Page, places: "FigurePlaces") -> Future[list[bytes] | PageError]:
        """Cuts figures out of a page; the future's result are JPEG files, or a PageError whatever goes wrong.

        The future raises WorkersError.
        """
        return self._of_page(DRAWING, tasks.figures_task, page, lambda its: (its, self._render, places))

    def _of_page(
        self,
        work: PageWork,
        task: Callable[..., Any],
        page: Page,
        arguments: Callable[[Page], tuple[Any, ...]],
        arena: Arena | None = None,
    ) -> Future[Any]:
        """Runs a task of a page, on its object's local file if it is one; the result has the page as it was given.

        arguments: the task's, of the page at its local path. arena: where the task puts its result.
        """
        limit_s = self._page_timeout_s
        failed = partial(work.failed, limit_s)

        def run(file: str) -> Future[Any]:
            its = page if file == page.path else replace(page, path=file)
            return self._submit(task, arguments(its), limit_s, failed, arena, self._rendering)

        def unfetched(reason: str) -> PageError:
            return PageError(stage="render", category="unreadable", message=reason)

        return fetched(self._spool, page.path, run, unfetched, partial(of_page, page))
