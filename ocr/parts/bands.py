"""Rows of print: what lies between one white gap and the next."""

import numpy as np

from ocr.parts.ink import Mask

# So many pixels of ink in a row are dust.
_NOISE_PX = 1


def bands_of(window: Mask) -> list[tuple[int, int]]:
    """Returns (top, bottom) of each stretch of rows with ink, top to bottom. window: [H, W] bool."""
    full = np.concatenate(([False], np.count_nonzero(window, axis=1) > _NOISE_PX, [False])).astype(np.int8)
    steps = np.diff(full)
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))
