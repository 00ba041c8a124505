"""Finds the white strips between a table's columns, and compares lines with them."""

from collections.abc import Sequence
from itertools import pairwise

from ocr.imaging.measures import WORD_GAP
from ocr.line_reader.paragraphs.text_lines import Line, Span

# In type sizes.
_GAP = 0.7  # one of a line's gaps must be this wide for them to matter
_SLACK = 0.5  # how far cells may be out of line
_LONGER = 3.0  # how much longer the last cell of a column may be
_ALIGNED = 0.5  # the least share of a line's gaps at a strip or at the gap of another line


def shared_strips(strips: Sequence[Span] | None, line: Line) -> list[Span]:
    """Returns the white that a line leaves of some strips, or of the page's whole width for None."""
    least = WORD_GAP * line.size
    free = [(float("-inf"), line.x0), *_inner(line), (line.x1, float("inf"))]
    if strips is None:
        return [gap for gap in free if gap[1] - gap[0] >= least]
    shared: list[Span] = []
    for left, right in strips:  # hardly any pair overlaps
        for x0, x1 in free:
            low, high = left if left > x0 else x0, right if right < x1 else x1
            if high - low >= least:
                shared.append((low, high))
    return shared


def inner_strips(strips: Sequence[Span], lines: Sequence[Line]) -> list[Span]:
    """Returns the strips that lie within the lines' extent."""
    x0, x1 = min(line.x0 for line in lines), max(line.x1 for line in lines)
    return [(low, high) for low, high in strips if low > x0 and high < x1]


def _inner(line: Line) -> list[Span]:
    """Returns the gaps within a line."""
    return [(a[1], b[0]) for a, b in pairwise(line.spans)]


def both_sides(row: Sequence[Line], low: float, high: float) -> bool:
    """Returns whether a row has text both to the left and to the right of a strip."""
    spans = [span for line in row for span in line.spans]
    return any(span[1] <= low for span in spans) and any(span[0] >= high for span in spans)


def crossings(lines: Sequence[Line], low: float, high: float) -> int:
    """Returns how often text goes on from a strip's left to its right: once for two columns, once a row in tables."""
    sides = [span[0] >= high for line in lines for span in line.spans if span[1] <= low or span[0] >= high]
    return sum(after and not before for before, after in pairwise(sides))


def _cells(line: Line, strips: Sequence[Span]) -> list[Span]:
    """Returns the cells of a line: its spans between the strips."""
    cells = [line.spans[0]]
    for span in line.spans[1:]:
        if any(cells[-1][1] <= low and high <= span[0] for low, high in strips):
            cells.append(span)
        else:
            cells[-1] = (cells[-1][0], span[1])
    return cells


def fills_strip(line: Line, strips: Sequence[Span], table: Sequence[Line]) -> bool:
    """Returns whether a line fills some strip of the table from side to side."""
    return any(line.x0 <= low and high <= line.x1 for low, high in inner_strips(strips, [*table, line]))


def has_other_columns(line: Line, strips: Sequence[Span], above: Line | None) -> bool:
    """Returns whether the line has gaps, but not at the table's strips or at the gaps of the line above."""
    gaps = _inner(line)
    known = [*strips, *(_inner(above) if above else ())]
    aligned = sum(any(a[0] < b[1] and b[0] < a[1] for b in known) for a in gaps)
    return max((b - a for a, b in gaps), default=0.0) >= _GAP * line.size and aligned < _ALIGNED * len(gaps)


def is_in_line(line: Line, table: Sequence[Line], strips: Sequence[Span]) -> bool:
    """Returns whether a cell of the line other than the first is aligned with one of the table.

    A single cell is aligned where it begins at the same x as a cell of the table.
    """
    slack = _SLACK * line.size
    cells = _cells(line, strips)
    others = [cell for other in table for cell in _cells(other, strips)]
    if len(cells) == 1:
        return any(abs(cells[0][0] - other[0]) < slack for other in others)
    return any(
        min(abs(a[0] - b[0]), abs(a[1] - b[1]), abs(sum(a) - sum(b)) / 2) < slack
        for a in cells[1:]
        for b in others
    )


def fits_column(line: Line, table: Sequence[Line], strips: Sequence[Span]) -> bool:
    """Returns whether a line with one cell is not much longer than the cells of that column."""
    cells = _cells(line, strips)
    others = [cell for other in table for cell in _cells(other, strips)]
    x0, x1 = cells[0]
    column = [b for a, b in others if abs(a - x0) < _SLACK * line.size]
    return len(cells) > 1 or (bool(column) and x1 < max(column) + _LONGER * line.size)
