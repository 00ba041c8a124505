"""Finds the tables of a picture whose rules run in both directions: a cell lies between four of them. Torch-free."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, product

from ocr.paragraphs.line_tables import Box, Cell, Rule, Table
from ocr.paragraphs.text_lines import Line

# In type sizes: rules so near meet, or are one, or are of one row or column; sides of a cell are longer.
_MEET, _LEAST = 0.7, 1.0
_LEANS, _BAND = 0.5, 5.0  # by which a rule down may lean; the height of a band right above a grid at most
# A table with at most so many rows between rules may hold rows without: so many lines, and so large a share of them,
# each with text in several columns, and with numbers.
_MOST_RULED, _FEWEST, _MOSTLY = 3, 3, 0.6
_ABOVE = 0.8  # letters reach so far from the baseline
_MOST_SPACES, _MOST_RULES = 2000, 400


def tables_in_grids(lines: Sequence[Line], rules: Sequence[Rule], uprights: Iterable[Box]) -> list[Table]:
    """Returns the tables of two or more rows between rules in both directions, from top to bottom.

    lines: of the page, by which rows without rules between them are told. rules: across the page. uprights: the boxes
    of those down it.
    """
    sizes = sorted(line.size for line in lines)
    if not sizes:
        return []
    size = sizes[len(sizes) // 2]
    across = [(rule.x0, rule.y, rule.x1, rule.y) for rule in rules if not rule.is_edge]
    edges = [rule for rule in rules if rule.is_edge]
    down = [((x0 + x1) / 2, y0, (x0 + x1) / 2, y1) for x0, y0, x1, y1 in uprights if x1 - x0 <= _LEANS * size]
    if len(across) + len(down) > _MOST_RULES:
        return []
    grids = ((grid, _bands(grid, edges, lines, size)) for grid in _grids([*across, *down], _MEET * size))
    tables = (
        (bands and _table([*grid, *bands], lines, size)) or _table(grid, lines, size) for grid, bands in grids
    )
    return sorted((table for table in tables if table and table[-1].row), key=lambda table: table[0].box[1])


def _bands(grid: list[Box], edges: list[Rule], lines: Sequence[Line], size: float) -> list[Box]:
    """Returns the edges of bands from side to side of a grid's columns, and the top of one with text right above it."""
    near, ys = _MEET * size, [y for rule in grid for y in rule[1::2]]
    sides, top = [rule[0] for rule in grid if rule[0] == rule[2]], min(ys) - near
    own = [it for it in edges if all(any(abs(x - side) < near for side in sides) for x in (it.x0, it.x1))]
    above = [it.y for it in own if top - _BAND * size < it.y <= top]
    texts = [line.base - near / 2 for line in lines]
    first = max((y for y in above if any(y < text < top + near for text in texts)), default=top)
    return [(it.x0, it.y, it.x1, it.y) for it in own if first <= it.y < max(ys) + near]


def _grids(rules: list[Box], near: float) -> Iterator[list[Box]]:
    """Yields the rules that meet each other, directly or through others."""
    while rules:
        grid: list[Box] = []
        new = [rules.pop()]
        while new:
            grid += new
            new = [rule for rule in rules if any(_overlap(rule, other, near) for other in new)]
            rules = [rule for rule in rules if rule not in new]
        yield grid


def _overlap(a: Box, b: Box, near: float) -> bool:
    return a[0] - near <= b[2] and b[0] - near <= a[2] and a[1] - near <= b[3] and b[1] - near <= a[3]


