"""Runs worker tasks on the local files of objects, and gives their results the objects' names."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pipeline.documents import sniff
from pipeline.documents.settings import IngestSettings
from pipeline.documents.videos import containers
from pipeline.ingest.found import unreadable
from pipeline.ingest.objects.download import ObjectError
from pipeline.ingest.objects.spool import Spool
from pipeline.types import Document, EmbeddedPage, Page, RenderedPage
from storage.strings.urls import name_of

Result = TypeVar("Result")


def fetched(
    spool: Spool,
    url: str,
    task: Callable[[str], Future[Result]],
    failed: Callable[[str], Result],
    named: Callable[[Result], Result] | None = None,
) -> Future[Result]:
    """Returns the future of a task's result on an object's local file.

    failed: makes the result from the reason why the object cannot be had. named: what the result becomes.
    """
    outer: Future[Result] = Future()
    spool.use(url).add_done_callback(partial(_begin, spool, url, task, failed, named, outer))
    return outer


def refused(url: str, reason: str, settings: IngestSettings) -> Document:
    """Returns the document of an object that cannot be had: broken where its name makes it an input, else skipped."""
    name = name_of(url)
    is_input = sniff.by_name(name) or (settings.video and containers.by_name(name))
    # Without an ending its content would decide, which nobody has seen.
    return unreadable(url, "broken" if is_input or "." not in name else "skipped", reason)


def of_page(page: Page, result: Any) -> Any:
    """Returns a task's result with this page in place of its own; an error stays as it is."""
    return replace(result, page=page) if isinstance(result, RenderedPage | EmbeddedPage) else result


def _begin(
    spool: Spool,
    url: str,
    task: Callable[[str], Future[Result]],
    failed: Callable[[str], Result],
    named: Callable[[Result], Result] | None,
    outer: Future[Result],
    ready: Future[str],
) -> None:
    try:
        inner = task(ready.result())
    except BaseException as error:  # the future must be settled all the same
        spool.end_use(url)
        if not outer.set_running_or_notify_cancel():
            return
        if isinstance(error, ObjectError):
            outer.set_result(failed(str(error)))
        else:
            outer.set_exception(error)
        return
    inner.add_done_callback(partial(_end, spool, url, named, outer))


def _end(
    spool: Spool,
    url: str,
    named: Callable[[Result], Result] | None,
    outer: Future[Result],
    inner: Future[Result],
) -> None:
    spool.end_use(url)
    if not outer.set_running_or_notify_cancel():
        return
    try:
        result = inner.result()
        outer.set_result(result if named is None else named(result))
    except BaseException as error:
        outer.set_exception(error)
