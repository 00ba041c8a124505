"""Runs worker tasks on files, on local ones in place of objects, and gives their results the objects' names."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

from pipeline.documents import sniff
from pipeline.documents.settings import IngestSettings
from pipeline.ingest.found import unreadable
from pipeline.ingest.objects.download import ObjectError
from pipeline.ingest.objects.spool import Spool
from pipeline.stop import settle
from pipeline.types import Document, EmbeddedPage, Page, RenderedPage
from storage.strings.urls import is_url, name_of

Result = TypeVar("Result")


def fetched(
    spool: Spool,
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
        spool.end_use(path)
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

    spool.use(path).add_done_callback(begin)
    return outer


def refused(url: str, reason: str, settings: IngestSettings) -> Document:
    """Returns the document of an object that cannot be had: broken where its name makes it an input, else skipped."""
    name = name_of(url)
    is_input = sniff.claimed(name, videos=settings.video)
    # Without an ending its content would decide, which nobody has seen.
    return unreadable(url, "broken" if is_input or "." not in name else "skipped", reason)


def of_page(page: Page, result: Any) -> Any:
    """Returns a task's result with this page in place of its own; an error stays as it is."""
    return replace(result, page=page) if isinstance(result, RenderedPage | EmbeddedPage) else result
