"""Finds the tables of a PDF page and fills their cells from its text layer. Runs in workers; torch-free.

MuPDF's search takes 60 to 400 ms, mostly for characters, and grows with the square of the number of lines: so it runs
only where there are rules in both directions, and not too many.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from statistics import median
from typing import Any

import pymupdf

from ocr.paragraphs.grid_tables import with_rows
from ocr.paragraphs.line_tables import Cell, Rule, Table, around, table_without_rules, tables_at_rules
from ocr.paragraphs.table_markup import is_contents, with_head
from ocr.paragraphs.table_ranges import table_ranges
from ocr.paragraphs.text_lines import CELL_GAP, PART_GAP, Line, parted
from pipeline.text_layer.extract.spans import Box, Glyph, Span, as_text, parted_by, touch

# The fewest and most line segments on the page: a small table has 4 rectangles or 6 lines, a plot or map thousands.
_FEWEST, _MOST = 4, 2000
# In points: a drawing thinner than this is a rule, one longer than this may run along a cell.
_THIN, _LONG = 3.0, 8.0
# The least share of a table's cells that must not be empty, and the most characters in a cell: one with more is a frame
# around a page's text.
_FILLED, _LONGEST = 0.3, 1500
_SAME = 2.0  # points between edges of the same row or column
_FINER = 0.5  # cells
_APART = 0.3  # type sizes between characters of different words


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledTable:
    """A table with its text. rows: the cells that begin in each row, with their texts. spans: all those in it."""

    rows: tuple[tuple[tuple[Cell, str], ...], ...]
    spans: tuple[Span, ...]


def find_tables(
    page: Any, drawings: Sequence[Any], spans: Sequence[Span] = (), named: Sequence[Table] = ()
) -> list[Table]:
    """Returns the page's tables of two or more cells: those with rules, then others; of a rotated page the named.

    page: a pymupdf Page. drawings: what is drawn on it. spans: its text, for tables with rules across them alone or
    without. named: those that the structure network sees. Raises: whatever MuPDF does.
    """
    if page.rotation:  # MuPDF would return positions on the unrotated page
        return list(named)
    lines = list(_lines(spans))
    found = page.find_tables(paths=drawings).tables if _may_be_ruled(drawings) else []
    grids = [tuple(with_rows(table, lines)) for table in map(_cells, found) if len(table) > 1]
    tables = [it for it in grids if it[0].row != it[-1].row and not any(_is_finer(own, it) for own in named)]
    _add(tables, named)
    tables += tables_at_rules(lines, _rules(drawings), map(around, tables))
    ranges = (lines[start:end] for start, end in table_ranges(lines))
    _add(tables, (table_without_rules(rows) for rows in ranges if not all(row.is_mono for row in rows)))
    shaded = [it for it in grids if it[0].row == it[-1].row]  # the heads of other tables, perhaps
    _add(tables, () if named else shaded)
    return tables


def _add(tables: list[Table], others: Iterable[Table]) -> None:
    """Adds tables that touch none that is there."""
    boxes = [around(table) for table in tables]
    tables += [table for table in others if table and not any(touch(around(table), box) for box in boxes)]


def _is_finer(table: Table, grid: Table) -> bool:
    """Returns whether a table has more cells, also in a row, than a grid in its place, of which not all are drawn."""
    per_row = [len(cells) / len({cell.row for cell in cells}) for cells in (table, grid)]
    is_there = touch(around(table), around(grid))
    return is_there and len(table) > len(grid) and per_row[0] > per_row[1] + _FINER


def drawings_of(page: Any) -> list[Any]:
    """Returns what is drawn on a page; nothing of a rotated one, or where it is so much that it is a plot or map."""
    kinds = [] if page.rotation else [it[0] for it in page.get_bboxlog() if it[0].endswith("-path")]
    drawings = page.get_drawings() if 0 < len(kinds) <= _MOST else []
    return drawings if sum(len(drawing["items"]) for drawing in drawings) <= _MOST else []


def drawn_rules(drawings: Sequence[Any]) -> tuple[list[Rule], list[Box]]:
    """Returns the rules across a page and those down it, in points."""
    items = [item for drawing in drawings for item in drawing["items"]]
    boxes = [at[0] if kind == "re" else pymupdf.Rect(*at) for kind, *at in items if kind in ("re", "l")]
    down = [tuple(box.normalize()) for box in boxes if box.width < _THIN and box.height > _LONG]
    return list(_rules(drawings)), down


def _lines(spans: Sequence[Span]) -> Iterator[Line]:
    """Yields the lines of the layer that run from left to right."""
    level = [span for span in spans if span.glyphs and not span.is_turned]
    for line in parted_by("\n", level):
        size = max(span.line.size for span in line)
        extents = [(glyph.box[0], glyph.box[2]) for span in line for glyph in span.glyphs]
        yield Line(
            text=" ".join(span.line.text for span in line),
            spans=parted(extents, CELL_GAP * size),
            parts=parted(extents, PART_GAP * size),
            base=median(span.line.base for span in line),
            size=size,
            is_mono=all(span.is_monospaced for span in line),
        )


def _rules(drawings: Iterable[Any]) -> Iterator[Rule]:
    """Yields what is drawn as a line across the page."""
    for kind, *points in (item for drawing in drawings for item in drawing["items"]):
        if kind == "re" and points[0].height < _THIN:
            yield Rule(x0=points[0].x0, x1=points[0].x1, y=(points[0].y0 + points[0].y1) / 2)
        elif kind == "l" and abs(points[0].y - points[1].y) < _THIN:
            x0, x1 = sorted((points[0].x, points[1].x))
            yield Rule(x0=x0, x1=x1, y=points[0].y)


def filled(spans: Sequence[Span], tables: Sequence[Table]) -> Iterator[Span | FilledTable]:
    """Yields the spans in order, with each table in place of its first span; no character comes twice.

    A frame around text or a mostly empty grid is not a table: its spans stay.
    """
    parted = [list(_pieces(span, tables)) for span in spans] if tables else []
    every = [piece for pieces in parted for piece in pieces]
    held = [[piece for piece in every if piece.table == number] for number in range(len(tables))]
    made = {number: table for number, own in enumerate(held) if (table := _filled(tables[number], own))}
    if not made:
        yield from spans
        return
    told: set[int] = set()
    for span, pieces in zip(spans, parted, strict=True):
        if not any(piece.table in made for piece in pieces):
            yield span
            continue
        for piece in pieces:
            if piece.table not in made:
                yield piece.span
            elif piece.table not in told:
                told.add(piece.table)
                yield made[piece.table]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Characters of one span in one cell. table, cell: -1 if they are in none."""

    table: int
    cell: int
    span: Span


