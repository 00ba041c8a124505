"""Supplies pages of real documents to measure on, rendered whole as in a run, and copies of them. Imports no torch."""

import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import count, islice
from pathlib import Path

from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.errors import ConfigError
from pipeline.ingest.walk import walk
from pipeline.stages.discover import probe
from pipeline.stages.render import render, tile
from pipeline.types import InputFile, Page, RenderedPage


def first_pages(folder: str, layout: TileSettings, count: int) -> list[RenderedPage]:
    """Returns the first `count` pages below a folder that are not blank, with their text layers.

    Raises: ConfigError where there is none.
    """
    with closing(_rendered(folder, layout)) as pages:
        found = list(islice(pages, count))
    if not found:
        raise ConfigError(f"--pages {folder}: no page that can be read; name a folder of PDFs or images")
    return found


def readable_documents(paths: Sequence[str]) -> Iterator[InputFile]:
    """Yields the documents that have pages, in a run's order. Raises: ConfigError for a path that does not exist."""
    for candidate in walk(paths, IngestSettings()):
        document = candidate if isinstance(candidate, InputFile) else probe(candidate.path, IngestSettings())
        if document.status == "ok" and document.sha256 is not None and document.kind is not None:
            yield document


def _rendered(folder: str, layout: TileSettings) -> Generator[RenderedPage]:
    with closing(OpenDocuments()) as opened:
        for document in readable_documents([folder]):
            assert document.sha256 is not None
            assert document.kind is not None
            for index in range(document.num_pages):
                page = Page(path=document.path, sha256=document.sha256, kind=document.kind, page_index=index)
                try:
                    image = render(page, RenderSettings(), layout, opened)
                except (DocumentError, PageRenderError, OSError):
                    continue
                if not image.blank:
                    yield tile(image, layout)


def copy_pages(paths: Sequence[str], num_pages: int, folder: Path) -> int:
    """Copies documents into the folder until they have num_pages pages; returns how many pages they have.

    A run reads equal files once, so each copy ends in a comment of its own, which PDF and image readers ignore. The
    last PDF is cut to the pages that are still missing; an image with several frames is not.

    Raises: ConfigError where no document can be read.
    """
    documents = list(readable_documents(paths))
    if not documents:
        raise ConfigError(
            f"{', '.join(paths)}: no document that can be read; name PDFs, images, or folders of them"
        )
    made = 0
    for number in count():
        document = documents[number % len(documents)]
        target = folder / f"{number:05d}-{Path(document.path).name}"
        wanted = num_pages - made
        if document.kind == "pdf" and document.num_pages > wanted:
            import pymupdf

            with pymupdf.open(document.path) as cut:
                cut.select(list(range(wanted)))
                cut.save(target, garbage=1)
            made += wanted
        else:
            shutil.copyfile(document.path, target)
            made += document.num_pages
        with target.open("ab") as file:
            file.write(f"\n%copy {number}\n".encode())
        if made >= num_pages:
            return made
    raise AssertionError("count() does not end")
