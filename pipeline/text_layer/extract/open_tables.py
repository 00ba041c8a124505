"""Finds tables that have rules across them and none down, by the white between their columns. Torch-free.

Such a rule stands above a table, under its head or above its last row; rows are lines of the layer with white between
their cells, so two columns of running text, one after the other in the layer, are no rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pipeline.text_layer.extract.lines import between
from pipeline.text_layer.extract.spans import Box, Span
from pipeline.text_layer.extract.table_cells import Cell, Table

Range = tuple[float, float]

# In points: parts of one rule are so near, and text may stand out of a rule's ends so far.
_LEVEL, _NEAR, _OUT = 1.0, 6.0, 6.0
_SHORTEST = 60.0
# In type sizes: white between cells, the least between columns, from row to row, from a row to a rule.
_CELL_GAP, _STRIP, _PITCH, _REACH = 0.8, 0.6, 3.0, 2.0
_CONTINUED = 1.3  # lines of one cell are not further apart; rows are by this much
_ROWS = 3
# Shares: rows that may fill a strip between columns, rows with white there, a title of a group of rows of the width.
_FILL, _OPEN, _TITLE = 0.1, 0.5, 0.6
_ABOVE, _BELOW = 0.8, 0.2  # letters reach so far from the baseline, in type sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A horizontal rule, in points of the page as shown."""

    x0: float
    x1: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A line of the layer. pieces: [x0, x1] of its text between white as wide as between cells."""

    pieces: tuple[Range, ...]
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
    found: list[Table] = []
    taken = list(known)
    for group in _groups(rules):
        x0, x1 = group[0].x0 - _OUT, group[0].x1 + _OUT
        inside = sorted((row for row in rows if x0 <= row.x0 and row.x1 <= x1), key=lambda row: row.base)
        for run in _runs(inside):
            if not _is_ruled(run, group) or any(_overlap(run, box) for box in taken):
                continue
            edges = _edges(run)
            if edges and (table := tuple(_cells(run, [x0, *edges, x1]))):
                found.append(table)
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
    pieces: list[Range] = []
    for x0, _, x1, _ in (glyph.box for span in line for glyph in span.glyphs):
        if pieces and x0 - pieces[-1][1] <= _CELL_GAP * size:
            pieces[-1] = pieces[-1][0], max(pieces[-1][1], x1)
        else:
            pieces.append((x0, x1))
    return _Row(pieces=tuple(pieces), base=median(span.line.base for span in line), size=size)


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
    """Returns whether a line of one piece is text below a table and neither a part of a cell nor a title in it."""
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


def _overlap(run: Sequence[_Row], box: Box) -> bool:
    x0, x1 = min(row.x0 for row in run), max(row.x1 for row in run)
    return box[0] < x1 and x0 < box[2] and box[1] < run[-1].base and run[0].base - run[0].size < box[3]


def _edges(run: Sequence[_Row]) -> list[float]:
    """Returns where columns meet: in the middle of white that nearly all rows leave and half of them have as a gap."""
    several = [row for row in run if len(row.pieces) > 1]
    size = median(row.size for row in several)
    ends = sorted({end for row in several for piece in row.pieces for end in piece})
    strips: list[Range] = []
    for low, high in pairwise(ends):
        filled = sum(any(a <= low and high <= b for a, b in row.pieces) for row in several)
        if filled > _FILL * len(several):
            continue
        if strips and strips[-1][1] == low:
            strips[-1] = strips[-1][0], high
        else:
            strips.append((low, high))
    return [
        (low + high) / 2
        for low, high in strips
        if high - low >= _STRIP * size
        and sum(_has_gap(row, low, high) for row in several) >= _OPEN * len(several)
    ]


def _has_gap(row: _Row, low: float, high: float) -> bool:
    return any(a <= (low + high) / 2 <= b for (_, a), (b, _) in pairwise(row.pieces))


def _cells(run: Sequence[_Row], edges: Sequence[float]) -> Iterator[Cell]:
    """Yields the cells of each row, one over several columns where its text is."""
    rows = list(_joined(run, edges))
    tops = [rows[0][0].base - rows[0][0].size]
    for (*_, above), (below, *_) in pairwise(rows):
        tops.append((above.base + _BELOW * above.size + below.base - _ABOVE * below.size) / 2)
    tops.append(rows[-1][-1].base + _BELOW * rows[-1][-1].size)
    for number, lines in enumerate(rows):
        pieces = [piece for line in lines for piece in line.pieces]
        free = [at for at, x in enumerate(edges) if not any(a < x < b for a, b in pieces)]
        for first, after in pairwise(free):
            yield Cell(
                box=(edges[first], tops[number], edges[after], tops[number + 1]),
                row=number,
                column=first,
                num_columns=after - first,
                is_heading=number == 0,
            )


def _joined(run: Sequence[_Row], edges: Sequence[float]) -> Iterator[list[_Row]]:
    """Yields the lines of each row of the table: more than one where a cell goes on below."""
    widest = max(below.base - above.base for above, below in pairwise(run))
    lines = [run[0]]
    for above, row in pairwise(run):
        pitch = row.base - above.base
        is_tight = pitch <= _CONTINUED * row.size and widest > _CONTINUED * pitch
        if is_tight and (len(row.pieces) < len(lines[0].pieces) or row.x0 > edges[1]):
            lines.append(row)
        else:
            yield lines
            lines = [row]
    yield lines
