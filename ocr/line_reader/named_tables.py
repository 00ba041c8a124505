"""Finds the cells of a table whose lines the structure network names, with their rows and columns. Torch-free.

The network sees no pixels and takes each line whole, which may run over several cells: so where columns meet is told by
the white between the words of most rows too. Printed rules told nothing more: tables that they frame are grids.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ocr.imaging.measures import ONE_ROW
from ocr.paragraphs.line_tables import Table, cells_of, goes_on, white_strips
from ocr.paragraphs.text_lines import Line

# In type sizes: the least white between columns; how far cells of the first column begin from the left.
_STRIP, _INDENT = 0.4, 1.0
# Shares: rows that may fill a column's white, and those with several parts that show it as a gap; of these, those in
# which the network's columns differ, where white alone does not tell.
_CROSS, _OPEN, _DIFFER = 0.2, 0.5, 0.5
_APART = 1.1  # how much further apart rows are than lines of one
_FEWEST = 2  # rows with text in several columns: a formula or the axis of a plot has one


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRow:
    """Lines of a table beside each other, with the network's numbers.

    line: all of them as one. rows: of each. columns: of the line that each of its parts belongs to.
    """

    line: Line
    rows: frozenset[int]
    columns: Sequence[int]


def named_table(rows: Sequence[NamedRow]) -> Table:
    """Returns the cells; none where no columns are seen, or no two rows with text in several."""
    rows = sorted(rows, key=lambda row: row.line.base)
    x0 = min(row.line.parts[0][0] for row in rows)
    x1 = max(end for row in rows for _, end in row.line.parts) + 1
    edges = list(_edges(rows))
    joined = list(_joined(rows, x0))
    filled = (
        sum(any(line.parts[0][0] < x < line.parts[-1][1] for line in lines) for lines in joined)
        for x in edges
    )
    return tuple(cells_of(joined, [x0, *edges, x1])) if max(filled, default=0) >= _FEWEST else ()


def _joined(rows: Sequence[NamedRow], x0: float) -> Iterator[list[Line]]:
    """Yields the lines of each row of the table: several where the network says so, or where the first column is empty
    and rows are further apart. x0: where the table begins.

    Where also the first column goes on the network is right only if its rows are further apart than their lines.
    """
    pairs = [(above, row, row.line.base - above.line.base) for above, row in pairwise(rows)]
    begin = [row.line.x0 < x0 + _INDENT * row.line.size for row in rows[1:]]
    pitch = median([drop for (_, _, drop), begins in zip(pairs, begin, strict=True) if begins] or [0.0])
    step = median([drop for above, row, drop in pairs if not above.rows & row.rows] or [0.0])
    lines, numbers = [rows[0].line], rows[0].rows
    for (above, row, drop), begins in zip(pairs, begin, strict=True):
        is_named = bool(numbers & row.rows)
        is_same = (
            (is_named and _APART * drop < step)
            if begins
            else is_named or goes_on(above.line, row.line, pitch)
        )
        if is_same or drop < ONE_ROW * row.line.size:
            lines.append(row.line)
            numbers |= row.rows
        else:
            yield lines
            lines, numbers = [row.line], row.rows
    yield lines


def _edges(rows: Sequence[NamedRow]) -> Iterator[float]:
    """Yields where columns meet, from left to right."""
    several = [row for row in rows if len(row.line.parts) > 1]
    size = median(row.line.size for row in rows)
    for (low, high), _ in white_strips([row.line for row in several]):
        x = (low + high) / 2
        crossed = sum(any(a < x < b for a, b in row.line.parts) for row in rows)
        sides = [side for row in several if (side := _beside(row, x)) is not None]
        is_wide = high - low >= _STRIP * size and len(sides) >= _OPEN * len(several)
        is_named = sum(left != right for left, right in sides) >= _DIFFER * len(sides)
        if sides and crossed <= _CROSS * len(rows) and (is_wide or is_named):
            yield x


def _beside(row: NamedRow, x: float) -> tuple[int, int] | None:
    """Returns the columns of the parts at the left and at the right of a place; None where one is missing."""
    if any(a < x < b for a, b in row.line.parts):
        return None
    right = next((n for n, (a, _) in enumerate(row.line.parts) if a >= x), 0)
    return (row.columns[right - 1], row.columns[right]) if right else None
