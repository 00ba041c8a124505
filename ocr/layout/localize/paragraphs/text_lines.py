"""Finds lines of text and their places, by which blocks are split and joined."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import DESCENT, WORD_GAP
from ocr.layout.localize.matching.canvas import CELL_HEIGHT_PX, CELL_WIDTH_PX, Canvas
from ocr.layout.localize.matching.text_boxes import place
from ocr.layout.localize.printed_text import as_drawn
from ocr.layout.quantiles import median
from ocr.types import Block

_ENOUGH = 0.45  # the least share of a line's marks for its place to be trusted
_MONO, _MONO_GAP = 0.5, 1.5  # letters this wide may be typewriter's, whose blanks are a letter wide
_CLOSE, _FAR = 1.2, 4.0  # type sizes from the line before to the line after
_NEAR = 4  # lines before and after that count as neighbours
_DOUBTFUL = 1.25  # how far the ink's type size may be off for the baseline to be right
_LINE = re.compile(r"[^\n]+")

Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a block. block: its block's number; start, end: its characters in that block's text.

    spans: [x0, x1) of its text between gaps wider than those of words; none where its place is not known.
    base, size: its baseline and type size; sure: whether they are trusted. All in page pixels.
    """

    block: int
    start: int
    end: int
    text: str
    spans: tuple[Span, ...] = ()
    base: float = 0.0
    size: float = 0.0
    sure: bool = False

    @property
    def x0(self) -> float:
        """Its left end in page pixels; only where its place is known."""
        return self.spans[0][0]

    @property
    def x1(self) -> float:
        """Its right end in page pixels; only where its place is known."""
        return self.spans[-1][1]

    @property
    def letter_px(self) -> float:
        """The mean width of a character in page pixels."""
        return sum(x1 - x0 for x0, x1 in self.spans) / max(1, len(self.text) - len(self.spans) + 1)


def find_lines(
    blocks: Sequence[Block], cells_HW: npt.NDArray[np.int16], characters: str, canvas: Canvas
) -> list[Line]:
    """Returns every line of the blocks, in order.

    cells_HW, characters: see ocr.layout.localize.matching.text_boxes.place.
    """
    written = [
        Line(block=number, start=match.start(), end=match.end(), text=match[0].strip())
        for number, block in enumerate(blocks)
        for match in _LINE.finditer(block.text)
        if match[0].strip()
    ]
    places = place([as_drawn(line.text) for line in written], cells_HW, characters, canvas)
    found = [
        _placed(line, spot.box_px, cells_HW, canvas)
        if spot.box_px is not None and spot.share >= _ENOUGH
        else line
        for line, spot in zip(written, places, strict=True)
    ]
    return _with_sizes(_without_jumps(found))


def _placed(
    line: Line, box_px: tuple[int, int, int, int], cells_HW: npt.NDArray[np.int16], canvas: Canvas
) -> Line:
    x0, y0, x1, y1 = box_px
    size = float(y1 - y0)
    base = y1 - DESCENT * size
    left, top = canvas.from_page((x0, y0))
    right, bottom = canvas.from_page((x1, base))
    first, last = int(left // CELL_WIDTH_PX), int(right // CELL_WIDTH_PX) + 1
    low, high = int(max(top, 0) // CELL_HEIGHT_PX), int(max(bottom, 0) // CELL_HEIGHT_PX) + 1
    there = cells_HW[low:high, first:last] > 0
    filled = np.flatnonzero(there[np.count_nonzero(there, 1).argmax()]) + first
    letter = (x1 - x0) / len(line.text)
    least = max(WORD_GAP * size, _MONO_GAP * letter if letter > _MONO * size else 0.0)
    edges = [x0, *_gaps(filled, least, canvas), x1]
    spans = tuple((a, b) for a, b in zip(edges[::2], edges[1::2], strict=True))
    return replace(line, spans=spans, base=base, size=size)


def _gaps(filled: npt.NDArray[np.int64], least_px: float, canvas: Canvas) -> list[float]:
    """Returns starts and ends of gaps between filled cells, in turn, in page pixels."""
    edges: list[float] = []
    before = np.flatnonzero(np.diff(filled) > 1)
    for left, right in zip(filled[before].tolist(), filled[before + 1].tolist(), strict=True):
        start = canvas.to_page_x((left + 1) * CELL_WIDTH_PX)
        end = canvas.to_page_x(right * CELL_WIDTH_PX)
        if end - start >= least_px:
            edges += [start, end]
    return edges


def _without_jumps(lines: Sequence[Line]) -> list[Line]:
    """Returns the lines, dropping the places of those out of order between two neighbours that follow each other."""
    out = list(lines)
    for at in range(1, len(lines) - 1):
        before, line, after = out[at - 1], lines[at], lines[at + 1]
        if not (before.spans and line.spans and after.spans):
            continue
        size = max(before.size, after.size)
        starts = [before.x0, line.x0, after.x0]
        follows = _CLOSE * size < after.base - before.base < _FAR * size
        column = before.block == after.block or max(starts) - min(starts) < size
        if follows and column and not before.base < line.base < after.base:
            out[at] = replace(line, spans=(), base=0.0, size=0.0)
    return out


def _with_sizes(lines: Sequence[Line]) -> list[Line]:
    """Returns the lines with sizes that letters' widths or neighbours confirm, as ink alone may mislead."""
    out = list(lines)
    measures = [(line.size, line.letter_px) if line.spans else None for line in lines]
    for at, (line, own) in enumerate(zip(lines, measures, strict=True)):
        if own is not None:
            near = [other for other in measures[max(0, at - _NEAR) : at + _NEAR + 1] if other is not None]
            usual = median([size for size, _ in near])
            letter = median([letter_px for _, letter_px in near])
            size = median([line.size, usual * own[1] / letter, usual])
            sure = max(size, line.size) <= _DOUBTFUL * min(size, line.size)
            out[at] = replace(line, size=size, sure=sure)
    return out
