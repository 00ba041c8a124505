"""Pages of real documents to measure on, as a run renders them whole. Imports no torch."""

from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import islice

from pipeline.errors import ConfigError
from pipeline.stages.discover import probe
from pipeline.stages.failures import DocumentError, PageRenderError
from pipeline.stages.render import OpenDocuments, render
from pipeline.stages.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.stages.tile import tile
from pipeline.types import Document, Page, RenderedPage
from pipeline.walk import walk
from pipeline.worker import with_text_layers


def first_pages(folder: str, layout: TileSettings, count: int) -> list[RenderedPage]:
    """Returns the first `count` pages below a folder that show something, with their text layers.

    Raises: ConfigError where there is none.
    """
    with closing(_rendered(folder, layout)) as pages:
        found = list(islice(pages, count))
    if not found:
        raise ConfigError(f"--pages {folder}: no page that can be read; name a folder of PDFs or images")
    return found


def _rendered(folder: str, layout: TileSettings) -> Generator[RenderedPage]:
    with closing(OpenDocuments()) as documents:
        for page in _pages(folder):
            try:
                images = render([page], RenderSettings(), layout, documents)
            except (DocumentError, PageRenderError, OSError):
                continue
            ready = with_text_layers(tile(images, layout)[0], images[0].text_layers)
            if isinstance(ready, RenderedPage) and not ready.blank:
                yield ready


def _pages(folder: str) -> Iterator[Page]:
    for candidate in walk([folder], IngestSettings()):
        document = candidate if isinstance(candidate, Document) else probe(candidate.path, IngestSettings())
        if document.status == "ok" and document.sha256 is not None and document.kind is not None:
            for index in range(document.num_pages):
                yield Page(path=document.path, sha256=document.sha256, kind=document.kind, page_index=index)
