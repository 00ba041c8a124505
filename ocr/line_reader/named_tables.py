"""Finds the cells of a table whose lines the structure network names, with their rows and columns. Torch-free.

The network sees no pixels and takes each line whole, which may run over several cells: so where columns meet is told by
the white between the words of most rows too. Printed rules told nothing more: tables that they frame are grids. Of
lists of names and what they mean the network often says nothing.
"""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from ocr.imaging.measures import ONE_ROW
from ocr.paragraphs.line_kinds import AMOUNT, is_list
from ocr.paragraphs.line_tables import Table, cells_of, goes_on, white_strips
from ocr.paragraphs.text_lines import Line, Span, parted

# In type sizes: the least white between columns; how far cells of the first column begin from the left.
_STRIP, _INDENT = 0.4, 1.0
# Shares: rows that may fill a column's white, and those with several parts that show it as a gap; of these, those in
# which the network's columns differ, where white alone does not tell.
_CROSS, _OPEN, _DIFFER = 0.2, 0.5, 0.5
# How much further apart rows are than lines of one; cells that are nearer than lines, in type sizes, are of one row.
_APART, _BESIDE = 1.1, 0.85
# Rows with text in several columns: a formula or the axis of a plot has one; rows over two, such as a title and a note.
_FEWEST, _MOST_OVER = 2, 2
# White no wider than a blank is between columns where more rows than a few, and such a share, have words on both sides,
# nearly all begin or end in one place, in type sizes, and no name with a number, no number with a unit stands around it
# in more than this share.
_FEW, _BOTH, _LEVEL, _AT, _ALIKE, _GROUP = 3, 0.7, 0.85, 0.15, 0.5, re.compile(r"\d{3}(?:[.,]\d*)?")
# So many rows are a table of names and what they mean, or of types that end in one place before names; no row is
# further below the one above, no line that goes on, in type sizes; white wider than in justified text is in so many.
_RUN, _FLUSH, _DROP, _CONTINUED, _WIDE, _UNEVEN, _LARGER = 5, 3, 3.2, 1.6, 0.7, 0.5, 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRow:
    """Lines of a table beside each other, with the network's numbers.

    line: all of them as one. rows: of each. columns: of the line that each of its parts belongs to.
    has_value: it is a name with its value.
    """

    line: Line
    rows: AbstractSet[int]
    columns: Sequence[int]
    has_value: bool = False


def aligned_white(rows: Sequence[Line], words: Sequence[Sequence[tuple[Span, str]]]) -> list[float]:
    """Returns the middles of white at which words of nearly all rows begin or end in one place, from left to right.

    Where some rows have a word in between, it is the white next to the words in one place. rows: of a table. words: of
    each, with their ends, from left to right.
    """
    found: dict[tuple[int, int], float] = {}
    size = median(row.size for row in rows)
    no_titles = ((row, it) for row, it in zip(rows, words, strict=True) if it and row.size < _LARGER * size)
    whole = [replace(row, parts=tuple(span for span, _ in it)) for row, it in no_titles]
    is_uneven = not _is_level([row.x0 for row in rows], size)
    for (low, high), _ in white_strips(whole):
        x = (low + high) / 2
        sides = [(a, b) for own in words for a, b in pairwise(own) if a[0][1] <= x <= b[0][0]]
        if len(sides) < max(_FEW, _BOTH * len(rows)):
            continue
        begin, end = ([pair[side][0][1 - side] for pair in sides] for side in (1, 0))
        begins, ends = _is_level(begin, size), _is_level(end, size)
        before, after = ({pair[at][1] for pair in sides} for at in (0, 1))
        are_types = begins and ends and is_uneven and min(len(before), len(after)) > 1  # and names
        whites = [(after - before) / size for after, before in zip(begin, end, strict=True)]
        is_one = _is_one(sides) and (median(whites) <= _WIDE or not any(map(str.isalnum, sides[0][0][1])))
        if not are_types and (is_one or (len(sides) == _FEW and max(whites) <= _WIDE)):
            continue
        if begins:
            found[1, round(median(begin) / size)] = x
        elif ends:
            found.setdefault((0, round(median(end) / size)), x)
    return sorted(found.values())


def aligned_runs(
    rows: Sequence[Line], words: Sequence[Sequence[tuple[Span, str]]], gap: float = 0.0
) -> Iterator[tuple[int, int]]:
    """Yields the runs [start, end) of rows one below the other that are a table though the network does not say so.

    Words of all begin in one place, behind white of uneven width: names, and what each means or is worth. Rows without
    a name go on. Lists with marks are none, nor what stands around signs, such as equations. gap: white of typewritten
    lines is wider, in type sizes.
    """
    gap, start = max(gap, _WIDE), 0
    while start < len(rows):
        places = [after[0][0] for _, after in pairwise(words[start])]
        end = max((_run_end(rows, words, start, x, gap) for x in places), default=start)
        if end > start and not is_list(rows[start:end]):
            yield start, end
        start = max(end, start + 1)


