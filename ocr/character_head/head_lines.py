"""Finds lines of text among the character head's cells.

Rows of cells are cut at wide gaps; runs of neighbouring rows that show the same characters are one line, as with
large type and lines a little askew. At each place the fuller of a line's rows is taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ocr.character_head.head_letters import Cells

WIDE_GAP = 7  # empty cells: more than any space within a line has
_AGREE = 0.4  # the least share of agreeing cells among those filled in both rows
_AROUND = 6
_LEAST_CELLS = 2
_CELL_WIDTH_PX, _CELL_HEIGHT_PX = 4, 16
_MEAN_WIDTH, _BAND = 0.52, 0.72  # of an em: a letter's width, and from the baseline to a capital's height
_SLACK = 2  # cells by which the ends of a line askew overlap

CellRun = tuple[int, int, int]  # row, x0, x1


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadLine:
    """A section of a line without wide gaps.

    Cells: [x1 - x0]; row: its place in rows of cells; rows: how many it has.
    """

    cells: Cells
    x0: int
    x1: int
    row: float
    rows: int


def find_lines(cells_HW: Cells) -> list[HeadLine]:
    """Returns all sections of lines, top to bottom and left to right."""
    runs = _runs(cells_HW)
    found = [_line(cells_HW, group) for group in _joined(cells_HW, runs)]
    lines = [line for line in found if np.count_nonzero(line.cells) >= _LEAST_CELLS]
    return sorted(lines, key=lambda line: (line.row, line.x0))


def _runs(cells_HW: Cells) -> list[CellRun]:
    """Returns the runs of each row between wide gaps."""
    row, x = np.nonzero(cells_HW)
    if not len(row):
        return []
    breaks = np.flatnonzero((np.diff(row) != 0) | (np.diff(x) > WIDE_GAP)) + 1
    first, last = np.append(0, breaks), np.append(breaks, len(row)) - 1
    return list(zip(row[first].tolist(), x[first].tolist(), (x[last] + 1).tolist(), strict=True))


def _joined(cells_HW: Cells, runs: list[CellRun]) -> list[list[CellRun]]:
    """Returns the runs grouped into lines; those that agree in most cells are joined first."""
    links = sorted(_links(cells_HW, runs), reverse=True)
    highest = _highest(cells_HW, runs)
    groups = {number: [number] for number in range(len(runs))}
    group = list(range(len(runs)))
    for _, upper, lower in links:
        a, b = groups[group[upper]], groups[group[lower]]
        most = max(highest[upper], highest[lower])
        if a is b or any(_is_above(runs[i], runs[j], most) for i in a for j in b):
            continue
        gone = group[lower]
        for number in b:
            group[number] = group[upper]
        a.extend(groups.pop(gone))
    return [[runs[number] for number in numbers] for numbers in groups.values()]


def _links(cells_HW: Cells, runs: list[CellRun]) -> Iterator[tuple[int, int, int]]:
    """Yields (cells that agree, upper, lower) for runs in neighbouring rows that show the same characters."""
    filled = cells_HW > 0
    both = _sums(filled[1:] & filled[:-1])
    same = np.zeros((3, *both.shape), np.int64)
    for move in (-1, 0, 1):  # a line may be askew
        same[move] = _sums(filled[:-1] & (np.roll(cells_HW[1:], move, axis=1) == cells_HW[:-1]))
    by_row: dict[int, list[int]] = {}
    for number, (row, _, _) in enumerate(runs):
        by_row.setdefault(row, []).append(number)
    for number, (row, x0, x1) in enumerate(runs):
        for other in by_row.get(row - 1, ()):
            left, right = max(x0, runs[other][1]), min(x1, runs[other][2])
            if left < right:
                agreed = int((same[:, row - 1, right] - same[:, row - 1, left]).max())
                if agreed and agreed >= _AGREE * (both[row - 1, right] - both[row - 1, left]):
                    yield agreed, other, number


def _sums(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    sums: npt.NDArray[np.int64] = np.pad(flags.cumsum(1), ((0, 0), (1, 0)))
    return sums


def _highest(cells_HW: Cells, runs: list[CellRun]) -> list[int]:
    """Returns the most rows that a line of each run's type size may reach into."""
    filled = cells_HW > 0
    starts = filled.copy()
    starts[:, 1:] &= cells_HW[:, 1:] != cells_HW[:, :-1]
    cells, letters = _sums(filled), _sums(starts)
    row, x0, x1 = np.array(runs, np.int64).reshape(-1, 3).T
    width = (cells[row, x1] - cells[row, x0]) / np.maximum(1, letters[row, x1] - letters[row, x0])
    em_px = width * (_CELL_WIDTH_PX / _MEAN_WIDTH)
    most: list[int] = (2 + (_BAND / _CELL_HEIGHT_PX * em_px).astype(np.int64)).tolist()
    return most


def _is_above(a: CellRun, b: CellRun, most: int) -> bool:
    """Returns whether one run is above the other, too far away for one line."""
    return abs(a[0] - b[0]) >= most and min(a[2], b[2]) - max(a[1], b[1]) > _SLACK


def _line(cells_HW: Cells, runs: list[CellRun]) -> HeadLine:
    rows = sorted({row for row, _, _ in runs})
    x0, x1 = min(run[1] for run in runs), max(run[2] for run in runs)
    own = np.zeros((len(rows), x1 - x0), np.int16)
    for row, left, right in runs:
        own[rows.index(row), left - x0 : right - x0] = cells_HW[row, left:right]
    filled = own > 0
    total = filled.sum(1)
    if len(rows) == 1:
        return HeadLine(cells=own[0], x0=x0, x1=x1, row=float(rows[0]), rows=1)
    counts = _around(filled) + 1.5 * (np.arange(len(rows)) == total.argmax())[:, None]
    cells: npt.NDArray[np.int16] = np.take_along_axis(own, counts.argmax(0)[None], 0)[0]
    middle = float(np.average(rows, weights=total))
    return HeadLine(cells=cells, x0=x0, x1=x1, row=middle, rows=len(rows))


def _around(flags: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Returns how many flags of the same row are set within a few cells."""
    padded = np.pad(flags.astype(np.int64), ((0, 0), (_AROUND + 1, _AROUND))).cumsum(1)
    width = 2 * _AROUND + 1
    sums: npt.NDArray[np.int64] = padded[:, width:] - padded[:, :-width]
    return sums
