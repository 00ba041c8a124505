"""Puts the text that the character head sees on a page into reading order, as a draft of the model's output."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ocr.character_head.head_letters import Cells, LetterWidths, Runs
from ocr.character_head.head_lines import HeadLine, find_lines

_CELL_WIDTH_PX, _CELL_HEIGHT_PX = 4, 16
_BREAK_GAP = 1.75  # type sizes between baselines, as the text layer's
_SLACK_ROWS = 0.6  # as rows of cells are coarse
_SAME_ROW = 0.75
_LEAST_LINES = 4
_LEAST_WIDTH = 40  # cells of a column of text
_FULL = 0.55  # the share of a column's width that half of its lines reach at least
_MAX_CROSSING = 0.4
_DEPTH = 3

Columns = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    place: HeadLine
    text: str
    size_rows: float


def head_text(cells_HW: Cells, characters: str) -> str:
    """Returns the text of a page as the head sees it.

    Lines are separated by a line feed, or two where the gap is larger; a wide gap within a line is a tab.
    cells_HW, characters: see ocr.character_head.second_opinion.read_cells.
    """
    places = find_lines(cells_HW)
    runs = [Runs.of(line.cells) for line in places]
    letter_widths = LetterWidths(runs, characters)
    read = [letter_widths.read(run) for run in runs]
    lines = [
        _Line(place=place, text=text, size_rows=em_cells * _CELL_WIDTH_PX / _CELL_HEIGHT_PX)
        for place, (text, em_cells) in zip(places, read, strict=True)
        if text
    ]
    return "\n\n".join(_written(column) for column in _columns(lines, _DEPTH))


def _columns(lines: Sequence[_Line], depth: int) -> Iterator[Sequence[_Line]]:
    """Yields the lines column by column, in reading order."""
    gutter = _gutter(lines) if depth else None
    if gutter is None:
        yield lines
        return
    left: list[_Line] = []
    right: list[_Line] = []
    across: list[_Line] = []
    for line in sorted(lines, key=lambda line: line.place.row):
        crosses = line.place.x0 < gutter < line.place.x1
        if crosses and (left or right):
            yield from _sides(left, right, depth)
            left, right = [], []
        if not crosses and across:
            yield across
            across = []
        (across if crosses else left if line.place.x1 <= gutter else right).append(line)
    yield from _sides(left, right, depth)
    if across:
        yield across


def _sides(left: list[_Line], right: list[_Line], depth: int) -> Iterator[Sequence[_Line]]:
    for side in (left, right):
        if side:
            yield from _columns(side, depth - 1)


def _gutter(lines: Sequence[_Line]) -> float | None:
    """Returns the gutter between two columns of running text, or None; a table's cells are too short for columns."""
    if len(lines) < 2 * _LEAST_LINES:
        return None
    x0 = np.array([line.place.x0 for line in lines])
    x1 = np.array([line.place.x1 for line in lines])
    best: tuple[int, float] | None = None
    for gutter in np.unique(x1):
        at = float(gutter) + 1.0
        left, right = x1 <= at, x0 >= at
        crossing = len(lines) - int(left.sum()) - int(right.sum())
        if min(left.sum(), right.sum()) < _LEAST_LINES or crossing > _MAX_CROSSING * len(lines):
            continue
        if all(_is_text(x0[side], x1[side]) for side in (left, right)) and (not best or crossing < best[0]):
            best = crossing, at
    return best and best[1]


def _is_text(x0: Columns, x1: Columns) -> bool:
    width = int(x1.max() - x0.min())
    return width >= _LEAST_WIDTH and float(np.median(x1 - x0)) >= _FULL * width


def _written(lines: Sequence[_Line]) -> str:
    """Returns one column's text."""
    rows: list[list[_Line]] = []
    for line in sorted(lines, key=lambda line: line.place.row):
        if rows and line.place.row - rows[-1][0].place.row < _SAME_ROW and _is_beside(line, rows[-1]):
            rows[-1].append(line)
        else:
            rows.append([line])
    text = ""
    before: list[_Line] | None = None
    for row in rows:
        row.sort(key=lambda line: line.place.x0)
        if before is not None:
            drop = row[0].place.row - before[0].place.row
            size = max(line.size_rows for line in (*row, *before))
            text += "\n" if drop < _BREAK_GAP * size + _SLACK_ROWS else "\n\n"
        text += "\t".join(line.text for line in row)
        before = row
    return text


def _is_beside(line: _Line, row: Sequence[_Line]) -> bool:
    return all(line.place.x1 <= other.place.x0 or other.place.x1 <= line.place.x0 for other in row)
