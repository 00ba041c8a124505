"""Runs worker tasks on the local files of objects, and gives their results the objects' names."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Never, TypeVar

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

    def settle(made: Callable[[], Result]) -> None:
        spool.end_use(url)
        if not outer.set_running_or_notify_cancel():
            return
        try:
            outer.set_result(made())
        except BaseException as error:  # the future must be settled all the same
            outer.set_exception(error)

    def end(inner: Future[Result]) -> None:
        settle(lambda: inner.result() if named is None else named(inner.result()))

    def begin(ready: Future[str]) -> None:
        try:
            inner = task(ready.result())
        except ObjectError as error:
            reason = str(error)
            settle(lambda: failed(reason))
        except BaseException as error:
            raised = error
            settle(lambda: _raise(raised))
        else:
            inner.add_done_callback(end)

    spool.use(url).add_done_callback(begin)
    return outer


def _raise(error: BaseException) -> Never:
    raise error


def refused(url: str, reason: str, settings: IngestSettings) -> Document:
    """Returns the document of an object that cannot be had: broken where its name makes it an input, else skipped."""
    name = name_of(url)
    is_input = sniff.by_name(name) or (settings.video and containers.by_name(name))
    # Without an ending its content would decide, which nobody has seen.
    return unreadable(url, "broken" if is_input or "." not in name else "skipped", reason)


def of_page(page: Page, result: Any) -> Any:
    """Returns a task's result with this page in place of its own; an error stays as it is."""
    return replace(result, page=page) if isinstance(result, RenderedPage | EmbeddedPage) else result