def _run_end(
    rows: Sequence[Line], words: Sequence[Sequence[tuple[Span, str]]], start: int, x: float, gap: float
) -> int:
    """Returns where a run of rows ends whose words begin at x; its start where that is no table."""
    whites, begin, signs, end = list[float](), set[int](), 0, start
    for number in range(start, len(rows)):
        row, above = rows[number], rows[max(start, number - 1)]
        drop = row.base - above.base if number > start else row.size
        at = next((n for n, ((x0, _), _) in enumerate(words[number]) if abs(x0 - x) < _AT * row.size), None)
        if at is None or not 0 < drop < _DROP * row.size:
            break
        if at:
            whites.append((x - words[number][at - 1][0][1]) / row.size)
            begin.add(round(words[number][0][0][0] / row.size))
            signs += not any(map(str.isalnum, words[number][at][1])) or words[number][at][1][0] == "("
            end = number + 1
        elif drop > _CONTINUED * row.size:
            break
    uneven = sum(white > gap for white in whites)
    if len(whites) < _FLUSH or not uneven >= _UNEVEN * len(whites) > signs:
        return start
    is_even, is_clear = max(whites) - min(whites) < 2 * _AT, gap < min(whites)
    are_apart = not is_even and (gap == _WIDE or is_clear) and _is_apart(rows, start, end)
    are_enough = are_apart or (is_even and is_clear and len(begin) > 2)
    return end if are_enough or len(whites) >= _RUN else start


def _is_apart(rows: Sequence[Line], start: int, end: int) -> bool:
    """Returns whether what stands above and below rows is further away than they are from each other."""
    above, below = rows[max(0, start - 1)], rows[min(end, len(rows) - 1)]
    most = _APART * max(b.base - a.base for a, b in pairwise(rows[start:end]))
    return not any(0 < b.base - a.base < most for a, b in ((above, rows[start]), (rows[end - 1], below)))


def _is_level(places: Sequence[float], size: float) -> bool:
    middle = median(places)
    return sum(abs(place - middle) < _AT * size for place in places) >= _LEVEL * len(places)


def _is_one(sides: Sequence[tuple[tuple[Span, str], tuple[Span, str]]]) -> bool:
    """Returns whether words beside white belong together: a name and its number, a number and its unit, a mark."""
    (_, left), (mark, right) = (Counter(pair[at][1] for pair in sides).most_common(1)[0] for at in (0, 1))
    left = left if any(map(str.isalnum, mark)) else max(left, right)
    numbers = sum(before[-1:].isdigit() for (_, before), _ in sides)
    grouped = sum(_GROUP.fullmatch(after) is not None for _, (_, after) in sides)
    return max(left, min(numbers, max(right, grouped))) > _ALIKE * len(sides)


def has_value(line: Line, words: Sequence[tuple[Span, str]]) -> bool:
    """Returns whether a line ends with an amount, or a colon stands where two of its parts meet."""
    starts = {x0 for x0, _ in line.parts}
    meet = (before[-1] + after[0] for (_, before), ((x0, _), after) in pairwise(words) if x0 in starts)
    return AMOUNT.search(line.text) is not None or any(":" in marks for marks in meet)


def named_table(rows: Sequence[NamedRow], aligned: Sequence[float] = ()) -> Table:
    """Returns the cells; none where no columns are seen, or no two rows with text in several.

    aligned: where columns meet whatever white there is.
    """
    rows = sorted(rows, key=lambda row: row.line.base)
    x0 = min(row.line.parts[0][0] for row in rows)
    x1 = max(end for row in rows for _, end in row.line.parts) + 1
    level = _level(rows)
    told = (list(_edges(level, aligned, spared)) for spared in range(_MOST_OVER + 1))
    edges = next((xs for spared, xs in enumerate(told) if len(xs) == 1 or (xs and not spared)), [])
    joined = [own for several in _joined(rows, x0) for own in _parted(several, edges)]
    whole = [[row.line.parts for row in _level(own)] for own in joined]
    filled = (sum(any(it[0][0] < x < it[-1][1] for it in own) for own in whole) for x in edges)
    lines = [[row.line for row in own] for own in joined]
    edges = edges if max(filled, default=0) >= _FEWEST else _edge_below_title(lines)
    if edges and len(lines[0]) == len(lines[0][0].parts) == 1 and lines[0][0].x0 < edges[0]:
        lines[0] = [replace(lines[0][0], parts=((x0, x1),))]  # a title
    return tuple(cells_of(lines, [x0, *edges, x1])) if edges else ()


