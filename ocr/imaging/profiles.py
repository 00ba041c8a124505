"""Finds runs and lines in profiles: in which rows or columns of a page, or of a strip of it, there is ink.

The finders of lines, gutters, rules and marks all use these, whatever they count and whatever their threshold.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
# Rows of small letters have so much of the ink of the fullest row this far up or down, over a line's pitch, as
# ascenders' rows have less; of a strip's width so much; and are so many: 4 pt at 150 dpi has 4. The network that tells
# which way up a page is was trained with these.
REACH_PX, _DENSE, _LEAST, _X_HEIGHTS_PX = 15, 0.4, 0.05, (3, 64)


def runs(flags: Mask) -> tuple[Ints, ...]:
    """Returns starts and ends of the runs of set flags along the last axis; before them their rows, for two axes."""
    wide = flags.shape[-1] + 1
    rows = np.zeros((*flags.shape[:-1], wide), np.bool_)  # unset before each row
    rows[..., 1:] = flags
    padded = np.append(rows, False)
    at = np.flatnonzero(padded[1:] != padded[:-1])
    start, end = at[::2], at[1::2]
    return (start, end) if flags.ndim == 1 else (start // wide, start % wide, end - start // wide * wide)


def stretches(flags: Mask) -> list[tuple[int, int]]:
    """Returns the start and the end of each run of set flags. flags: [N]."""
    return list(zip(*(places.tolist() for places in runs(flags)), strict=True))


def doubling(length: int) -> list[int]:
    """Returns the steps 1, 2, 4, ... and a last one, which add up to `length` from 1.

    Windows of any length are joined from shorter ones in these steps, in a few passes over all of them.
    """
    steps, reached = [], 1
    while reached < length:
        steps.append(min(reached, length - reached))
        reached += steps[-1]
    return steps


def letter_rows(counts_HS: npt.NDArray[Any], strip_px: int) -> tuple[Ints, Ints, Ints]:
    """Returns strip, top and bottom of each run of rows that small letters fill, strip by strip, from top to bottom.

    counts_HS: how many pixels of each row have ink, for each of S upright strips of about strip_px.
    """
    padded = np.pad(counts_HS.astype(np.float32), ((1, 1), (0, 0)), mode="edge")
    smooth: Floats = ((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4).astype(np.float32, copy=False)
    most = _highest_near(smooth, REACH_PX)
    dense = (smooth > _DENSE * most) & (smooth >= _LEAST * strip_px)
    strip, top, bottom = runs(np.ascontiguousarray(dense.T))
    fits = (bottom - top >= _X_HEIGHTS_PX[0]) & (bottom - top <= _X_HEIGHTS_PX[1])
    return strip[fits], top[fits], bottom[fits]


def _highest_near(profile_HS: Floats, reach_px: int) -> Floats:
    """Returns the highest value of the rows up to reach_px above and below each, strip by strip."""
    highest = np.pad(profile_HS, ((reach_px, reach_px), (0, 0)))
    for step in doubling(2 * reach_px + 1):
        highest = np.maximum(highest[:-step], highest[step:])
    return highest


def counts_in_windows(flags: Mask, height: int, width: int) -> npt.NDArray[np.int32]:
    """Returns how many flags are set in each window that lies inside: [H - height + 1, W - width + 1]."""
    sums = np.pad(np.cumsum(np.cumsum(flags, 0, np.int32), 1, np.int32), ((1, 0), (1, 0)))
    counts: npt.NDArray[np.int32] = (
        sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    )
    return counts


def is_framed(inked: Mask, edge_px: int, least: float = 0.8) -> bool:
    """Returns whether ink runs along all four edges of a picture."""
    across, down = (inked[:edge_px], inked[-edge_px:]), (inked[:, :edge_px], inked[:, -edge_px:])
    return bool(min(*(side.any(0).mean() for side in across), *(side.any(1).mean() for side in down)) > least)
