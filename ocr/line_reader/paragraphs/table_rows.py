"""Finds lines that are rows of a table, by the white strips between its columns."""

from collections.abc import Sequence
from itertools import pairwise

from ocr.imaging.measures import ONE_ROW
from ocr.line_reader.paragraphs.line_kinds import is_numbered
from ocr.line_reader.paragraphs.table_columns import (
    both_sides,
    crossings,
    fills_strip,
    fits_column,
    has_other_columns,
    inner_strips,
    is_in_line,
    shared_strips,
)
from ocr.line_reader.paragraphs.text_lines import Line, Span

# In type sizes.
_WIDE = 1.5  # a strip wider than this is no better
_EVIDENCE, _EVIDENCE_OF_TWO = 2.2, 3.0  # the least width of all strips, over all rows; over two rows
_BELOW = 4.0  # how far below the last row the next may be
_TIGHT = 1.6  # how far below it always may be
_CLOSE = 1.45  # the most from one line of a cell to the next
_CLOSER = 0.85  # the same as a share of the distance of rows
_REGULAR = 1.25  # how much further than the largest distance so far the next row may be
_ABOVE = 8.0  # how far a cell's first line may be above the last line of the cell before
_SIZES = 1.5  # how much larger one line may be than another
_ROWS = 3  # fewer rows must be further apart
_SHARE = 0.5  # the least share of rows with text on both sides of a strip
_STRANGERS = 0.5  # the share of lines with gaps elsewhere from which it is no table
_SPARED = 4  # one in this many lines may be out of line, and one more
_CELL_LINES = 4  # the most lines of a cell
_LAST = 12  # the lowest line is among this many last ones
_SHOWS = 40  # lines of a table after which it is known to be one: a till roll would be looked through from each line


def find_tables(lines: Sequence[Line]) -> list[tuple[int, int]]:
    """Returns the ranges [start, end) of lines that are tables, in order."""
    found, at = [], 0
    while at < len(lines):
        end = _whole(lines, at, _end(lines, at))
        if at < end and not _heads(lines[at], lines[at + 1 : end]) and _end(lines, at + 1) >= end:
            end = at  # a line above a table that happens to have a gap where its rows have one
        if end > at:
            found.append((at, end))
        at = max(end, at + 1)
    return found


def _heads(line: Line, rows: Sequence[Line]) -> bool:
    """Returns whether the cells of a table's first line are aligned with the others'."""
    placed = [row for row in rows if row.spans]
    return is_in_line(line, placed, _all_share([line, *placed]))


def _whole(lines: Sequence[Line], start: int, end: int) -> int:
    """Returns `end`, or `start` for two or three lines of a paragraph with narrow gaps, which are justified text."""
    before = start > 0 and lines[start - 1].block == lines[start].block
    after = end < len(lines) and lines[end - 1].block == lines[end].block
    if start == end or end - start > _ROWS or not (before or after):
        return end
    placed = [line for line in lines[start:end] if line.spans]
    wide = max((high - low for low, high in inner_strips(_all_share(placed), placed)), default=0.0)
    return end if wide > _WIDE * placed[0].size else start


def _all_share(lines: Sequence[Line]) -> list[Span]:
    """Returns the strips that lines share; a line that would leave none is skipped."""
    strips: list[Span] = []
    for line in lines:
        strips = shared_strips(strips or None, line) or strips
    return strips


def _end(lines: Sequence[Line], start: int) -> int:
    """Returns the end of the table that begins with this line; `start` where none does."""
    strips: list[Span] | None = None
    table: list[Line] = []
    seen: list[Line] = []
    best, missed = start, 0
    if not lines[start].spans:
        return start
    for end in range(start, len(lines)):
        line = lines[end]
        if not line.spans:
            continue
        if seen and not _near(seen, line):
            break
        seen.append(line)
        if _is_column(seen[-_CELL_LINES - 1 :]):
            break
        shared = shared_strips(strips, line)
        if best > start and has_other_columns(line, shared, table[-1]):
            break
        in_line = best == start or is_in_line(line, table, shared)
        if len(line.spans) > 1 and not in_line:
            break
        fills = len(line.spans) == 1 and fills_strip(line, strips or [], table)
        if table and (fills or not in_line or not inner_strips(shared, [*table, line])):
            missed += 1  # text in one row's gap may be chance, or misread
            if missed > 1 + len(table) // _SPARED:
                break
            continue
        if best == start and len(table) >= _SHOWS:
            break
        strips = shared
        table.append(line)
        if _is_table(table, strips) and (len(line.spans) > 1 or _goes_on(line, table[:-1], strips)):
            best = end + 1
    return best


def _goes_on(line: Line, table: Sequence[Line], strips: Sequence[Span]) -> bool:
    """Returns whether a line with one cell belongs to the table, and is not text below it."""
    drops = [below.base - above.base for above, below in pairwise(table)]
    drop = line.base - table[-1].base
    close = drop < max(_CLOSE * line.size, _CLOSER * min((d for d in drops if d > 0), default=0.0))
    return close and fits_column(line, table, strips)


def _is_column(lines: Sequence[Line]) -> bool:
    """Returns whether lines are below each other without gaps, and too many for one cell."""
    single = all(len(line.spans) == 1 and abs(line.x0 - lines[0].x0) < line.size for line in lines)
    return len(lines) > _CELL_LINES and single and all(a.base < b.base for a, b in pairwise(lines))


def _near(table: Sequence[Line], line: Line) -> bool:
    """Returns whether a line continues a table: below it, or beside its last lines."""
    last = table[-1]
    lowest = max(other.base for other in table[-_LAST:])
    size = max(last.size, line.size)
    if last.sure and line.sure and size > _SIZES * min(last.size, line.size):
        return False
    if line.base > last.base + ONE_ROW * size:
        drops = [below.base - above.base for above, below in pairwise(table)]
        most = _REGULAR * max(drops) if len(drops) >= _ROWS - 1 else _BELOW * size
        return line.base - lowest < min(_BELOW * size, max(most, _TIGHT * size))
    return line.x0 > last.x0 and last.base - line.base < _ABOVE * size


def _is_table(lines: Sequence[Line], strips: Sequence[Span]) -> bool:
    """Returns whether enough of the rows have text on both sides of the strips."""
    size = min(line.size for line in lines)
    rows = _rows(lines)
    kept = []
    for low, high in inner_strips(strips, lines):
        both = [both_sides(row, low, high) for row in rows]
        if both[0] and sum(both) >= _SHARE * len(rows) and crossings(lines, low, high) > 1:
            kept.append(sum(both) * min(_WIDE, (high - low) / size))
    pairs = zip([None, *lines[:-1]], lines, strict=True)
    if sum(has_other_columns(line, strips, above) for above, line in pairs) >= _STRANGERS * len(lines):
        return False  # justified text
    enough = _EVIDENCE if len(rows) >= _ROWS else _EVIDENCE_OF_TWO
    return sum(kept) >= enough and not is_numbered(lines)


def _rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Returns the lines grouped by their baselines."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.base):
        if rows and line.base - rows[-1][0].base < ONE_ROW * line.size:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows
