"""Finds the rows of print of a page whose columns are known, and what each has on either side of the gutters."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import CELLS_APART, HIGHEST_LINE, LOWEST_MARK, OPEN_GUTTER
from ocr.imaging.profiles import Mask
from ocr.layout.bands import bands_of
from ocr.layout.columns import profile
from ocr.layout.gutters import Gutter, bits_of

# In x-heights.
_NEAR = 0.7  # the distance of dots and feet of letters from the letters
_NARROWEST = 3.0  # lower and narrower marks than LOWEST_MARK and this are specks
_FILLED = 0.7  # the share of its column's width that a line of text reaches over


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """A strip of rows with ink, top to bottom; the rows up to the strip above are white or ruled.

    inked: the columns with ink as bits, narrow spaces filled. crosses: whether it, or a rule in it, closes a gutter.
    sides: which have ink.
    cells: whether it is one line and all of its sides, two at least, are cells of a row: short, or with a wide space.
    spaced: whether a side has a wide space. ruled_above: whether a rule in the white above it runs over all gutters;
    ruled_beside: whether a rule there, or in it, does not.
    """

    top: int
    bottom: int
    inked: int
    crosses: bool
    sides: tuple[bool, ...]
    cells: bool
    spaced: bool
    ruled_above: bool
    ruled_beside: bool

    def white_to(self, other: "Strip") -> int:
        """Returns the height of the white between two strips."""
        return max(other.top - self.bottom, self.top - other.bottom)


def strips_of(
    window: Mask, rules: Mask, columns: Mask, gutters: Sequence[Gutter], x_height_px: float
) -> list[Strip]:
    """Returns the strips of a window, top to bottom. window, rules: [H, W] bool; columns: some of its rows."""
    ends = [0, *(x for gutter in gutters for x in (gutter.left, gutter.right)), window.shape[1]]
    sides = list(zip(ends[::2], ends[1::2], strict=True))
    halves = list(pairwise([0, *(gutter.middle for gutter in gutters), window.shape[1]]))
    widths = [_extent(np.flatnonzero(columns[:, left:right].any(axis=0))) for left, right in sides]
    across = np.logical_and.reduce([rules[:, g.left : g.right].all(axis=1) for g in gutters])
    beside = rules.any(axis=1) & ~across
    found: list[Strip] = []
    for top, bottom in _whole(bands_of(window), x_height_px):
        rows = window[top:bottom]
        inked = bits_of(profile(rows, x_height_px, leaders=False))  # a full stop may face a bullet
        hits = [np.flatnonzero(rows[:, left:right].any(axis=0)) for left, right in halves]
        spaces = [int(np.diff(columns).max(initial=0)) > CELLS_APART * x_height_px for columns in hits]
        cells = [
            not len(columns) or spaced or _extent(columns) < _FILLED * width
            for columns, spaced, width in zip(hits, spaces, widths, strict=True)
        ]
        filled = tuple(bool(rows[:, left:right].any()) for left, right in sides)
        one_line = bottom - top <= HIGHEST_LINE * x_height_px
        closes = any(gutter.without(inked).width < OPEN_GUTTER * x_height_px for gutter in gutters)
        above = found[-1].bottom if found else 0
        found.append(
            Strip(
                top=top,
                bottom=bottom,
                inked=inked,
                crosses=bool(across[top:bottom].any()) or (closes and not _is_speck(rows, x_height_px)),
                sides=filled,
                cells=one_line and sum(filled) > 1 and all(cells),
                spaced=any(spaces),
                ruled_above=bool(across[above:top].any()),
                ruled_beside=bool(beside[above:bottom].any()),
            )
        )
    return found


def _extent(hits: npt.NDArray[np.int64]) -> int:
    return int(hits[-1] - hits[0]) + 1 if len(hits) else 0


def _whole(bands: Sequence[tuple[int, int]], x_height_px: float) -> list[tuple[int, int]]:
    """Returns the bands, with dots and feet of letters joined to their letters."""
    found: list[tuple[int, int]] = []
    for top, bottom in bands:
        if found:
            upper, end = found[-1]
            low = min(end - upper, bottom - top) < LOWEST_MARK * x_height_px
            if low and top - end < _NEAR * x_height_px:
                found[-1] = upper, bottom
                continue
        found.append((top, bottom))
    return found


def _is_speck(rows: Mask, x_height_px: float) -> bool:
    low = rows.shape[0] < LOWEST_MARK * x_height_px
    return low and int(np.count_nonzero(rows.any(axis=0))) < _NARROWEST * x_height_px
