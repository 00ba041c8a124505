"""Finds tables among lines by the white between their columns, and by the rules of the page. Torch-free.

Rules across the page stand above a table, under its head or above its last row. One without rules has cells where white
tells its columns in nearly all rows; else it is a range of lines that are read row by row.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, takewhile
from math import inf
from statistics import median

import numpy as np

from ocr.paragraphs.line_kinds import is_numbered
from ocr.paragraphs.table_ranges import table_ranges
from ocr.paragraphs.text_lines import Line, Span

Box = tuple[float, float, float, float]

# In type sizes: parts of one rule are so near, text may stand out of a rule's ends so far, and rules are longer.
_LEVEL, _NEAR, _OUT, _SHORTEST = 0.1, 0.6, 0.6, 6.0
# In type sizes: the least between columns; from one group of rows to the next, to a rule.
_STRIP, _PITCH, _REACH = 0.6, 3.0, 2.0
_ONE_ROW = 0.65  # lines that are nearer are one row, and those on each other are a formula
_SIZES = 1.25  # rows of a table differ less
_CONTINUED, _APART = 1.4, 1.15  # lines of one cell are not further apart; how much further rows are
_ROWS, _HEAD = 3, 2  # the fewest rows below a caption; the most lines of a head
# Shares: rows that may fill a strip between columns, rows with white there; lines that make it a list, or a program;
# rows with cells, of a table without rules. Of so many rows one may fill a strip.
_FILL, _OPEN, _MOSTLY, _REGULAR, _MANY = 0.1, 0.5, 0.6, 0.8, 4
_ABOVE, _BELOW = 0.8, 0.2  # letters reach so far from the baseline, in type sizes
_ITEM = re.compile(r"\W|\W?\w{1,3}[.:)\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A horizontal rule, in the lines' unit. is_edge: only the edge of a shaded band."""

    x0: float
    x1: float
    y: float
    is_edge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A table's cell. box: in the lines' unit. row, column: its first, from 0; num_*: how many it spans."""

    box: Box
    row: int
    column: int
    num_rows: int = 1
    num_columns: int = 1
    is_heading: bool = False


Table = tuple[Cell, ...]


def around(table: Table) -> Box:
    """Returns the box around a table's cells."""
    x0, y0, x1, y1 = zip(*(cell.box for cell in table), strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def tables_at_rules(lines: Sequence[Line], rules: Iterable[Rule], known: Iterable[Box] = ()) -> list[Table]:
    """Returns the tables at these rules, from top to bottom. lines: in any order. known: where other tables are."""
    is_mono = sum(line.is_mono for line in lines) > _MOSTLY * len(lines)
    kept = [line for line in lines if is_mono or not line.is_mono]
    found: list[Table] = []
    taken = list(known)
    usual = median([line.size for line in lines] or [0.0])
    for group in _groups(rules, usual) if usual > 0 else ():
        x0, x1 = group[0].x0 - _OUT * usual, group[0].x1 + _OUT * usual
        inside = (line for line in kept if x0 <= line.x0 and line.x1 <= x1)
        for whole in _in_groups(list(_levelled(inside))):
            run = _below_top(whole, group)
            edges = _edges(run)
            if edges and _is_ruled(run, group, edges) and not any(_overlap(run, box) for box in taken):
                run = _above_text(run, group, edges)
                found.append(tuple(cells_of(list(_joined(run, edges[0])), [x0, *edges, x1])))
                taken.append((x0, run[0].base - run[0].size, x1, run[-1].base))
    return sorted(found, key=lambda table: table[0].box[1])


def table_without_rules(rows: Sequence[Line]) -> Table:
    """Returns the cells of a table's rows by the white between its columns; none where that does not tell columns.

    Nearly all rows have white there as wide as between cells, and no text over it.
    """
    edges = _edges(rows)
    if not edges:
        return ()
    joined = list(_joined(rows, edges[0]))
    firsts = [lines[0] for lines in joined]
    gaps = [[any(a <= x <= b for (_, a), (b, _) in pairwise(row.parts)) for x in edges] for row in firsts]
    regular = sum(
        any(a <= x <= b for x in edges for (_, a), (b, _) in pairwise(row.spans))
        and not any(a < x < b for x in edges for a, b in row.parts)
        for row in firsts
    )
    shares = [sum(at) / len(firsts) for at in zip(*gaps, strict=True)]
    if len(firsts) < _ROWS or regular < _REGULAR * len(firsts) or min(shares) < _OPEN:
        return ()
    x0, x1 = min(row.x0 for row in rows), max(row.x1 for row in rows) + 1
    return tuple(cells_of(joined, [x0, *edges, x1]))


def _in_groups(rows: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yields the rows of each table, with titles and white between its groups of rows."""
    start = end = 0
    for first, after in table_ranges(rows, at_rules=True):
        drops = (b.base - a.base for a, b in pairwise(rows[max(0, end - 1) : first + 1]))
        if end and max(drops) <= _PITCH * rows[first].size and _edges(rows[start:after]):
            end = after
        else:
            if end:
                yield rows[start:end]
            start, end = first, after
    if end:
        yield rows[start:end]


def _groups(rules: Iterable[Rule], size: float) -> list[list[Rule]]:
    """Returns the rules with the same ends, from top to bottom; what is drawn in parts is one. size: the usual type."""
    level, near = _LEVEL * size, _NEAR * size
    whole: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: (round(rule.y / level), rule.x0)):
        last = whole[-1] if whole else None
        if last and abs(last.y - rule.y) <= level and rule.x0 <= last.x1 + near:
            whole[-1] = Rule(x0=last.x0, x1=max(last.x1, rule.x1), y=last.y)
        else:
            whole.append(rule)
    groups: list[list[Rule]] = []
    for rule in (rule for rule in whole if rule.x1 - rule.x0 >= _SHORTEST * size):
        same = (g for g in groups if abs(g[0].x0 - rule.x0) < near and abs(g[0].x1 - rule.x1) < near)
        group = next(same, None) or []
        groups += [] if group else [group]
        group.append(rule)
    return groups


def _levelled(lines: Iterable[Line]) -> Iterator[Line]:
    """Yields the lines from top to bottom, with what stands beside each other on nearly one line as one."""
    last: Line | None = None
    for line in sorted(lines, key=lambda line: line.base):
        if last is None:
            last = line
        elif line.base - last.base < _ONE_ROW * max(line.size, last.size) and not _meet(last, line):
            first, large = min(last, line, key=lambda row: row.x0), max(last, line, key=lambda row: row.size)
            spans, parts = (*last.spans, *line.spans), (*last.parts, *line.parts)
            last = replace(large, text=first.text, spans=tuple(sorted(spans)), parts=tuple(sorted(parts)))
        else:
            yield last
            last = line
    if last is not None:
        yield last


def _meet(a: Line, b: Line) -> bool:
    return any(x0 < y1 and y0 < x1 for x0, x1 in a.parts for y0, y1 in b.parts)


def _is_ruled(run: Sequence[Line], rules: Sequence[Rule], edges: Sequence[float]) -> bool:
    """Returns whether two rules are at the rows, or one between the head of all columns and what is right below it."""
    reach = _REACH * run[0].size
    near = [rule.y for rule in rules if run[0].base - reach <= rule.y <= run[-1].base + reach]
    if len(near) > 1:
        return True
    is_whole = all(any(x0 < (a + b) / 2 < x1 for a, b in run[0].parts) for x0, x1 in pairwise([*edges, inf]))
    return is_whole and len(run) >= _ROWS and any(run[0].base < y <= run[1].base <= y + reach for y in near)


def _below_top(run: Sequence[Line], rules: Sequence[Rule]) -> Sequence[Line]:
    """Returns the rows without a caption: what is above a rule under which the head stands, with its own rule below."""
    reach = _REACH * run[0].size
    ys = [rule.y for rule in rules if run[0].base - reach < rule.y < run[-1].base]
    below = [row for row in run if ys and row.base > ys[0]]
    if len(ys) < 2 or len(below) == len(run) or len(below) < _ROWS:
        return run
    head, rows = (sum(a < row.base < b for row in run) for a, b in pairwise([*ys, run[-1].base + reach][:3]))
    return below if head <= _HEAD and rows > 1 else run


def _above_text(run: Sequence[Line], rules: Sequence[Rule], edges: Sequence[float]) -> list[Line]:
    """Returns the rows up to the first below the last rule that is a line of text over columns."""
    end = max(rule.y for rule in rules if rule.y <= run[-1].base + _REACH * run[-1].size)
    above = takewhile(
        lambda row: row.base < end or not any(a < x < b for x in edges for a, b in row.parts), run
    )
    return list(above)


def _overlap(run: Sequence[Line], box: Box) -> bool:
    x0, x1 = min(row.x0 for row in run), max(row.x1 for row in run)
    return box[0] < x1 and x0 < box[2] and box[1] < run[-1].base and run[0].base - run[0].size < box[3]


def _edges(run: Sequence[Line]) -> list[float]:
    """Returns where columns meet: in white that nearly all rows leave and half of them have as a gap."""
    several = [row for row in run if len(row.spans) > 1]
    edges = []
    for (low, high), (left, right) in white_strips(several):
        x = (low + high) / 2
        if right - left >= _STRIP * median(row.size for row in several):
            gaps = sum(any(a <= x <= b for (_, a), (b, _) in pairwise(row.parts)) for row in several)
            edges += [x] * (gaps >= _OPEN * len(several))
    return edges if edges and _is_table(run, edges) else []


def white_strips(rows: Sequence[Line]) -> Iterator[tuple[Span, Span]]:
    """Yields the white that nearly all rows leave, from left to right: what the fewest fill of it, and all of it."""
    most = max(_FILL * len(rows), len(rows) >= _MANY)
    ends = sorted({end for row in rows for part in row.parts for end in part})
    places = {end: place for place, end in enumerate(ends)}
    filled = np.zeros(len(ends), np.intp)
    for row in rows:
        filled[sorted({at for a, b in row.parts for at in range(places[a], places[b])})] += 1
    parts = zip(filled.tolist(), ends, ends[1:], strict=False)
    for is_white, group in groupby(parts, lambda part: part[0] <= most):
        strip = list(group)
        if is_white:
            _, low, high = max(strip, key=lambda part: (-part[0], part[2] - part[1]))
            yield (low, high), (strip[0][1], strip[-1][2])


def _is_table(run: Sequence[Line], edges: Sequence[float]) -> bool:
    """Returns whether no row is a line of a formula or in other type, and they are no list and no program."""
    firsts = [lines[0] for lines in _joined(run, edges[0])]
    items = sum(_ITEM.fullmatch(line.text.split(maxsplit=1)[0]) is not None for line in firsts)
    is_list = len(edges) == 1 and (items >= _MOSTLY * len(firsts) or is_numbered(firsts))
    return not is_list and all(
        max(a.size, b.size) < min((b.base - a.base) / _ONE_ROW, _SIZES * min(a.size, b.size))
        for a, b in pairwise(run)
    )


def cells_of(rows: Sequence[Sequence[Line]], edges: Sequence[float]) -> Iterator[Cell]:
    """Yields the cells of each row, one over several columns where its text is."""
    tops = [rows[0][0].base - rows[0][0].size]
    for (*_, above), (below, *_) in pairwise(rows):
        tops.append((above.base + _BELOW * above.size + below.base - _ABOVE * below.size) / 2)
    tops.append(rows[-1][-1].base + _BELOW * rows[-1][-1].size)
    for number, lines in enumerate(rows):
        parts = [part for line in lines for part in line.parts]
        free = [at for at, x in enumerate(edges) if not any(a < x < b for a, b in parts)]
        for first, after in pairwise(free):
            box = edges[first], tops[number], edges[after], tops[number + 1]
            is_head = number == 0
            yield Cell(box=box, row=number, column=first, num_columns=after - first, is_heading=is_head)


def _joined(run: Sequence[Line], edge: float) -> Iterator[list[Line]]:
    """Yields the lines of each row of the table: more than one where a cell goes on below, nearer than rows are.

    edge: where the second column begins.
    """
    begins = [row.base - above.base for above, row in pairwise(run) if row.x0 < edge]
    pitch = median(begins) if begins else 0.0
    lines = [run[0]]
    for above, row in pairwise(run):
        if row.x0 > edge and goes_on(above, row, pitch):
            lines.append(row)
        else:
            yield lines
            lines = [row]
    yield lines


def goes_on(above: Line, line: Line, pitch: float) -> bool:
    """Returns whether a line is so near to the one above as in one cell. pitch: the usual distance of rows."""
    down = line.base - above.base
    return down <= _CONTINUED * line.size and _APART * down < pitch
