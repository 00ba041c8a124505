"""Makes sections of text lines: the chosen stretches, extended by misread marks around them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import WORD_GAP_CELLS
from ocr.layout.localize.matching.marks import SeenMarks, WrittenMarks
from ocr.layout.localize.matching.stretches import Stretches

_COLUMN_CELLS = 20  # a wider gap within a match is between columns
_SAME_LINE = 0.4  # the share of cells that agree where large text goes on in the next row
_MAX_ROWS = 8  # the most of one line, either way


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSection:
    """A section of a text line on the page.

    text: the number of its text. start, end: its marks in that text. score: how many of them were recognised.
    x0, y0, x1, y1: in cells. seen: the mark on the page that its first one is, from which on they follow one another;
    -1 where not as many were found as the text has.
    """

    text: int
    start: int
    end: int
    score: int
    x0: int
    y0: int
    x1: int
    y1: int
    seen: int = -1


def sections(
    chosen: Stretches, written: WrittenMarks, seen: SeenMarks, cells_HW: npt.NDArray[np.int16]
) -> list[LineSection]:
    """Returns the sections of a chain of stretches, in order: one for each, or several where wide gaps divide it."""
    claimed = bytearray(len(seen.mark))
    for first, last in zip(chosen.first.tolist(), chosen.last.tolist(), strict=True):
        claimed[first : last + 1] = b"\1" * (last + 1 - first)
    # Cells of another stretch are no part of a large line: equal lines close together are not one line.
    free_HW = cells_HW.copy()
    for row, x0, x1 in zip(chosen.row.tolist(), chosen.x0.tolist(), chosen.x1.tolist(), strict=True):
        free_HW[row, x0:x1] = 0
    texts, row_of, x0s, x1s = (values.tolist() for values in (written.text, seen.row, seen.x0, seen.x1))
    rows, scores = chosen.row.tolist(), chosen.score.tolist()
    ends_before = [(-1, 0), *zip(chosen.text.tolist(), chosen.end.tolist(), strict=True)]
    starts_after = [*zip(chosen.text.tolist(), chosen.start.tolist(), strict=True), (-1, 0)]
    firsts, lasts = chosen.first.tolist(), chosen.last.tolist()
    out: list[LineSection] = []
    for k, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        text, start = starts_after[k]
        end = ends_before[k + 1][1]
        before = ends_before[k][1] if ends_before[k][0] == text else bisect_left(texts, text)
        after = starts_after[k + 1][1] if starts_after[k + 1][0] == text else bisect_right(texts, text)
        cuts = [at for at in range(first + 1, last + 1) if x0s[at] - x1s[at - 1] > _COLUMN_CELLS]
        edges = [first, *cuts, last + 1]
        for low, high in pairwise(edges):
            left = _reach(row_of, x0s, x1s, claimed, low, -1, start - before) if low == first else low
            right = high - 1
            if high == last + 1:
                right = _reach(row_of, x0s, x1s, claimed, right, 1, after - end)
            own = cells_HW[rows[k], x0s[low] : x1s[high - 1]]
            y0, y1 = _rows(own, free_HW, rows[k], x0s[low])
            out.append(
                LineSection(
                    text=text,
                    start=start + low - first,
                    end=start + high - first,
                    score=round(scores[k] * (high - low) / (last + 1 - first)),
                    x0=x0s[left],
                    y0=y0,
                    x1=x1s[right],
                    y1=y1,
                    seen=low,
                )
            )
    return out


def _reach(
    rows: Sequence[int],
    x0s: Sequence[int],
    x1s: Sequence[int],
    claimed: bytearray,
    at: int,
    step: int,
    marks: int,
) -> int:
    """Returns the mark reached from one by up to this many steps along its row, without a wide gap."""
    for _ in range(marks):
        to = at + step
        if not 0 <= to < len(rows) or claimed[to] or rows[to] != rows[at]:
            break
        if x0s[max(at, to)] - x1s[min(at, to)] > WORD_GAP_CELLS:
            break
        at = to
    return at


def _rows(own: npt.NDArray[np.int16], free_HW: npt.NDArray[np.int16], row: int, x0: int) -> tuple[int, int]:
    """Returns the rows of cells [first, last) that show the same line: large text fills several."""
    there, filled = free_HW[:, x0 : x0 + len(own)], own > 0
    least = _SAME_LINE * max(1, int(np.count_nonzero(filled)))
    first, last = row, row + 1
    while first and row - first < _MAX_ROWS and _num_alike(own, filled, there[first - 1]) >= least:
        first -= 1
    while last < len(there) and last - row < _MAX_ROWS and _num_alike(own, filled, there[last]) >= least:
        last += 1
    return first, last


def _num_alike(
    own: npt.NDArray[np.int16], filled: npt.NDArray[np.bool_], other: npt.NDArray[np.int16]
) -> int:
    return int(np.count_nonzero((own == other) & filled))
