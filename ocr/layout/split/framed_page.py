"""Finds a page within a page: text in a frame, with other print beside the frame."""

from itertools import pairwise

import numpy as np

from ocr.imaging.profiles import Mask, runs
from ocr.layout.crops import Box

# Shares of the box that is searched.
_MIN_HEIGHT, _MIN_WIDTH = 0.35, 0.25
_LEVEL = 0.9  # the share of a frame's width that is ruled at its top and its foot
_NEAR_PX = 6  # how far a rule may lie from its middle, as it is drawn askew
_MIN_SIDE_ROWS = 0.03  # the share of the frame's height with print at its side


def find_frame(obstacles: Mask, rules: Mask, box: Box) -> Box | None:
    """Returns the largest frame in a box that has print to its left or right; None where there is none.

    A table is no frame: it has further rules inside. obstacles, rules: [H, W] bool.
    """
    x0, y0, x1, y1 = box
    ruled, inked = rules[y0:y1, x0:x1], obstacles[y0:y1, x0:x1]
    height, width = ruled.shape
    upright = _middles(np.count_nonzero(ruled, axis=0) >= _MIN_HEIGHT * height)
    found = []
    for left, right in pairwise(upright):
        if right - left < _MIN_WIDTH * width:
            continue
        level = _middles(np.count_nonzero(ruled[:, left:right], axis=1) >= _LEVEL * (right - left))
        if len(level) != 2 or level[1] - level[0] < _MIN_HEIGHT * height:
            continue
        if not all(_reaches(ruled, x, *level) for x in (left, right)):
            continue
        top, bottom = level
        beside = inked[top:bottom, : max(0, left - _NEAR_PX)], inked[top:bottom, right + _NEAR_PX :]
        if any(np.count_nonzero(side.any(axis=1)) >= _MIN_SIDE_ROWS * (bottom - top) for side in beside):
            found.append((x0 + left, y0 + top, x0 + right, y0 + bottom))
    return max(found, key=lambda frame: frame[2] - frame[0], default=None)


def _middles(flags: Mask) -> list[int]:
    """Returns the middle of each run of set flags."""
    return [int(start + end) // 2 for start, end in zip(*runs(flags), strict=True)]


def _reaches(ruled: Mask, x: int, top: int, bottom: int) -> bool:
    """Returns whether an upright rule near x goes from the top to the foot."""
    near = ruled[top : bottom + 1, max(0, x - _NEAR_PX) : x + _NEAR_PX + 1].any(axis=1)
    return float(near.mean()) >= _LEVEL
