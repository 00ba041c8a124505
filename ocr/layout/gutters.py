"""Finds white stretches of rows of print, kept as the bits of one integer, so that many rows are searched at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from ocr.imaging.profiles import Mask, doubling


@dataclass(frozen=True, slots=True)
class Gutter:
    """A white stretch of columns, from left up to right."""

    left: int
    right: int

    @property
    def width(self) -> int:
        """Its width in pixels."""
        return self.right - self.left

    @property
    def middle(self) -> int:
        """The x of its middle."""
        return (self.left + self.right + 1) // 2

    def without(self, inked: int) -> "Gutter":
        """Returns the widest white that remains of the gutter beside ink."""
        between = (inked >> self.left & (1 << self.width) - 1) << 1 | 1 | 1 << self.width + 1
        widest = max(gutters(between, 1), key=lambda gutter: gutter.width, default=Gutter(1, 1))
        return Gutter(self.left - 1 + widest.left, self.left - 1 + widest.right)


def bits_of(inked: Mask) -> int:
    """Returns a number whose bit x says whether column x has ink. inked: [W]."""
    return int.from_bytes(np.packbits(inked, bitorder="little").tobytes(), "little")


def together(rows: Iterable[int]) -> int:
    """Returns the bits that are set in any of the rows."""
    return reduce(or_, rows, 0)


def num_gutters(inked: int, least_px: int) -> int:
    """Returns how many white stretches between ink are at least this wide."""
    return _starts(inked, least_px).bit_count()


def gutters(inked: int, least_px: int) -> list[Gutter]:
    """Returns the white stretches between ink that are at least this wide, left to right."""
    found, starts = [], _starts(inked, least_px)
    while starts:
        left = _lowest(starts)
        found.append(Gutter(left, left + _lowest(inked >> left)))
        starts &= starts - 1
    return found


def gutter_at(x: int, inked: int, width_px: int) -> Gutter:
    """Returns the white around x, up to the edges of a page of this width where there is no ink."""
    return Gutter((inked & (1 << x) - 1).bit_length(), x + _lowest(inked >> x | 1 << width_px - x))


def _lowest(bits: int) -> int:
    """Returns the number of the lowest set bit."""
    return (bits & -bits).bit_length() - 1


def _starts(inked: int, least_px: int) -> int:
    """Returns the first column of each white stretch between ink that is at least this wide."""
    wide = ~inked & ((1 << inked.bit_length()) - 1)
    wide &= -(inked & -inked)  # without the white to the left of all ink
    for step in doubling(least_px):
        wide &= wide >> step
    # Of the columns that begin enough white, keep those after ink.
    return wide & (inked << 1)
