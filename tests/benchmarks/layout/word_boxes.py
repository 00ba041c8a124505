"""Compares the boxes of words with those of PDFs' own text, on pages of the documents named:

python -m tests.benchmarks.layout.word_boxes --pages 200 DOCUMENTS/*.pdf

Pages are drawn and read line by line, as by `ocrbatch run --text-layer ignore`, and their text layers are extracted, as
by `ocrbatch run`. A word of the truth, as MuPDF sees it, is matched with the word of the same text that overlaps it
most. --model-text gives the words of a text with a page model's errors their boxes, as by `ocrbatch run` with another
model.
"""

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pymupdf

from ocr.line_reader.page_text import lines_of_text, page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, find_directory
from ocr.transcript.seen_words import boxes_among
from ocr.types import Word
from pipeline.text_layer.page import judged
from tests.benchmarks.layout.erring_text import written

DPI = 200
Box = tuple[float, float, float, float]
NEAR = 0.3  # an overlap under which a box is hardly on its word


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, default=200, help="how many, drawn at random")
    parser.add_argument("--model-text", action="store_true")
    args = parser.parse_args()
    chosen = list(pages(args.documents, args.pages))
    reader = LineReader.load(find_directory("small") / LINES)
    if args.model_text:
        print(erring_line("beside lines read", chosen, lambda _, page: read(page, reader)))
        print(erring_line("beside text layers", chosen, layer))
        return 0
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


def erring_line(
    name: str, chosen: Sequence[tuple[Any, Any]], see: Callable[[Any, Any], Sequence[Word]]
) -> str:
    """Returns a line on how the words of texts with errors lie on those of the truth. see: what is seen of a page."""
    rng = random.Random(5)
    overlaps: list[float] = []
    seconds: list[float] = []
    num_true = num_kept = num_wrong = num_other = num_invented = num_placed = 0
    for document, page in chosen:
        true = truth(page)
        own = written(page.get_text("words"), rng)
        seen = [(word.text, word.box_px) for word in see(document, page) if word.box_px is not None]
        start = time.process_time()
        found = boxes_among([word.text for word in own], seen)
        seconds.append(time.process_time() - start)
        num_true += sum(map(_says_something, (text for text, _ in true)))
        for word, box in zip(own, found, strict=True):
            if word.numbers and not any(_says_something(true[number][0]) for number in word.numbers):
                continue
            if not word.numbers:
                num_invented, num_placed = num_invented + 1, num_placed + (box is not None)
                continue
            num_kept += 1
            if box is None:
                continue
            overlaps.append(max(iou(true[number][1], box) for number in word.numbers))
            text, most = max(true, key=lambda other: iou(other[1], box))
            if iou(most, box) > overlaps[-1]:
                num_wrong += 1
                num_other += text not in {true[number][0] for number in word.numbers}
    num_boxed, num_far = len(overlaps), sum(overlap < NEAR for overlap in overlaps)
    return (
        f"{name}: {len(chosen)} pages, {num_kept} of {num_true} words written, {num_boxed / max(1, num_kept):.1%} "
        f"of these with a box; median IoU {median(overlaps or [0.0]):.3f}, {num_far / max(1, num_boxed):.2%} under "
        f"{NEAR:g}; {num_wrong / max(1, num_boxed):.2%} on another word, {num_other / max(1, num_boxed):.2%} on one of "
        f"another text; {num_placed} of {num_invented} invented words and marks with a box; "
        f"{1000 * median(seconds):.0f} CPU ms a page, at most {1000 * max(seconds):.0f}"
    )


def _says_something(word: str) -> bool:
    """Returns whether a word has a letter or digit: of the dots of a contents page each is like the next."""
    return any(map(str.isalnum, word))


def iou(a: Box, b: Box) -> float:
    """Returns the intersection over union of two boxes."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, width) * max(0.0, height)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return shared / (sum(areas) - shared) if shared else 0.0


if __name__ == "__main__":
    raise SystemExit(main())
