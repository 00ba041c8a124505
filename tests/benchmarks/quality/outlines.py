"""Measures which lines of PDFs are read as headings, beside what their outlines (bookmarks) name:

python -m tests.benchmarks.quality.outlines FOLDER --pages 10

Of each package or folder below FOLDER one PDF, such as `quality build-unseen` unpacks from Debian's packages, if its
outline has eight entries or more; pages from the sixth on, by their text layers and as pictures. Outlines often name
sections alone, so not every other heading is wrong.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pymupdf

from ocr.line_reader.reading import LineReader
from ocr.model_files.locate import LINES, find_directory
from tests.benchmarks.quality.invoices import as_picture, by_layer, letters

_ENTRIES, _PAGES, _FIRST, _SURE = (
    8,
    10,
    5,
    6,
)  # the fewest; a document's; the first, from 0; letters that tell


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=10)
    args = parser.parse_args(given)
    files = chosen(args.folder)
    print(f"text layers of {len(files)} PDFs: {measured(files, args.pages, by_layer)}")
    reader = LineReader.load(find_directory("small") / LINES)
    print(f"pictures of them: {measured(files, args.pages, partial(as_picture, reader))}")
    return 0


def chosen(folder: Path) -> list[Path]:
    """Returns the PDFs that are read: the first of each folder that has an outline."""
    found: dict[Path, Path] = {}
    for file in sorted(folder.rglob("*.pdf")):
        with pymupdf.open(file) as document:
            if len(document) >= _PAGES and len(document.get_toc()) >= _ENTRIES:
                found.setdefault(file.parent, file)
    return list(found.values())


def measured(files: Sequence[Path], num_pages: int, read: Callable[[Any], str]) -> str:
    """Returns how many headings are those of outlines. read: a page -> its markdown."""
    found = named = others = 0
    for file in files:
        with pymupdf.open(file) as document:
            toc = [(page - 1, letters(title)) for _, title, page in document.get_toc() if letters(title)]
            first = min(_FIRST, len(document) // 4)
            for page in document.pages(first, min(len(document), first + num_pages)):
                wanted = [title for number, title in toc if number == page.number]
                named += len(wanted)
                for line in (line for line in read(page).splitlines() if line.startswith("#")):
                    head = letters(line)
                    alike = (at for at, title in enumerate(wanted) if _alike(head, title))
                    if (at := next(alike, None)) is None:
                        others += 1
                    else:
                        found, wanted = found + 1, wanted[:at] + wanted[at + 1 :]
    return f"{found} of {named} headings that outlines name, {others} others"


def _alike(head: str, title: str) -> bool:
    short, long = sorted((head, title), key=len)
    return short == long or (len(short) >= _SURE and short in long)


if __name__ == "__main__":
    main()
