"""Finds the lines that are rows of a table, by the white strips between its columns. Torch-free."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf

from ocr.imaging.measures import ONE_ROW, WORD_GAP
from ocr.paragraphs.line_kinds import is_numbered
from ocr.paragraphs.text_lines import CELL_GAP, Line, Span

# In type sizes: a strip wider than this is no better; the least width of all strips, over all rows; over two rows.
_WIDE, _EVIDENCE, _EVIDENCE_OF_TWO = 1.5, 2.2, 3.0
_FAR, _TIGHT = 4.0, 1.6  # how far below a row the next may be; how far it always may be
# The most from one line of a cell to the next; the same as a share of the distance of rows.
_CLOSE, _CLOSER = 1.45, 0.85
_SLACK = 0.5  # how far cells may be out of line
_LONGER = 3.0  # how much longer the last cell of a column may be
# Ratios: of the type sizes of two rows; of the largest distance of rows so far to the next.
_UNLIKE, _REGULAR = 1.5, 1.25
_ROWS = 3  # fewer rows must be further apart
_SPARED = 4  # one in this many lines may be out of line, and one more
# The least share of rows with text on both sides of a strip, and of a line's gaps that are at strips.
_HALF = 0.5


def table_ranges(lines: Sequence[Line], *, at_rules: bool = False) -> Iterator[tuple[int, int]]:
    """Yields the ranges [start, end) of lines that are tables. lines: in reading order.

    at_rules: rules tell already that it is no running text.
    """
    at = 0
    while at < len(lines):
        end = _end(lines, at)
        if at < end and not at_rules and _is_justified(lines, at, end):
            end = at
        if end > at:
            yield at, end
        at = max(end, at + 1)


def _end(lines: Sequence[Line], start: int) -> int:
    """Returns the end of the table that begins with a line; `start` where none does."""
    best, missed = start, 0
    table, strips = [lines[start]], _free(lines[start])
    for end in range(start + 1, len(lines)):
        line = lines[end]
        if len(table[0].spans) < 2 or not _follows(lines[start:end], line):
            break
        shared = _shared(strips, line)
        is_in_line, is_single = best == start or _is_in_line(line, table), len(line.spans) == 1
        if best > start and (_is_strange(line, table[-1], shared) or not (is_in_line or is_single)):
            break
        inner = _inner(strips, [*table, line])
        fills = is_single and any(line.x0 <= low and high <= line.x1 for low, high in inner)
        if fills or not is_in_line or not _inner(shared, [*table, line]):
            missed += 1  # text in one row's gap may be chance, or misread
            if missed > 1 + len(table) // _SPARED:
                break
            continue
        strips = shared
        table.append(line)
        if _is_evident(table, strips) and (not is_single or _continues(line, table[:-1])):
            best = end + 1
    return best


def _is_justified(lines: Sequence[Line], start: int, end: int) -> bool:
    """Returns whether two or three lines are of a paragraph, with narrow gaps."""
    before = start > 0 and lines[start - 1].block == lines[start].block
    after = end < len(lines) and lines[end - 1].block == lines[end].block
    if end - start > _ROWS or not (before or after):
        return False
    strips = _free(lines[start])
    for line in lines[start + 1 : end]:
        strips = _shared(strips, line) or strips
    wide = max((high - low for low, high in _inner(strips, lines[start:end])), default=0.0)
    return wide <= _WIDE * lines[start].size


def _gaps(line: Line) -> list[Span]:
    return [(a, b) for (_, a), (b, _) in pairwise(line.spans) if b - a >= WORD_GAP * line.size]


def _free(line: Line) -> list[Span]:
    """Returns the white in a line and beside it."""
    return [(-inf, line.x0), *_gaps(line), (line.x1, inf)]


def _shared(strips: Iterable[Span], line: Line) -> list[Span]:
    """Returns the white that a line leaves of strips."""
    both = [(max(a[0], b[0]), min(a[1], b[1])) for a in strips for b in _free(line)]
    return [(low, high) for low, high in both if high - low >= WORD_GAP * line.size]


def _inner(strips: Iterable[Span], lines: Sequence[Line]) -> list[Span]:
    """Returns the strips that lie within the lines' extent."""
    x0, x1 = min(line.x0 for line in lines), max(line.x1 for line in lines)
    return [(low, high) for low, high in strips if low > x0 and high < x1]


def _drops(rows: Sequence[Line]) -> list[float]:
    return [below.base - above.base for above, below in pairwise(rows)]


def _follows(rows: Sequence[Line], line: Line) -> bool:
    """Returns whether a line may be the next row: as far below the last one as the others are from each other."""
    size = max(rows[-1].size, line.size)
    if size > _UNLIKE * min(rows[-1].size, line.size):
        return False
    drops = _drops(rows)
    most = _REGULAR * max(drops) if len(drops) >= _ROWS - 1 else _FAR * size
    return ONE_ROW * size < line.base - rows[-1].base < min(_FAR * size, max(most, _TIGHT * size))


def _is_evident(table: Sequence[Line], strips: Sequence[Span]) -> bool:
    """Returns whether enough of the rows have text on both sides of the strips."""
    size = min(line.size for line in table)
    sums, inner = 0.0, _inner(strips, table)
    for low, high in inner:
        both = [line.x0 < low and high < line.x1 for line in table]
        if both[0] and sum(both) >= _HALF * len(table):
            sums += sum(both) * min(_WIDE, (high - low) / size)
    if sums < (_EVIDENCE if len(table) >= _ROWS else _EVIDENCE_OF_TWO):
        return False
    strange = sum(_is_strange(line, above, strips) for above, line in pairwise([table[0], *table]))
    return strange < _HALF * len(table) and (len(inner) > 1 or not is_numbered(table))


def _is_strange(line: Line, above: Line, strips: Sequence[Span]) -> bool:
    """Returns whether a line has gaps, but not at a table's strips or at the gaps of the line above."""
    gaps = [(a, b) for (_, a), (b, _) in pairwise(line.spans)]
    if max((b - a for a, b in gaps), default=0.0) < CELL_GAP * line.size:
        return False
    known = [*strips, *(_gaps(above) if above is not line else ())]
    aligned = sum(any(a[0] < b[1] and b[0] < a[1] for b in known) for a in gaps)
    return aligned < _HALF * len(gaps)


def _is_in_line(line: Line, table: Sequence[Line]) -> bool:
    """Returns whether a cell of a line, but for the first of several, is aligned with one of the table."""
    slack = _SLACK * line.size
    others = [cell for other in table for cell in other.spans]
    if len(line.spans) == 1:
        return any(abs(line.x0 - x0) < slack for x0, _ in others)
    return any(
        min(abs(a[0] - b[0]), abs(a[1] - b[1]), abs(sum(a) - sum(b)) / 2) < slack
        for a in line.spans[1:]
        for b in others
    )


def _continues(line: Line, table: Sequence[Line]) -> bool:
    """Returns whether a line with one cell belongs to a table, and is not text below it."""
    most = max(_CLOSE * line.size, _CLOSER * min(_drops(table), default=0.0))
    column = [x1 for other in table for x0, x1 in other.spans if abs(x0 - line.x0) < _SLACK * line.size]
    return line.base - table[-1].base < most and line.x1 < max(column, default=-inf) + _LONGER * line.size
