"""Puts lines of text into reading order: columns one after the other, cells of a table row by row. Numpy only.

Lines that follow each other closely are blocks. Blocks of running text are read each by itself; all other lines are
joined to rows with what stands beside them. Units are then ordered by which must come first: what stands above, and of
what stands side by side the left one. Source: Breuel 2003, High Performance Document Layout Analysis, whose second rule
is used only for what stands side by side, so that a letter's date stays above the address.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import median
from typing import Any

import numpy as np

from ocr.imaging.measures import ONE_ROW
from ocr.imaging.profiles import Mask
from ocr.line_reader.found_lines import TextLine
from ocr.line_reader.levelling import levelled
from ocr.line_reader.line_columns import parted_by_columns

# In type sizes.
_PITCH = 2.1  # baselines of successive lines of a block are nearer
_RUNNING = 9.0  # a block of running text is wider
_FULL = 0.62  # of the block's width: lines of running text reach that far ...
_MOSTLY = 0.45  # ... in at least this share of its lines
_ALIKE = 1.5  # lines of one block differ less in type size
_OVERLAP = 0.5  # of the narrower of two lines of a block, one above the other
_BESIDE = 0.12  # blocks that overlap by less of the narrower one stand side by side
_FEW_LINES = 2  # fewer lines than these are no block of running text by themselves
_SIDE_BY_SIDE = 0.25  # of the lower one: units that share more of their height stand side by side
# White between pieces of a torn line is narrower: where lines above and below say nothing, or run over it.
_SPACE, _TORN = 1.0, 2.0
_LABELLED = 0.5  # of a block's lines: with so many beside short ones it is the rows of a table

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class _Unit:
    """Lines that are read together, row by row, and their bounds."""

    rows: list[list[TextLine]]
    box: Box


def in_reading_order(lines: Sequence[TextLine]) -> list[list[list[TextLine]]]:
    """Returns the lines as blocks of rows, each row's lines from left to right."""
    level = levelled(lines)
    own = dict(zip(map(id, level), lines, strict=True))
    blocks = (block for part in parted_by_columns(level) for block in _in_one_part(part))
    return [[[own[id(line)] for line in row] for row in block] for block in blocks]


def _in_one_part(lines: Sequence[TextLine]) -> list[list[list[TextLine]]]:
    whole = [(reduce(TextLine.joined, row), row) for row in _whole(lines)]
    pieces = {id(line): row for line, row in whole}
    blocks = _blocks(sorted((line for line, _ in whole), key=lambda line: line.middle))
    full = [block for block in blocks if _is_running(block)]
    short = [line for block in blocks if not _is_running(block) for line in block]
    running = [block for block in full if not _is_labelled(block, short)]
    others = short + [line for block in full if _is_labelled(block, short) for line in block]
    units = []
    for block in running:
        rows = [
            _with_pieces(line, others, block[max(0, number - 1) : number + 2])
            for number, line in enumerate(block)
        ]
        others = [line for line in others if not any(line in row for row in rows)]
        units.append(_unit(rows))
    units += _row_units(others, [unit.box for unit in units])
    return [
        [[piece for line in row for piece in pieces[id(line)]] for row in unit.rows]
        for unit in _sorted(units)
    ]