def _edge_below_title(rows: Sequence[Sequence[Line]]) -> list[float]:
    """Returns where the two columns meet of a title's only row in both, beside rows in the second; none elsewhere.

    White there is wide, but not so wide as between both ends of a line. Beside such rows others may run over both.
    """
    (title, *more), *others = ([parted(line.parts, _WIDE * line.size) for line in own] for own in rows)
    below, size = sorted((parts for own in others for parts in own), key=len), rows[-1][0].size
    if more or len(title) > 1 or [len(parts) for parts in below[-2:]] not in ([2], [1, 2]):
        return []
    *single, ((_, low), (high, _)) = below
    begin = sum(abs(x0 - high) < _AT * size for [(x0, _)] in single)
    over = sum(x0 < low and high < x1 for [(x0, x1)] in single)
    is_one = high - low < _DROP * size and begin + over == len(single) and (begin or not over)
    return [(low + high) / 2] if is_one else []


def _level(rows: Sequence[NamedRow]) -> list[NamedRow]:
    """Returns the rows, as one those of a row's cells that stand in its middle: they are nearer than lines are."""
    level = list(rows[:1])
    for row in rows[1:]:
        last = level[-1]
        if last.rows & row.rows and row.line.base - last.line.base < _BESIDE * row.line.size:
            both, columns = [*last.line.parts, *row.line.parts], [*last.columns, *row.columns]
            of = {x: column for (x, _), column in zip(both, columns, strict=True)}
            parts = parted(sorted(both), 0.0)
            level[-1] = replace(row, line=replace(row.line, parts=parts), columns=[of[x] for x, _ in parts])
        else:
            level.append(row)
    return level


def _parted(rows: Sequence[NamedRow], edges: Sequence[float]) -> Sequence[Sequence[NamedRow]]:
    """Returns the lines of a row; each by itself where all are names with values, or three fill all three columns."""
    columns = [{bisect(edges, x) for x, _ in row.line.parts} for row in rows]
    number, alike = len(columns[0]), columns.count(columns[0])
    are_pairs = number > 1 and alike == len(rows) and all(row.has_value for row in rows)
    return [[row] for row in rows] if are_pairs or (number > 2 and alike > 2) else [rows]


def _joined(rows: Sequence[NamedRow], x0: float) -> Iterator[list[NamedRow]]:
    """Yields the lines of each row of the table: several where the network says so, or where the first column is empty
    and rows are further apart. x0: where the table begins.

    Where also the first column goes on the network is right only if its rows are further apart than their lines.
    """
    pairs = [(above, row, row.line.base - above.line.base) for above, row in pairwise(rows)]
    begin = [row.line.x0 < x0 + _INDENT * row.line.size for row in rows[1:]]
    pitch = median([drop for (_, _, drop), begins in zip(pairs, begin, strict=True) if begins] or [0.0])
    step = median([drop for above, row, drop in pairs if not above.rows & row.rows] or [0.0])
    own = [rows[0]]
    for (above, row, drop), begins in zip(pairs, begin, strict=True):
        named = any(other.rows & row.rows for other in own)
        is_same = named and _APART * drop < step if begins else named or goes_on(above.line, row.line, pitch)
        if not is_same and drop >= ONE_ROW * row.line.size:
            yield own
            own = []
        own.append(row)
    yield own


def _edges(rows: Sequence[NamedRow], aligned: Sequence[float], spared: int = 0) -> Iterator[float]:
    """Yields where columns meet, from left to right. spared: so many rows may run over that, as titles do."""
    several = [row for row in rows if len(row.line.parts) > 1]
    size = median(row.line.size for row in rows)
    for (low, high), _ in white_strips([row.line for row in several]):
        known = [x for x in aligned if low <= x <= high]
        x = known[0] if known else (low + high) / 2
        if not known and any(_is_between(rows, x, other) for other in aligned):
            continue
        crossed = sum(any(a < x < b for a, b in row.line.parts) for row in rows)
        parts = (pairwise(zip(row.line.parts, row.columns, strict=True)) for row in several)
        sides = [(left, right) for own in parts for ((_, a), left), ((b, _), right) in own if a <= x <= b]
        is_open = len(sides) >= max(min(_FEWEST, len(several)), _OPEN * len(several))
        is_wide = high - low >= _STRIP * size and is_open
        is_named = sum(left != right for left, right in sides) >= _DIFFER * len(sides)
        most = max(_CROSS * len(rows), spared * (len(sides) > 1))
        if sides and crossed <= most and (known or is_wide or is_named):
            yield x


def _is_between(rows: Sequence[NamedRow], x: float, other: float) -> bool:
    """Returns whether hardly a row has text between two places, so that columns meet at one of them only."""
    low, high = min(x, other), max(x, other)
    return sum(any(low < (a + b) / 2 < high for a, b in row.line.parts) for row in rows) <= _CROSS * len(rows)
