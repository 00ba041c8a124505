"""Runs worker processes that probe files and render pages, so that no file's content can stop the run.

Files are untrusted and their parsers are C. So every file is opened in a process of its own with a time limit and a
memory limit; a crash, a hang or running out of memory costs that page alone. Torch-free, here and in the workers.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.ingest.found import refused, unreadable
from pipeline.ingest.objects.download import ObjectError
from pipeline.ingest.objects.spool import Spool
from pipeline.ingest.workers import tasks
from pipeline.ingest.workers.failed_tasks import DRAWING, JUDGING, PLACING, RENDERING, PageWork, failure_of
from pipeline.ingest.workers.shared_memory import Arena
from pipeline.ingest.workers.task_pool import TaskPool
from pipeline.meter import Meter
from pipeline.stop import settle
from pipeline.types import (
    EmbeddedPage,
    InputFile,
    Kind,
    Page,
    PageKind,
    PageResult,
    ReadyPage,
    RenderedPage,
    SeenWords,
)
from storage.strings.urls import is_url
from storage.types import PageError

if TYPE_CHECKING:
    from pipeline.documents.page_picture import FigurePlaces, Look, PagePicture

Result = TypeVar("Result")


class FilePool(TaskPool):
    """A pool of processes that open files, of objects of a store local copies. spool: fetches and keeps these."""

    def __init__(self, spool: Spool, **settings: Any) -> None:
        super().__init__(**settings)
        self.spool = spool

    def __exit__(self, *raised: object) -> None:
        """Ends the processes at once, cancels unfinished tasks and removes what was fetched."""
        super().__exit__(*raised)
        self.spool.close()

    def _on_file(
        self,
        path: str,
        task: Callable[[str], Future[Result]],
        failed: Callable[[str], Result],
        named: Callable[[Result], Result] = lambda result: result,
    ) -> Future[Result]:
        """Returns the future of a task's result on the file at a path, or on the local file of an object.

        failed: makes the result from the reason why the object cannot be had. named: what the result becomes then.
        """
        if not is_url(path):
            return task(path)
        outer: Future[Result] = Future()

        def end(inner: Future[Result]) -> None:
            self.spool.end_use(path)
            if outer.set_running_or_notify_cancel():
                settle(outer, lambda: named(inner.result()))

        def begin(ready: Future[str]) -> None:
            inner: Future[Result] = Future()
            try:
                inner = task(ready.result())
            except ObjectError as error:
                inner.set_result(failed(str(error)))
            except BaseException as error:  # the future must be settled all the same
                inner.set_exception(error)
            inner.add_done_callback(end)

        self.spool.use(path).add_done_callback(begin)
        return outer


class WorkerPool(FilePool):
    """The pool of processes that open files. The caller bounds how many pages are in flight.

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
        self._ingest, self._render = ingest or IngestSettings(), render or RenderSettings()
        super().__init__(
            Spool(self._ingest),
            max_workers=max_workers,
            initializer=tasks.start,
            initargs=(memory_bytes,),
            starting=self._rendering,
        )
        self._tile = tile or TileSettings()
        self._page_timeout_s, self._probe_timeout_s = page_timeout_s, probe_timeout_s
        self.arena = None if page_bytes is None else Arena.where_possible(page_bytes)

    def __exit__(self, *raised: object) -> None:
        """Ends the workers at once and cancels unfinished tasks."""
        super().__exit__(*raised)
        if self.arena is not None:
            self.arena.close()

    @property
    def render_settings(self) -> RenderSettings:
        """The settings that pages are rendered with by default."""
        return self._render

    def probe(self, path: str, frames: tuple[str, ...] = ()) -> Future[InputFile]:
        """Probes a file; the future's result is an InputFile whatever goes wrong with the file.

        frames: the names of a video's frames, where path is their folder.
        The future raises WorkersError where no worker can be started.
        """
        limit_s = self._probe_timeout_s

        def failed(error: BaseException) -> InputFile:
            _, happened = failure_of(error, limit_s, "ingest.probe_timeout_s")
            return unreadable(path, "broken", f"inspecting the file {happened}")

        def probed(file: str) -> Future[InputFile]:
            arguments = (file, frames, self._ingest)
            return self._submit(tasks.probe_task, arguments, limit_s, failed, meter=self._discovering)

        return self._on_file(
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

        return self._on_file(path, surveyed, unknown)

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

        return self._on_file(page.path, run, unfetched, partial(of_page, page))


def of_page(page: Page, result: Any) -> Any:
    """Returns a task's result with this page in place of its own; an error stays as it is."""
    return replace(result, page=page) if isinstance(result, RenderedPage | EmbeddedPage) else result
