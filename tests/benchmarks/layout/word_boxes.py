"""Compares the boxes of words with those of PDFs' own text, on pages of the documents named:

python -m tests.benchmarks.layout.word_boxes --pages 200 DOCUMENTS/*.pdf

Pages are drawn and read line by line, as by `ocrbatch run --text-layer ignore`, and their text layers are extracted, as
by `ocrbatch run`. A word of the truth, as MuPDF sees it, is matched with the word of the same text that overlaps it
most.
"""

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pymupdf

from ocr.line_reader.page_text import lines_of_text, page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, find_directory
from ocr.types import Word
from pipeline.text_layer.page import judged

DPI = 200
Box = tuple[float, float, float, float]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=200, help="how many, drawn at random")
    args = parser.parse_args()
    chosen = list(pages(args.documents, args.pages))
    reader = LineReader.load(find_directory("small") / LINES)
    print(overlap_line("lines read", ((truth(page), read(page, reader)) for _, page in chosen)))
    print(overlap_line("text layers", ((truth(page), layer(document, page)) for document, page in chosen)))
    return 0


def pages(documents: Sequence[Path], count: int) -> Iterator[tuple[Any, Any]]:
    """Yields documents, each with a page of it that has a text."""
    opened = [pymupdf.open(path) for path in sorted(documents)]
    places = [(document, index) for document in opened for index in range(document.page_count)]
    random.Random(1).shuffle(places)
    for document, index in places:
        page = document[index]
        if count and len(page.get_text("words")) > 20 and not page.rotation:
            count -= 1
            yield document, page


def truth(page: Any) -> list[tuple[str, Box]]:
    """Returns the words of the page as MuPDF sees them, with their boxes in pixels."""
    scale = DPI / 72
    return [
        (word[4], tuple(side * scale for side in word[:4]))  # type: ignore[misc]
        for word in page.get_text("words")
    ]


def read(page: Any, reader: LineReader) -> Sequence[Word]:
    pixmap = page.get_pixmap(dpi=DPI, colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)[:, : pixmap.width]
    darkness = darkness_of(grey)
    return page_text(lines_of_text(reader.read(darkness, reader.find(darkness)))).words


def layer(document: Any, page: Any) -> Sequence[Word]:
    found = judged(document, page.number, DPI)
    return () if found is None else found.words


def overlap_line(name: str, compared: Iterator[tuple[Sequence[tuple[str, Box]], Sequence[Word]]]) -> str:
    """Returns a line on how the words found lie on those of the truth."""
    overlaps: list[float] = []
    num_true = num_covered = num_found = num_boxed = num_pages = 0
    for words, found in compared:
        boxed = [(word.text, word.box_px) for word in found if word.box_px is not None]
        num_pages, num_true = num_pages + 1, num_true + len(words)
        num_found, num_boxed = num_found + len(found), num_boxed + len(boxed)
        by_text = defaultdict(list)
        for text, box in boxed:
            by_text[text].append(box)
        own = [max((iou(box, other) for other in by_text[text]), default=0.0) for text, box in words]
        overlaps += [overlap for overlap in own if overlap > 0]
        num_covered += sum(
            overlap > 0 or any(iou(box, other) > 0 for _, other in boxed)
            for overlap, (_, box) in zip(own, words, strict=True)
        )
    return (
        f"{name}: {num_pages} pages, {num_found} words, {num_boxed / max(1, num_found):.1%} with a box; "
        f"median IoU {median(overlaps or [0.0]):.3f} of {len(overlaps)} with the same text; "
        f"{num_covered / max(1, num_true):.1%} of the truth's {num_true} words are under a box"
    )


def iou(a: Box, b: Box) -> float:
    """Returns the intersection over union of two boxes."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, width) * max(0.0, height)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return shared / (sum(areas) - shared) if shared else 0.0


if __name__ == "__main__":
    raise SystemExit(main())
