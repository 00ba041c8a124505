"""Finds rows of print: runs of rows with ink between one white gap and the next."""

import numpy as np
import numpy.typing as npt

from ocr.imaging.ink import Mask

# Up to this many pixels of ink in a row are dust.
_NOISE_PX = 1
# The most pixels whose count fits into a byte: sums of bytes take a tenth of the time.
_MOST_IN_BYTE = 255


def bands_of(window: Mask) -> list[tuple[int, int]]:
    """Returns (top, bottom) of each stretch of rows with ink, top to bottom. window: [H, W] bool."""
    return bands_in(ink_in_rows(window))


def bands_in(counts: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Returns (top, bottom) of each stretch of rows with ink, given how many pixels of each row have ink."""
    full = np.concatenate(([False], counts > _NOISE_PX, [False])).astype(np.int8)
    steps = np.diff(full)
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))


def ink_in_rows(window: Mask) -> npt.NDArray[np.int64]:
    """Returns how many pixels of each row have ink. window: [H, W] bool."""
    pixels = window.view(np.uint8)
    counts = np.zeros(len(pixels), np.int64)
    for left in range(0, pixels.shape[1], _MOST_IN_BYTE):
        counts += np.add.reduce(pixels[:, left : left + _MOST_IN_BYTE], axis=1, dtype=np.uint8)
    return counts