def _pieces(span: Span, tables: Sequence[Table]) -> Iterator[_Piece]:
    """Yields a span split by table cells; a space belongs to what precedes it."""
    if not any(touch(span.box, around(cells)) for cells in tables):
        yield _Piece(table=-1, cell=-1, span=span)
        return
    places = _places(span, tables)
    for (table, cell), group in groupby(range(len(places)), key=places.__getitem__):
        part = span.of([span.chars[number] for number in group])
        if part.line.text:
            yield _Piece(table=table, cell=cell, span=part)


def _places(span: Span, tables: Sequence[Table]) -> list[tuple[int, int]]:
    """Returns the table and the cell of each character: those of most of its word, as edges may be where no rule is."""
    places, apart = list[tuple[int, int]](), _APART * span.line.size
    parting = (
        a.text.isspace() != b.text.isspace() or max(b.box[0] - a.box[2], a.box[0] - b.box[2]) > apart
        for a, b in pairwise(span.chars)
    )
    for _, own in groupby(zip(accumulate(parting, initial=0), span.chars, strict=True), key=itemgetter(0)):
        word = [char for _, char in own]
        is_space = word[0].text.isspace() and places
        found = places[-1:] if is_space else [_place(char, tables) for char in word]
        places += [Counter(found).most_common(1)[0][0]] * len(word)
    return places


def _place(char: Glyph, tables: Sequence[Table]) -> tuple[int, int]:
    x, y = char.middle
    for number, cells in enumerate(tables):
        for index, cell in enumerate(cells):
            x0, y0, x1, y1 = cell.box
            if x0 <= x < x1 and y0 <= y < y1:
                return number, index
    return -1, -1


def _filled(cells: Table, pieces: Sequence[_Piece]) -> FilledTable | None:
    held = ([piece.span.line for piece in pieces if piece.cell == index] for index in range(len(cells)))
    texts = [" ".join((as_text(lines) or "").split()) for lines in held]
    num_filled = sum(bool(text) for text in texts)
    is_row = cells[0].row == cells[-1].row  # of which one cell is empty: shades behind a heading
    if num_filled < max(2, (is_row or _FILLED) * len(cells)) or max(map(len, texts)) > _LONGEST:
        return None
    rows = [list(row) for _, row in groupby(zip(cells, texts, strict=True), key=lambda item: item[0].row)]
    if is_contents(rows) or max(map(len, rows)) < 2:  # one column is frames around text
        return None
    return FilledTable(
        rows=tuple(tuple(row) for row in with_head(rows)),
        spans=tuple(piece.span for piece in sorted(pieces, key=lambda piece: piece.cell)),
    )


def _may_be_ruled(drawings: Iterable[Any]) -> bool:
    """Returns whether there are rules in both directions that could divide cells."""
    num_across = num_down = 0
    for drawing in drawings:
        for kind, *points in drawing["items"]:
            if kind == "re":
                width, height = points[0].width, points[0].height
                num_across += (1 if height < _THIN else 2) * (width > _LONG)
                num_down += (1 if width < _THIN else 2) * (height > _LONG)
            elif kind == "l":
                across, down = abs(points[0].x - points[1].x), abs(points[0].y - points[1].y)
                num_across += across > _LONG and down < _THIN
                num_down += down > _LONG and across < _THIN
    return num_across + num_down > _FEWEST and min(num_across, num_down) > 1


def _cells(table: Any) -> Table:
    """Returns the cells row by row, with the rows and columns they span."""
    boxes = sorted(
        {tuple(box) for row in table.rows for box in row.cells if box is not None},
        key=lambda box: (box[1], box[0]),
    )
    rows, columns = _edges(box[1] for box in boxes), _edges(box[0] for box in boxes)
    cells = [
        Cell(
            box=box,
            row=_from(rows, box[1]),
            column=_from(columns, box[0]),
            num_rows=max(1, _from(rows, box[3]) - _from(rows, box[1])),
            num_columns=max(1, _from(columns, box[2]) - _from(columns, box[0])),
        )
        for box in boxes
    ]
    return tuple(sorted(cells, key=lambda cell: (cell.row, cell.column)))


def _edges(values: Iterable[float]) -> list[float]:
    edges: list[float] = []
    for value in sorted(values):
        if not edges or value > edges[-1] + _SAME:
            edges.append(value)
    return edges


def _from(edges: Sequence[float], value: float) -> int:
    """Returns the 0-based index of the edge at a value; beyond the last edge, their number."""
    return sum(edge < value - _SAME for edge in edges)
