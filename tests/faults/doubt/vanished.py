"""Counts pages that pass for read although text of them vanished: `python -m tests.faults.doubt.vanished PAGE ...`.

Pictures of ordinary pages are read as they are, and with a finder that loses lines of four letters or more: one, three,
the two at the page's head, the one in the largest type; or a part of a long one: its right half, its first word, its
last letters. A page is whole if what vanished is in its text nevertheless.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from rapidfuzz import fuzz

from ocr.imaging import planes
from ocr.line_reader.faint_print import darkened
from ocr.line_reader.found_lines import Floats, ReadLine, TextLine
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, find_directory
from ocr.orientation.detect import Orientation
from pipeline.documents.settings import TileSettings
from pipeline.stages.read_lines import read_lines
from pipeline.stages.render import PageImage, tile
from pipeline.types import Page, PageResult, RenderedPage

_LEAST, _LONG = 4, 25
_SURE = 0.85  # of a line that vanishes
# Per cent of a line's letters that are in its page's text, one after the other, and of the letters at each of its ends.
_ALIKE, _ALIKE_AT_ENDS, _END = 90, 80, 12
Loss = Callable[[list[TextLine], Sequence[TextLine]], list[TextLine]]


class Forgetful(LineReader):
    """The shipped reader, which loses lines. losing: given the lines found and those that vanish, those that are left.

    gone: the left ends and the middles of what vanishes.
    """

    losing: Loss | None = None
    gone: Sequence[tuple[int, int]] = ()

    def find(self, darkness: Floats, of: Floats | None = None) -> list[TextLine]:
        """Returns the lines found but for those that vanish."""
        found = super().find(darkness, of)
        if self.losing is None:
            return found
        gone = [line for line in found if (line.left, round(line.middle)) in self.gone]
        return self.losing(found, gone)


def without(found: list[TextLine], gone: Sequence[TextLine]) -> list[TextLine]:
    """Returns the lines that are left."""
    return [line for line in found if line not in gone]


def cut(begin: float, end: float) -> Loss:
    """Returns what leaves of the lines that vanish only the part between two places: shares of their width."""

    def losing(found: list[TextLine], gone: Sequence[TextLine]) -> list[TextLine]:
        parts = []
        for line in gone:
            first, last = (round(share * (line.right - line.left)) for share in (begin, end))
            baseline = line.baseline[first:last]
            parts.append(replace(line, left=line.left + first, right=line.left + last, baseline=baseline))
        return [*without(found, gone), *parts]

    return losing


def read(grey: np.ndarray[tuple[int, int], np.dtype[np.uint8]], reader: LineReader) -> PageResult:
    """Returns a page's result. grey: [H, W] uint8."""
    page = Page(path="page.png", sha256="", kind="image", page_index=0)
    image = PageImage.of(page, planes.of_picture(Image.fromarray(grey)), Orientation(), None)
    rendered = tile(image, TileSettings(lines=True))
    assert isinstance(rendered, RenderedPage)
    return read_lines(rendered, reader)


def losses(lines: Sequence[ReadLine], random_: random.Random) -> Iterator[tuple[str, list[ReadLine], Loss]]:
    """Yields how text of a page vanishes: a name, the lines of which something does, and what is left of the page."""
    long = [its for its in lines if len(its.text) >= _LONG] or lines
    yield "a line", random_.sample(long, 1), without
    yield "three lines", random_.sample(lines, 3), without
    yield "the head", sorted(lines, key=lambda its: its.line.middle)[:2], without
    yield "large type", [max(lines, key=lambda its: its.line.size)], without
    yield "half a line", random_.sample(long, 1), cut(0, 0.5)
    line = random_.choice(long)
    if len(line.words) > 1:
        width, places = line.line.right - line.line.left, line.words
        yield "the first word", [line], cut((places[1].left - line.line.left) / width, 1)
        last = 0.6 * places[-1].left + 0.4 * places[-1].right
        yield "the last letters", [line], cut(0, (last - line.line.left) / width)


def lacking(result: PageResult, gone: Sequence[ReadLine]) -> list[str]:
    """Returns which lines of those that vanished are not in a page's text."""
    text = "".join(result.parsed.text.split()) if result.parsed else ""

    def is_there(letters: str) -> bool:
        least = _ALIKE if len(letters) > _END else _ALIKE_AT_ENDS
        return fuzz.partial_ratio(letters, text) >= least

    whole = [(its.text, "".join(its.text.split())) for its in gone]
    return [
        printed
        for printed, letters in whole
        if not all(map(is_there, (letters, letters[:_END], letters[-_END:])))
    ]


def main(paths: Sequence[str]) -> None:
    """Prints how many pages end with which status, as they are and by what vanished."""
    reader = Forgetful.load(find_directory("small") / LINES)
    assert isinstance(reader, Forgetful)
    seen: Counter[tuple[str, str]] = Counter()
    for path in paths:
        grey = np.asarray(Image.open(path).convert("L"))
        reader.losing = None
        darkness = darkness_of(darkened(grey))
        lines = [
            its
            for its in reader.read(darkness, reader.find(darkness))
            if sum(map(str.isalnum, its.text)) >= _LEAST and its.confidence > _SURE
        ]
        whole = read(grey, reader)
        seen["as it is", whole.status] += 1
        if whole.status != "ok" or len(lines) < 6:
            continue
        for name, chosen, losing in losses(lines, random.Random(Path(path).name)):
            reader.losing = losing
            reader.gone = [(its.line.left, round(its.line.middle)) for its in chosen]
            result = read(grey, reader)
            lacks = lacking(result, chosen)
            seen[name, result.status if lacks else "whole"] += 1
            if lacks:
                print(Path(path).name[:40], name, result.status, result.doubt or "", lacks, flush=True)
    for (name, status), number in sorted(seen.items()):
        print(f"{name}: {number} {status}")


if __name__ == "__main__":
    main(sys.argv[1:])
