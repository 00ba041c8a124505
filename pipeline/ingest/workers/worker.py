"""The tasks of the processes that open files, which run inside them. Never imports torch."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pipeline.documents import pdf
from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.page_picture import FigurePlaces, Look, PagePicture, page_figures, page_picture
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.ingest.found import unreadable
from pipeline.ingest.workers.failed_tasks import DRAWING, JUDGING, PLACING, RENDERING, PageWork
from pipeline.stages.discover import probe
from pipeline.stages.render import render, tile
from pipeline.stages.word_places import with_places
from pipeline.text_layer.page import embedded_page, taken, with_layer, with_script, with_seen
from pipeline.text_layer.rest import without_layer
from pipeline.types import (
    TAKEN_FIRST,
    TAKEN_LAST,
    EmbeddedPage,
    InputFile,
    Kind,
    LayerUse,
    Page,
    PageKind,
    ReadyPage,
    RenderedPage,
)
from storage.types import PageError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# State of the process: successive tasks tend to be pages of the same file.
_DOCUMENTS = OpenDocuments()
# Reasons why a page of an unchanged file has no pixels; a changed file's text layer says nothing about the page.
_UNDRAWN = frozenset({"broken", "illegible", "oversized", "unreadable"})


def probe_task(path: str, frames: tuple[str, ...], settings: IngestSettings) -> InputFile:
    """Returns the probed file; any failure makes it broken."""
    try:
        return probe(path, settings, frames)
    except MemoryError:
        raise  # told as those of all tasks
    except Exception as error:  # exceptions of C parsers cannot be pickled
        return unreadable(path, "broken", f"inspecting the file failed: {type(error).__name__}: {error}")


def survey_task(
    path: str,
    kind: Kind,
    indices: Sequence[int],
    settings: IngestSettings,
    text_layer: LayerUse,
    partly: bool,
) -> Counter[PageKind]:
    """Returns how many of the pages are of each kind, unread.

    embedded: has a text layer that a run takes instead of reading the page, if text_layer says that it takes any, and
    partly that it reads beside it what else the page shows; digital: has another text layer, such as recognised text
    under a scan; scanned: shows something, but no text; empty: draws nothing; unknown: cannot be told, as the page is
    damaged. The frames of an image, and videos, count as scanned: only pixels tell whether one is blank.
    Raises: DocumentError, OSError.
    """
    if kind != "pdf":
        return Counter[PageKind]({"scanned": len(indices)})
    takes_layers = text_layer in TAKEN_FIRST
    with closing(pdf.open_pdf(path, settings.passwords)) as document:
        return Counter(_kind(document, index, takes_layers, partly) for index in indices)


def _kind(document: Any, index: int, takes_layers: bool, partly: bool) -> PageKind:
    try:
        drawn = {name for name, _ in pdf.drawn(document, index)}
        if not drawn:
            return "empty"
        if not any(name.endswith("-text") for name in drawn):
            return "scanned"
        layer = taken(document, index, RenderSettings(), partly=partly)[0] if takes_layers else None
    except PageRenderError:  # the run will say what is wrong
        return "unknown"
    return "digital" if layer is None else "embedded"


def _task(work: PageWork) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result | PageError]]:
    """Makes a function a task: what it raises becomes the page's error, but for MemoryError, which the pool tells."""

    def task_of(function: Callable[Arguments, Result]) -> Callable[Arguments, Result | PageError]:
        @wraps(function)
        def tried(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result | PageError:
            try:
                return function(*arguments, **named)
            except PageRenderError as error:
                return PageError(stage=work.stage, category=error.category, message=error.message)
            except DocumentError as error:
                return PageError(stage=work.stage, category=error.status, message=error.reason)
            except OSError as error:
                reason = f"the file cannot be read any more: {error.strerror or error}"
                return PageError(stage=work.stage, category="unreadable", message=reason)
            except MemoryError:
                _DOCUMENTS.close()
                raise  # told as those of all tasks
            except Exception as error:  # exceptions of C parsers cannot be pickled
                _DOCUMENTS.close()
                return work.failure("internal", f"failed: {type(error).__name__}: {error}")

        return tried

    return task_of


@_task(JUDGING)
def layer_task(ready: RenderedPage, settings: RenderSettings) -> RenderedPage:
    """Returns a rendered page with its text layer judged. The page needs no views."""
    return with_layer(ready, settings, _DOCUMENTS)


@_task(DRAWING)
def picture_task(page: Page, settings: RenderSettings, rotation_deg: int, look: Look) -> PagePicture:
    """Returns the page as a picture for people."""
    return page_picture(page, settings, _DOCUMENTS, rotation_deg=rotation_deg, look=look)


@_task(DRAWING)
def figures_task(page: Page, settings: RenderSettings, places: FigurePlaces) -> list[bytes]:
    """Returns the page's figures as JPEG files."""
    return page_figures(page, settings, _DOCUMENTS, places)


words_task = _task(PLACING)(with_places)


@_task(RENDERING)
def render_task(page: Page, settings: RenderSettings, layout: TileSettings) -> ReadyPage:
    """Returns the page's views, or its text layer where that is preferred or is all there is.

    Where layers are taken last, that of a page with views is only judged when it is asked for (layer_task).
    """
    if settings.text_layer in TAKEN_FIRST:
        found = embedded_page(page, settings, _DOCUMENTS, partly=layout.lines)
        if found is not None:
            return found if found.layer.is_trustworthy else _with_rest(found, settings, layout)
    try:
        image = render(page, settings, layout, _DOCUMENTS)
    except PageRenderError as error:
        may_stand_in = settings.text_layer in TAKEN_LAST and error.category in _UNDRAWN
        found = embedded_page(page, settings, _DOCUMENTS, last=True) if may_stand_in else None
        if found is None:
            raise
        return replace(
            found, instead_of=PageError(stage="render", category=error.category, message=error.message)
        )
    ready = tile(image, layout)
    is_compared = settings.text_layer == "compare"
    ready = with_layer(ready, settings, _DOCUMENTS) if is_compared else with_script(ready)
    uses_layer = layout.words != "off" and settings.text_layer != "ignore"
    return with_seen(ready, settings, _DOCUMENTS) if uses_layer else ready


def _with_rest(found: EmbeddedPage, settings: RenderSettings, layout: TileSettings) -> EmbeddedPage:
    """Returns a page that shows more than its text layer holds, with the picture of that."""
    as_it_stands = settings if found.rotation_deg else replace(settings, orientation="off")
    try:
        rendered = tile(render(found.page, as_it_stands, layout, _DOCUMENTS), layout)
    except PageRenderError as error:
        return replace(
            found, missing=found.missing or f"what its pictures show was not read: {error.message}"
        )
    if rendered.grey is None:
        return found
    return replace(found, rest=without_layer(rendered, found.layer, found.width_px))
