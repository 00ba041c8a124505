"""Pieces of lines: the chosen stretches, made longer by the marks around them that were misread or mis-seen."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ocr.placing.marks import SeenMarks, WrittenMarks
from ocr.placing.stretches import Stretches

_WORD_GAP_CELLS, _COLUMN_CELLS = 8, 20
_SAME_LINE = 0.4  # the share of cells that agree where large text goes on in the next row
_MAX_ROWS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Part of a line of text on the page.

    text: the number of its text. start, end: its marks there. score: how many of them were recognised.
    x0, y0, x1, y1: in cells.
    """

    text: int
    start: int
    end: int
    score: int
    x0: int
    y0: int
    x1: int
    y1: int


def pieces(
    chosen: Stretches, written: WrittenMarks, seen: SeenMarks, cells_HW: npt.NDArray[np.int16]
) -> list[Piece]:
    """The pieces of a chain of stretches, in its order: one each, or several where wide gaps part it."""
    claimed = np.zeros(len(seen.mark), bool)
    for first, last in zip(chosen.first, chosen.last, strict=True):
        claimed[first : last + 1] = True
    # What another stretch stands on is no part of a large line: equal lines close together are not one.
    free_HW = cells_HW.copy()
    for row, x0, x1 in zip(chosen.row, chosen.x0, chosen.x1, strict=True):
        free_HW[row, x0:x1] = 0
    starts = np.searchsorted(written.text, chosen.text, "left")
    ends = np.searchsorted(written.text, chosen.text, "right")
    out: list[Piece] = []
    for k in range(len(chosen)):
        text, start, end = int(chosen.text[k]), int(chosen.start[k]), int(chosen.end[k])
        first, last = int(chosen.first[k]), int(chosen.last[k])
        before = int(chosen.end[k - 1]) if k and chosen.text[k - 1] == text else int(starts[k])
        follows = k + 1 < len(chosen) and chosen.text[k + 1] == text
        after = int(chosen.start[k + 1]) if follows else int(ends[k])
        cuts = first + 1 + np.flatnonzero(seen.x0[first + 1 : last + 1] - seen.x1[first:last] > _COLUMN_CELLS)
        edges = [first, *(int(cut) for cut in cuts), last + 1]
        for low, high in pairwise(edges):
            left = _reach(seen, claimed, low, -1, start - before) if low == first else low
            right = _reach(seen, claimed, high - 1, 1, after - end) if high == last + 1 else high - 1
            own = cells_HW[chosen.row[k], seen.x0[low] : seen.x1[high - 1]]
            y0, y1 = _rows(own, free_HW, int(chosen.row[k]), int(seen.x0[low]))
            out.append(
                Piece(
                    text=text,
                    start=start + low - first,
                    end=start + high - first,
                    score=round(int(chosen.score[k]) * (high - low) / (last + 1 - first)),
                    x0=int(seen.x0[left]),
                    y0=y0,
                    x1=int(seen.x1[right]),
                    y1=y1,
                )
            )
    return out


def _reach(seen: SeenMarks, claimed: npt.NDArray[np.bool_], at: int, step: int, marks: int) -> int:
    """The mark reached from one by up to so many steps along its row, without a wide gap."""
    for _ in range(marks):
        to = at + step
        if not 0 <= to < len(seen.mark) or claimed[to] or seen.row[to] != seen.row[at]:
            break
        gap = seen.x0[max(at, to)] - seen.x1[min(at, to)]
        if gap > _WORD_GAP_CELLS:
            break
        at = to
    return at


def _rows(own: npt.NDArray[np.int16], free_HW: npt.NDArray[np.int16], row: int, x0: int) -> tuple[int, int]:
    """The rows of cells [first, last) that show the same line: large text fills several."""
    there = free_HW[:, x0 : x0 + len(own)]
    first, last = row, row + 1
    while first and row - first < _MAX_ROWS and _agree(own, there[first - 1]):
        first -= 1
    while last < len(there) and last - row < _MAX_ROWS and _agree(own, there[last]):
        last += 1
    return first, last


def _agree(own: npt.NDArray[np.int16], other: npt.NDArray[np.int16]) -> bool:
    return bool(((own == other) & (own > 0)).sum() >= _SAME_LINE * max(1, (own > 0).sum()))
