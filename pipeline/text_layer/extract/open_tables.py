"""Finds tables that have rules across them and none down, by the white between their columns. Torch-free.

Such a rule stands above a table, under its head or above its last row; rows are lines of the layer with white between
their cells, so two columns of running text, one after the other in the layer, are no rows.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from pipeline.text_layer.extract.lines import between
from pipeline.text_layer.extract.spans import Box, Span
from pipeline.text_layer.extract.table_cells import Cell, Table

Range = tuple[float, float]

# In points: parts of one rule are so near, and text may stand out of a rule's ends so far.
_LEVEL, _NEAR, _OUT = 1.0, 6.0, 6.0
_SHORTEST = 60.0
# In type sizes: white that shows cells, and that may part them; the least between columns; from row to row, to a rule.
_CELL_GAP, _PART_GAP, _STRIP, _PITCH, _REACH = 0.8, 0.45, 0.6, 3.0, 2.0
_ONE_ROW = 0.65  # lines that are nearer are one row, and those on each other are a formula
_SIZES = 1.25  # rows of a table differ less
_CONTINUED, _APART = 1.4, 1.15  # lines of one cell are not further apart; how much further rows are
_ROWS, _HEAD = 3, 2  # the fewest rows; the most lines of a head
# Shares: rows that may fill a strip between columns, rows with white there, rows with several cells; of the width: a
# title of a group of rows.
_FILL, _OPEN, _SEVERAL, _TITLE = 0.1, 0.5, 0.6, 0.6
_MANY = 4  # of so many rows one may fill a strip
_ABOVE, _BELOW = 0.8, 0.2  # letters reach so far from the baseline, in type sizes
_ITEM = re.compile(r"\W|\W?\w{1,3}[.:)\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A horizontal rule, in points of the page as shown."""

    x0: float
    x1: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A line of the layer. pieces: [x0, x1] of its text between white as wide as between cells.

    parts: the same between white that may be between cells. head: its first word. is_mono: in type of one width.
    """

    pieces: tuple[Range, ...]
    parts: tuple[Range, ...]
    head: str
    is_mono: bool
    base: float
    size: float

    @property
    def x0(self) -> float:
        return self.pieces[0][0]

    @property
    def x1(self) -> float:
        return self.pieces[-1][1]


def find_open_tables(rules: Iterable[Rule], spans: Sequence[Span], known: Sequence[Box]) -> list[Table]:
    """Returns the tables at these rules, from top to bottom. known: where other tables are."""
    rows = list(_rows(spans))
    is_mono = sum(row.is_mono for row in rows) > _SEVERAL * len(rows)
    found: list[Table] = []
    taken = list(known)
    for group in _groups(rules):
        x0, x1 = group[0].x0 - _OUT, group[0].x1 + _OUT
        inside = [row for row in rows if x0 <= row.x0 and row.x1 <= x1]
        for whole in _runs(list(_levelled([row for row in inside if is_mono or not row.is_mono]))):
            run = _below_top(whole, group)
            if not _is_ruled(run, group) or any(_overlap(run, box) for box in taken):
                continue
            if edges := _edges(run):
                run = _above_text(run, group, edges)
                found.append(tuple(_cells(list(_joined(run, edges[0])), [x0, *edges, x1])))
                taken.append((x0, run[0].base - run[0].size, x1, run[-1].base))
    return sorted(found, key=lambda table: table[0].box[1])


def _groups(rules: Iterable[Rule]) -> list[list[Rule]]:
    """Returns the rules with the same ends, from top to bottom; what is drawn in parts is one."""
    whole: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: (round(rule.y / _LEVEL), rule.x0)):
        last = whole[-1] if whole else None
        if last and abs(last.y - rule.y) <= _LEVEL and rule.x0 <= last.x1 + _NEAR:
            whole[-1] = Rule(x0=last.x0, x1=max(last.x1, rule.x1), y=last.y)
        else:
            whole.append(rule)
    groups: list[list[Rule]] = []
    for rule in (rule for rule in whole if rule.x1 - rule.x0 >= _SHORTEST):
        same = (g for g in groups if abs(g[0].x0 - rule.x0) < _NEAR and abs(g[0].x1 - rule.x1) < _NEAR)
        if (group := next(same, None)) is None:
            groups.append([rule])
        else:
            group.append(rule)
    return groups


def _rows(spans: Sequence[Span]) -> Iterator[_Row]:
    line: list[Span] = []
    for span in (span for span in spans if span.glyphs and not span.is_turned):
        if line and "\n" in between(line[-1].line, span.line):
            yield _row(line)
            line = []
        line.append(span)
    if line:
        yield _row(line)


def _row(line: Sequence[Span]) -> _Row:
    size = max(span.line.size for span in line)
    boxes = [glyph.box for span in line for glyph in span.glyphs]
    return _Row(
        pieces=_ranges(boxes, _CELL_GAP * size),
        parts=_ranges(boxes, _PART_GAP * size),
        head=line[0].line.text.split(maxsplit=1)[0],
        is_mono=all(span.is_monospaced for span in line),
        base=median(span.line.base for span in line),
        size=size,
    )


def _ranges(boxes: Iterable[Box], gap: float) -> tuple[Range, ...]:
    found: list[Range] = []
    for x0, _, x1, _ in boxes:
        if found and x0 - found[-1][1] <= gap:
            found[-1] = found[-1][0], max(found[-1][1], x1)
        else:
            found.append((x0, x1))
    return tuple(found)


def _levelled(rows: Sequence[_Row]) -> Iterator[_Row]:
    """Yields the rows from top to bottom, with what stands beside each other on nearly one line as one."""
    last: _Row | None = None
    for row in sorted(rows, key=lambda row: row.base):
        if last is None:
            last = row
        elif row.base - last.base < _ONE_ROW * max(row.size, last.size) and not _meet(last, row):
            first = min(last, row, key=lambda row: row.x0)
            pieces, parts = (
                tuple(sorted((*a, *b))) for a, b in ((last.pieces, row.pieces), (last.parts, row.parts))
            )
            last = replace(
                max(last, row, key=lambda row: row.size), pieces=pieces, parts=parts, head=first.head
            )
        else:
            yield last
            last = row
    if last is not None:
        yield last


def _meet(a: _Row, b: _Row) -> bool:
    return any(x0 < y1 and y0 < x1 for x0, x1 in a.parts for y0, y1 in b.parts)


def _runs(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """Yields rows that follow each other closely, from one with several cells to another."""
    run: list[_Row] = []
    for row in rows:
        if run and (row.base - run[-1].base > _PITCH * max(row.size, run[-1].size) or _ends(run, row)):
            yield from _trimmed(run)
            run = []
        run.append(row)
    yield from _trimmed(run)


def _ends(run: Sequence[_Row], row: _Row) -> bool:
    """Returns whether a line is in other type, or text below a table and neither a part of a cell nor a title in it."""
    sizes = sorted((row.size, run[-1].size))
    if sizes[1] > _SIZES * sizes[0]:
        return True
    several = [other for other in run if len(other.pieces) > 1]
    if len(row.pieces) > 1 or not several:
        return False
    width = max(other.x1 for other in several) - min(other.x0 for other in several)
    return row.x1 - row.x0 > _TITLE * width


def _trimmed(run: Sequence[_Row]) -> Iterator[list[_Row]]:
    places = [at for at, row in enumerate(run) if len(row.pieces) > 1]
    if len(places) >= _ROWS - 1 and places[-1] + 1 - places[0] >= _ROWS:
        last = places[-1]
        while last + 1 < len(run) and _goes_on(run[last], run[last + 1]):
            last += 1
        yield list(run[places[0] : last + 1])


def _goes_on(above: _Row, row: _Row) -> bool:
    """Returns whether a line of one piece is the next line of a cell, as of one that is not the first."""
    return row.x0 > above.x0 + row.size and row.base - above.base <= _CONTINUED * row.size


def _is_ruled(run: Sequence[_Row], rules: Sequence[Rule]) -> bool:
    """Returns whether two rules are at the rows, or one between the head and what is below it."""
    reach = _REACH * run[0].size
    near = [rule.y for rule in rules if run[0].base - reach <= rule.y <= run[-1].base + reach]
    return len(near) > 1 or any(sum(row.base < y for row in run) == 1 for y in near)


def _below_top(run: list[_Row], rules: Sequence[Rule]) -> list[_Row]:
    """Returns the rows without a caption: what is above a rule under which the head stands, with its own rule below."""
    reach = _REACH * run[0].size
    ys = [rule.y for rule in rules if run[0].base - reach < rule.y < run[-1].base]
    below = [row for row in run if ys and row.base > ys[0]]
    if len(ys) < 2 or len(below) == len(run) or len(below) < _ROWS:
        return run
    head, rows = (sum(a < row.base < b for row in run) for a, b in pairwise([*ys, run[-1].base + reach][:3]))
    return below if head <= _HEAD and rows > 1 else run


def _above_text(run: Sequence[_Row], rules: Sequence[Rule], edges: Sequence[float]) -> list[_Row]:
    """Returns the rows without those below the last rule that are lines of text over columns."""
    end = max(rule.y for rule in rules if rule.y <= run[-1].base + _REACH * run[-1].size)
    return [row for row in run if row.base < end or not any(a < x < b for x in edges for a, b in row.parts)]


def _overlap(run: Sequence[_Row], box: Box) -> bool:
    x0, x1 = min(row.x0 for row in run), max(row.x1 for row in run)
    return box[0] < x1 and x0 < box[2] and box[1] < run[-1].base and run[0].base - run[0].size < box[3]


def _edges(run: Sequence[_Row]) -> list[float]:
    """Returns where columns meet: in white that nearly all rows leave and half of them have as a gap."""
    several = [row for row in run if len(row.pieces) > 1]
    size = median(row.size for row in several)
    edges = [
        _whitest(strip)
        for strip in _strips(several)
        if strip[-1][1] - strip[0][0] >= _STRIP * size
        and sum(_has_gap(row, _whitest(strip)) for row in several) >= _OPEN * len(several)
    ]
    return edges if edges and _is_table(run, edges) else []


def _strips(rows: Sequence[_Row]) -> Iterator[list[tuple[float, float, int]]]:
    """Yields the white between columns: ranges beside each other, each with how many rows have text there."""
    ends = sorted({end for row in rows for part in row.parts for end in part})
    most = max(_FILL * len(rows), len(rows) >= _MANY)
    strip: list[tuple[float, float, int]] = []
    for low, high in pairwise(ends):
        filled = sum(any(a <= low and high <= b for a, b in row.parts) for row in rows)
        if filled <= most:
            strip.append((low, high, filled))
        elif strip:
            yield strip
            strip = []


def _whitest(strip: Sequence[tuple[float, float, int]]) -> float:
    """Returns the middle of the widest range of those that fewest rows fill."""
    fewest = min(filled for _, _, filled in strip)
    low, high = max(
        ((a, b) for a, b, filled in strip if filled == fewest), key=lambda ends: ends[1] - ends[0]
    )
    return (low + high) / 2


def _is_table(run: Sequence[_Row], edges: Sequence[float]) -> bool:
    """Returns whether most rows have several cells, none is a line of a formula, and it is no list and no program."""
    rows = list(_joined(run, edges[0]))
    firsts = [lines[0].head for lines in rows]
    items = sum(_ITEM.fullmatch(head) is not None for head in firsts)
    counted = sum(b.isdecimal() and a.isdecimal() and int(b) - int(a) == 1 for a, b in pairwise(firsts))
    return (
        sum(any(len(line.pieces) > 1 for line in lines) for lines in rows) >= _SEVERAL * len(rows)
        and all(b.base - a.base > _ONE_ROW * max(a.size, b.size) for a, b in pairwise(run))
        and (len(edges) > 1 or max(items, counted + 1) < _SEVERAL * len(rows))
    )


def _has_gap(row: _Row, x: float) -> bool:
    return any(a <= x <= b for (_, a), (b, _) in pairwise(row.parts))


def _cells(rows: Sequence[Sequence[_Row]], edges: Sequence[float]) -> Iterator[Cell]:
    """Yields the cells of each row, one over several columns where its text is."""
    tops = [rows[0][0].base - rows[0][0].size]
    for (*_, above), (below, *_) in pairwise(rows):
        tops.append((above.base + _BELOW * above.size + below.base - _ABOVE * below.size) / 2)
    tops.append(rows[-1][-1].base + _BELOW * rows[-1][-1].size)
    for number, lines in enumerate(rows):
        parts = [part for line in lines for part in line.parts]
        free = [at for at, x in enumerate(edges) if not any(a < x < b for a, b in parts)]
        for first, after in pairwise(free):
            yield Cell(
                box=(edges[first], tops[number], edges[after], tops[number + 1]),
                row=number,
                column=first,
                num_columns=after - first,
                is_heading=number == 0,
            )


def _joined(run: Sequence[_Row], edge: float) -> Iterator[list[_Row]]:
    """Yields the lines of each row of the table: more than one where a cell goes on below, nearer than rows are.

    edge: where the second column begins.
    """
    begins = [row.base - above.base for above, row in pairwise(run) if row.x0 < edge]
    pitch = median(begins) if begins else 0.0
    lines = [run[0]]
    for above, row in pairwise(run):
        down = row.base - above.base
        if row.x0 > edge and down <= _CONTINUED * row.size and _APART * down < pitch:
            lines.append(row)
        else:
            yield lines
            lines = [row]
    yield lines