def _whole(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Returns the lines, as one those between which is white that a line above or below runs over: no column's."""
    ordered = sorted(lines, key=lambda line: line.left)
    left, right, middle, _ = _places(ordered)
    rows: list[list[TextLine]] = []
    last = np.zeros(len(ordered), np.intp)  # of each row
    for number, line in enumerate(ordered):
        apart = np.abs(middle - line.middle)
        own = last[: len(rows)]
        is_near = (line.left - right[own] < _TORN * line.size) & (apart[own] < ONE_ROW * line.size)
        near = (row for row in np.flatnonzero(is_near).tolist() if _is_one_row(rows[row][-1], line))
        row = next(near, len(rows))
        if row < len(rows):
            is_near = (ONE_ROW * line.size < apart) & (apart < _PITCH * line.size)
            if not (is_near & (left < rows[row][-1].right) & (line.left < right)).any():
                row = len(rows)
        if row == len(rows):
            rows.append([])
        rows[row].append(line)
        last[row] = number
    return rows


def _places(lines: Sequence[TextLine]) -> Any:
    """Returns the lines' left and right ends, middles and type sizes, [4, N]."""
    return np.array([(it.left, it.right, it.middle, it.size) for it in lines], np.float64).reshape(-1, 4).T


def _blocks(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Returns chains of lines of which each is the next below the other, and the other the next above it."""
    below, above = _next(lines, 1), _next(lines, -1)
    follows = {end: start for start, end in enumerate(below) if end >= 0 and above[end] == start}
    after = {start: end for end, start in follows.items()}
    found = []
    for number in range(len(lines)):
        if number not in follows:
            chain, at = [lines[number]], number
            while at in after:
                at = after[at]
                chain.append(lines[at])
            found.append(chain)
    return found


def _next(lines: Sequence[TextLine], sign: int) -> list[int]:
    """Returns for each line the nearest one below (sign 1) or above it (-1) that may be of its block, or -1.

    Lines are in the order of baselines.
    """
    left, right, middle, size = _places(lines)
    far = middle + sign * 2 * _PITCH * size
    first, end = (
        np.searchsorted(middle, y) for y in (np.minimum(middle, far) - 1, np.maximum(middle, far) + 1)
    )
    one = np.repeat(np.arange(len(lines)), end - first)
    other = np.arange(len(one)) - np.repeat(np.cumsum(end - first) - end, end - first)
    pitch = sign * (middle[other] - middle[one])
    large, small = np.maximum(size[one], size[other]), np.minimum(size[one], size[other])
    overlap = np.minimum(right[one], right[other]) - np.maximum(left[one], left[other])
    narrower = np.minimum(right[one] - left[one], right[other] - left[other])
    may = (pitch >= ONE_ROW * small) & (pitch <= _PITCH * np.minimum(large, 2 * size[one]))
    may &= (large < _ALIKE * small) & (overlap > _OVERLAP * narrower)
    order = np.lexsort((other, pitch - 0.001 * overlap / large))[::-1]
    order = order[may[order]]
    nearest = np.full(len(lines), -1)
    nearest[one[order]] = other[order]  # of several the last one, which is the nearest
    return nearest.tolist()


def _is_running(block: Sequence[TextLine]) -> bool:
    """Returns whether a block is running text: wide, with most lines full."""
    if len(block) < _FEW_LINES:
        return False
    width = max(line.right for line in block) - min(line.left for line in block)
    full = sum(line.right - line.left > _FULL * width for line in block)
    return width > _RUNNING * median(line.size for line in block) and full > _MOSTLY * len(block)


def _is_labelled(block: Sequence[TextLine], short: Sequence[TextLine]) -> bool:
    """Returns whether most lines of a block stand beside short lines: they are a table's or a numbered page's rows."""
    rows = sum(any(_is_one_row(line, other) for other in short) for line in block)
    return rows >= _LABELLED * len(block)


def _with_pieces(line: TextLine, others: Sequence[TextLine], near: Sequence[TextLine]) -> list[TextLine]:
    """Returns a line of running text with the pieces of its row, for a row may be torn at faint print or wide spaces.

    Between them is a space, or white that one of the lines above and below it, near, runs over: it is no column's.
    """

    def is_piece(other: TextLine, own: TextLine) -> bool:
        left, right = min(own.right, other.right), max(own.left, other.left)
        is_over = any(it.left < left and right < it.right for it in near if it is not line)
        return _is_one_row(own, other) and (right - left < _SPACE * line.size or is_over)

    row = [line]
    while found := [it for it in others if it not in row and any(is_piece(it, own) for own in row)]:
        row += found
    return sorted(row, key=lambda piece: piece.left)


def _row_units(lines: Sequence[TextLine], running: Sequence[Box]) -> list[_Unit]:
    """Returns rows of the other lines: neighbours at one height, unless running text stands between them."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.middle):
        for row in reversed(rows[-40:]):
            near = [other for other in row if _is_one_row(line, other)]
            if near and not any(_is_between(box, line, near) for box in running):
                row.append(line)
                break
        else:
            rows.append([line])
    return [_unit([sorted(row, key=lambda line: line.left)]) for row in rows]


def _is_one_row(line: TextLine, other: TextLine) -> bool:
    apart = abs(line.middle - other.middle)
    beside = line.left >= other.right - line.size or line.right <= other.left + line.size
    return beside and apart < ONE_ROW * min(line.size, other.size)


def _is_between(box: Box, line: TextLine, row: Sequence[TextLine]) -> bool:
    """Returns whether a box of running text stands at this height between a line and the nearest one of a row."""
    if not box[1] - 0.5 * line.size < line.middle < box[3] + 0.5 * line.size:
        return False
    for other in row:
        left, right = min(line.right, other.right), max(line.left, other.left)
        if min(box[2], right) - max(box[0], left) > 0:
            return True
    return False


def _unit(rows: list[list[TextLine]]) -> _Unit:
    x0, y0, x1, y1 = zip(*(line.box for row in rows for line in row), strict=True)
    return _Unit(rows, (min(x0), min(y0), max(x1), max(y1)))


def _sorted(units: Sequence[_Unit]) -> list[_Unit]:
    """Returns the units so that each comes after those that must precede it, the upper and the left ones first."""
    precedes = _precedence(units)
    order = sorted(range(len(units)), key=lambda number: (units[number].box[1], units[number].box[0]))
    earlier = [[other for other in order if precedes[other, number]] for number in range(len(units))]
    done: list[int] = []
    seen: set[int] = set()
    for start in order:
        stack = [(start, iter(earlier[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            number, rest = stack[-1]
            first = next((other for other in rest if other not in seen), None)
            if first is None:
                done.append(number)
                stack.pop()
            else:
                seen.add(first)
                stack.append((first, iter(earlier[first])))
    return [units[number] for number in done]


def _precedence(units: Sequence[_Unit]) -> Mask:
    """Returns [N, N] whether a unit is read before another: it stands above, or side by side with it to the left."""
    left, top, right, bottom = np.array([unit.box for unit in units]).reshape(-1, 4).T
    middle, widths, heights = (top + bottom) / 2, np.maximum(right - left, 1.0), bottom - top
    shared = np.minimum.outer(right, right) - np.maximum.outer(left, left)
    low = np.minimum.outer(bottom, bottom) - np.maximum.outer(top, top)
    across = shared > _BESIDE * np.minimum.outer(widths, widths)
    beside = ~across & (low > _SIDE_BY_SIDE * np.minimum.outer(heights, heights))
    precedes: Mask = np.where(beside, np.less.outer(left, left), np.less.outer(middle, middle))
    return precedes
