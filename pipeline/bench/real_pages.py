"""Supplies pages of real documents to measure on, rendered whole as in a run. Imports no torch."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice

from pipeline.documents.damage.failures import DocumentError, PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.errors import ConfigError
from pipeline.ingest.walk import walk
from pipeline.stages.discover import probe
from pipeline.stages.render import render
from pipeline.stages.tile import tile
from pipeline.types import Document, Page, RenderedPage


def first_pages(
    paths: Sequence[str], layout: TileSettings, count: int, option: str = "--pages"
) -> list[RenderedPage]:
    """Returns the first `count` pages of files and folders that are not blank, with their text layers.

    Raises: ConfigError where there is none, naming the option that gave the paths.
    """
    with closing(_rendered(paths, layout)) as pages:
        found = list(islice(pages, count))
    if not found:
        named = ", ".join(paths)
        raise ConfigError(f"{option} {named}: no page that can be read; name a folder of PDFs or images")
    return found


def readable_documents(paths: Sequence[str]) -> Iterator[Document]:
    """Yields the documents that have pages, in a run's order. Raises: ConfigError for a path that does not exist."""
    for candidate in walk(paths, IngestSettings()):
        document = candidate if isinstance(candidate, Document) else probe(candidate.path, IngestSettings())
        if document.status == "ok" and document.sha256 is not None and document.kind is not None:
            yield document


def _rendered(paths: Sequence[str], layout: TileSettings) -> Generator[RenderedPage]:
    with closing(OpenDocuments()) as documents:
        for page in _pages(paths):
            try:
                images = render([page], RenderSettings(), layout, documents)
            except (DocumentError, PageRenderError, OSError):
                continue
            yield from (ready for ready in tile(images, layout) if not ready.blank)


def _pages(paths: Sequence[str]) -> Iterator[Page]:
    for document in readable_documents(paths):
        assert document.sha256 is not None
        assert document.kind is not None
        for index in range(document.num_pages):
            yield Page(path=document.path, sha256=document.sha256, kind=document.kind, page_index=index)
