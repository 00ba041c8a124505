"""Copies documents until there are enough pages to measure, such that a run takes the copies for other documents."""

import shutil
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from pipeline.bench.real_pages import readable_documents
from pipeline.errors import ConfigError


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
            _cut(document.path, wanted, target)
            made += wanted
        else:
            shutil.copyfile(document.path, target)
            made += document.num_pages
        with target.open("ab") as file:
            file.write(f"\n%copy {number}\n".encode())
        if made >= num_pages:
            return made
    raise AssertionError("count() does not end")


def _cut(path: str, num_pages: int, target: Path) -> None:
    import pymupdf

    with pymupdf.open(path) as document:
        document.select(list(range(num_pages)))
        document.save(target, garbage=1)
