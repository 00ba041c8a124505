"""Finds columns of text by the white between a page's lines, and tells them from the columns of a table. Numpy only.

A gutter is white that no line stands across over many rows. What stands on its two sides is read one after the other
if the rows do not share their baselines, or if both sides fill their lines, or if both are alike, as in an index.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import ASCENT, DESCENT, ONE_ROW
from ocr.imaging.profiles import stretches
from ocr.line_reader.found_lines import TextLine

# In type sizes.
_SLACK = 0.3  # ends of lines that reach so far into a gutter do not close it
_SAME_BASE = 0.25  # baselines that differ less are those of one row of a table
_FURNITURE = 3.0  # a row that stands so far from the others is a header, a footer or a page number
_RUNNING = 9.0  # running text is wider
_NARROW = 3.5  # a side most of whose lines are narrower is numbers or marks beside lines
_INDENT = 0.4
_HEADLINE, _WHITE = 1.3, 0.8  # a headline's type, and the white above it, where it begins an article
_PIECE = 8.0  # lines of running text are wider, cells in rows that share their baselines often not
_CLOSE = (
    1.7  # rows of running text that share their baselines are nearer; those of tables may be further apart
)
# Rows.
_LEAST_ROWS = 4
_LEAST_EVEN_ROWS = 8
_LEAST_TABLE_ROWS = 3
# Shares.
_CELLS = 0.55  # of a side's width: rows of a table fill less
_ALIGNED = 0.7  # with so many rows that share their baseline the sides may be those of a table
_FULL = 0.62  # of a side's width: rows of running text reach that far ...
_MOSTLY = 0.45  # ... in at least this share of them
_AS_MANY = 0.5  # of the rows of the other side: with fewer they are labels or notes
_EVEN = 0.08  # the most by which widths of equal columns differ
_SET_IN = (0.12, 0.92)  # indented rows in an index

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of one side of a gutter, from top to bottom: arrays of their ends, of the widths of their lines together
    and of their baselines. piece: the width of the middle one of their lines.
    """

    left: Numbers
    right: Numbers
    filled: Numbers
    base: Numbers
    piece: float = 0.0

    @property
    def width(self) -> float:
        return float(self.right.max() - self.left.min())