def _table(rules: Sequence[Box], lines: Sequence[Line], size: float) -> Table:
    """Returns the cells between rules row by row; none where these are no grid, or a cell would not be a rectangle."""
    near = _MEET * size
    across, down = (
        [rule for rule in rules if (rule[1] == rule[3]) == is_level] for is_level in (True, False)
    )
    if min(len(across), len(down)) < 2:
        return ()
    ys = _edges([rule[1] for rule in across], [y for rule in down for y in rule[1::2]], near)
    xs = _edges([rule[0] for rule in down], [x for rule in across for x in rule[0::2]], near)
    narrowest = min((b - a for edges in (xs, ys) for a, b in pairwise(edges)), default=0.0)
    # Rules nearer than they are drawn exact are one: of two such rules nothing is between.
    if min(len(xs), len(ys)) < 2 or narrowest < _LEAST * size or len(xs) * len(ys) > _MOST_SPACES:
        return ()
    spaces = list(product(range(len(ys) - 1), range(len(xs) - 1)))
    cell_of = {space: space for space in spaces}

    def join(a: tuple[int, int], b: tuple[int, int]) -> None:
        old, new = cell_of[b], cell_of[a]
        for space in spaces:
            if cell_of[space] == old:
                cell_of[space] = new

    for row, column in spaces:
        x, y = (xs[column] + xs[column + 1]) / 2, (ys[row] + ys[row + 1]) / 2
        right = any(abs(rule[0] - xs[column + 1]) <= near and rule[1] <= y <= rule[3] for rule in down)
        below = any(abs(rule[1] - ys[row + 1]) <= near and rule[0] <= x <= rule[2] for rule in across)
        around = xs[column : column + 3], ys[row : row + 2]
        if column + 2 < len(xs) and not right and not _is_parted(lines, *around):
            join((row, column), (row, column + 1))
        if row + 2 < len(ys) and not below:
            join((row, column), (row + 1, column))
    cells = []
    for name in sorted(set(cell_of.values())):
        own = [space for space in spaces if cell_of[space] == name]
        (top, left), (last, right_most) = map(min, zip(*own, strict=True)), map(max, zip(*own, strict=True))
        num_rows, num_columns = last - top + 1, right_most - left + 1
        if num_rows * num_columns != len(own):
            return ()
        box = xs[left], ys[top], xs[right_most + 1], ys[last + 1]
        cells.append(Cell(box=box, row=top, column=left, num_rows=num_rows, num_columns=num_columns))
    return tuple(with_rows(cells, lines))


def _is_parted(lines: Sequence[Line], xs: Sequence[float], ys: Sequence[float]) -> bool:
    """Returns whether text stands on both sides of a column's edge, the middle one of three, and none over it.

    There the rule is torn.
    """
    parts = [part for line in lines if ys[0] < line.base <= ys[1] for part in line.parts]
    sides = [any(low <= a and b <= high for a, b in parts) for low, high in pairwise(xs)]
    return all(sides) and not any(a < xs[1] < b for a, b in parts)


def with_rows(cells: Sequence[Cell], lines: Sequence[Line]) -> Iterator[Cell]:
    """Yields the cells, those of a row that holds a table's rows without rules between them divided."""
    num_rows, added = max(cell.row + cell.num_rows for cell in cells), 0
    may_be = num_rows <= _MOST_RULED and all(cell.num_rows == 1 for cell in cells)
    for row in range(num_rows):
        own = [cell for cell in cells if cell.row == row]
        starts = _starts(own, lines) if may_be else []
        edges = [min(cell.box[1] for cell in own), *starts, max(cell.box[3] for cell in own)] if own else []
        for number, (top, bottom) in enumerate(pairwise(edges)):
            for cell in own:
                box = (cell.box[0], top, cell.box[2], bottom) if starts else cell.box
                yield replace(cell, box=box, row=row + added + number)
        added += len(starts)


def _starts(cells: Sequence[Cell], lines: Sequence[Line]) -> list[float]:
    """Returns the tops of all rows but the first that stand in a row of cells; none where it is one row."""
    if len(cells) < 2 or len({(cell.box[1], cell.box[3]) for cell in cells}) > 1:
        return []
    (x0, top, _, bottom), *_, (_, _, x1, _) = (cell.box for cell in cells)
    inside = [line for line in lines if top < line.base <= bottom and x0 <= line.x0 and line.x1 <= x1]
    inside.sort(key=lambda line: line.base)
    several = [line for line in inside if _num_filled(cells, line) > 1]
    has_numbers = all(any(char.isdigit() for char in line.text) for line in several)
    if len(several) < max(_FEWEST, _MOSTLY * len(inside)) or not has_numbers:
        return []
    return [line.base - _ABOVE * line.size for line in several[1:]]


def _num_filled(cells: Sequence[Cell], line: Line) -> int:
    middles = [(a + b) / 2 for a, b in line.parts]
    return sum(any(cell.box[0] <= x < cell.box[2] for x in middles) for cell in cells)


def _edges(rules: Sequence[float], ends: Sequence[float], near: float) -> list[float]:
    """Returns where rows or columns meet: at rules in one direction, and at the ends of others that stand out of them.

    Those that are near each other are one, in their middle.
    """
    outer = [end for end in (min(ends), max(ends)) if not min(rules) - near <= end <= max(rules) + near]
    outer = [end for end in outer if sum(abs(other - end) <= near for other in ends) > 1]
    groups: list[list[float]] = []
    for value in sorted([*rules, *outer]):
        if groups and value - groups[-1][-1] <= near:
            groups[-1].append(value)
        else:
            groups.append([value])
    return [sum(group) / len(group) for group in groups]
