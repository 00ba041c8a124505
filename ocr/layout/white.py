"""Finds white stretches of rows of print, kept as the bits of one integer, so that many rows are searched at once."""

from collections.abc import Iterable
from functools import reduce
from operator import or_

import numpy as np
import numpy.typing as npt


def bits_of(inked: npt.NDArray[np.bool_]) -> int:
    """Returns a number whose bit x says whether column x has ink. inked: [W]."""
    return int.from_bytes(np.packbits(inked, bitorder="little").tobytes(), "little")


def together(rows: Iterable[int]) -> int:
    """Returns the bits that are set in any of the rows."""
    return reduce(or_, rows, 0)


def num_gutters(inked: int, least_px: int) -> int:
    """Returns how many white stretches between ink are at least this wide."""
    starts = _starts(inked, least_px)
    return starts.bit_count()


def gutters(inked: int, least_px: int) -> list[int]:
    """Returns the middles of white stretches between ink that are at least this wide, left to right."""
    found, starts = [], _starts(inked, least_px)
    while starts:
        left = (starts & -starts).bit_length() - 1
        beyond = inked >> left
        right = left + (beyond & -beyond).bit_length() - 1
        found.append((left - 1 + right) // 2 + 1)
        starts &= starts - 1
    return found


def _starts(inked: int, least_px: int) -> int:
    """Returns the first column of each white stretch between ink that is at least this wide."""
    white = ~inked & ((1 << inked.bit_length()) - 1)
    white &= -(inked & -inked)  # without the white to the left of all ink
    wide, have = white, 1
    while have < least_px:
        step = min(have, least_px - have)
        wide &= wide >> step
        have += step
    # Of the columns that begin enough white, keep those after ink.
    return wide & (inked << 1)