def parted_by_columns(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Returns the lines in parts to be read one after the other: what is above, each column, what is below."""
    if len(lines) < 2 * _LEAST_ROWS:
        return [list(lines)] if lines else []
    ordered = sorted(lines, key=lambda line: line.middle)
    table = np.array([(line.left, line.right, line.middle, line.size) for line in ordered], np.float64)
    if start := _article(table):
        return [*parted_by_columns(ordered[:start]), *parted_by_columns(ordered[start:])]
    for split in _splits(table):
        part = _sides(table, *split)
        if part is not None:
            return [
                found
                for number in range(4)
                for found in parted_by_columns([ordered[i] for i in np.flatnonzero(part == number)])
            ]
    return [ordered]


def _article(table: Numbers) -> int:
    """Returns the number of the first line that begins an article below others; 0 where there is none.

    It is a headline over several columns, with white above it that goes across the page.
    """
    size = float(np.median(table[:, 3]))
    feet = np.maximum.accumulate(table[:, 2] + DESCENT * table[:, 3])
    tops = np.minimum.accumulate((table[:, 2] - ASCENT * table[:, 3])[::-1])[::-1]
    for number in range(_LEAST_ROWS, len(table)):
        left, right, _, own = table[number]
        is_apart = own > _HEADLINE * size and tops[number] - feet[number - 1] > _WHITE * size
        if is_apart and any(left < x < right for _, _, x in _splits(table[number + 1 :])):
            return number
    return 0


def _splits(table: Numbers) -> Iterator[tuple[int, int, float]]:
    """Yields (first, end, x) of runs of lines that no line crosses at x, those with the most lines beside it first.

    But before them those that no line crosses at all: what is beside one may be two columns, of which one is short.
    """
    slack = _SLACK * table[:, 3]
    left, right = table[:, 0] + slack, table[:, 1] - slack
    found: dict[tuple[int, int, int], tuple[int, float, float]] = {}
    for x in np.unique(np.round(right)) + 0.5:
        crossed = np.flatnonzero((left < x) & (right > x))
        for first, end in zip([0, *(crossed + 1)], [*crossed, len(table)], strict=True):
            before = right[first:end] <= x
            number = int(before.sum())
            least = min(number, end - first - number)
            if least < _LEAST_ROWS:
                continue
            white = float(left[first:end][~before].min() - right[first:end][before].max())
            key = first, end, number
            found[key] = max(found.get(key, (0, 0.0, 0.0)), (least, white, float(x)))
    order = sorted(found.items(), key=lambda item: (item[0][:2] == (0, len(table)), item[1]), reverse=True)
    for (first, end, _), (_, _, x) in order:
        yield first, end, x


def _sides(table: Numbers, first: int, end: int, x: float) -> npt.NDArray[np.int64] | None:
    """Returns for each line whether it is above, left, right or below (0 to 3); None where the sides are no columns."""
    part = np.zeros(len(table), np.int64)
    part[end:] = 3
    own = np.arange(first, end)
    is_left = table[own, 1] - _SLACK * table[own, 3] <= x
    size = float(np.median(table[own, 3]))
    top, bottom = np.inf, -np.inf
    for side in (is_left, ~is_left):
        low, high = _without_furniture(table[own[side], 2], size)
        top, bottom = min(top, low), max(bottom, high)
    base = table[own, 2]
    left, right = _rows(table[own[is_left]]), _rows(table[own[~is_left]])
    for low, high in _without_tables(left, right, top, bottom, size):
        part[own] = np.where(base < low, 0, np.where(base > high, 3, np.where(is_left, 1, 2)))
        left, right = _rows(table[part == 1]), _rows(table[part == 2])
        if min(len(left.base), len(right.base)) >= _LEAST_ROWS and _are_columns(left, right, size):
            return part
    return None


def _without_tables(
    left: _Rows, right: _Rows, top: float, bottom: float, size: float
) -> list[tuple[float, float]]:
    """Returns the stretches between `top` and `bottom` without rows of tables over both sides, tallest first.

    A whole stretch of such rows is returned as it is.
    """
    short = left.filled < _CELLS * left.width
    tabular = short & (
        np.abs(left.base[:, None] - right.base[right.filled < _CELLS * right.width]) < _SAME_BASE * size
    ).any(axis=1)
    runs = [(a, b) for a, b in stretches(tabular) if b - a >= _LEAST_TABLE_ROWS]
    if not runs or sum(b - a for a, b in runs) > _MOSTLY * len(tabular):
        return [(top, bottom)]
    ends = [top, *(y for a, b in runs for y in (left.base[a] - size, left.base[b - 1] + size)), bottom]
    return sorted(zip(ends[::2], ends[1::2], strict=True), key=lambda found: found[0] - found[1])


def _without_furniture(base: Numbers, size: float) -> tuple[float, float]:
    """Returns the baselines of the first and the last row of a side without header, footer and page number."""
    far = np.flatnonzero(np.diff(base) > _FURNITURE * size)
    first = 1 if len(far) and far[0] == 0 else 0
    last = len(base) - (2 if len(far) and far[-1] == len(base) - 2 else 1)
    return (float(base[first]), float(base[last])) if first < last else (float(base[0]), float(base[-1]))


def _rows(table: Numbers) -> _Rows:
    """Returns the rows that lines in the order of their baselines make up."""
    if not len(table):
        return _Rows(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0))
    starts = np.flatnonzero(np.diff(table[:, 2], prepend=-np.inf) > ONE_ROW * table[:, 3])
    return _Rows(
        np.minimum.reduceat(table[:, 0], starts),
        np.maximum.reduceat(table[:, 1], starts),
        np.add.reduceat(table[:, 1] - table[:, 0], starts),
        np.add.reduceat(table[:, 2], starts) / np.diff([*starts, len(table)]),
        float(np.median(table[:, 1] - table[:, 0])),
    )


def _are_columns(left: _Rows, right: _Rows, size: float) -> bool:
    if min(left.piece, right.piece) < _NARROW * size:
        return False
    is_close = all(np.median(np.diff(rows.base)) < _CLOSE * size for rows in (left, right))
    fewer, more = sorted((left, right), key=lambda rows: len(rows.base))
    are_cells = (
        min(left.piece, right.piece) < _PIECE * size and float(np.mean(_aligned(fewer, more))) > _ALIGNED
    )
    if is_close and not are_cells and _is_running(left, size) and _is_running(right, size):
        return True
    if len(fewer.base) < max(_LEAST_EVEN_ROWS, _AS_MANY * len(more.base)):
        return False
    if float(np.mean(_aligned(fewer, more))) < _ALIGNED:
        return True
    narrow, wide = sorted((left.width, right.width))
    return _is_index(left, size) and _is_index(right, size) and narrow > (1 - _EVEN) * wide


def _aligned(rows: _Rows, others: _Rows) -> npt.NDArray[np.bool_]:
    """Returns for each row whether one of the other side has the same baseline."""
    pitch = float(np.median(np.diff(rows.base)))
    apart: Numbers = np.abs(rows.base[:, None] - others.base[None, :]).min(axis=1)
    return apart < _SAME_BASE * pitch


def _is_running(rows: _Rows, size: float) -> bool:
    full = np.mean(rows.filled > _FULL * rows.width)
    return bool(rows.width > _RUNNING * size and full > _MOSTLY)


def _is_index(rows: _Rows, size: float) -> bool:
    set_in = float(np.mean(rows.left - rows.left.min() > _INDENT * size))
    return len(rows.base) >= _LEAST_EVEN_ROWS and _SET_IN[0] <= set_in <= _SET_IN[1]
