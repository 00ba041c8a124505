"""Measures by how much a page is turned, from the sharpness of its lines of text."""

from functools import partial

import numpy as np
import numpy.typing as npt

from ocr.imaging.profiles import Mask

# The largest slant at which a page is read well apart from the order of its lines; and that of a sheet lying askew.
MAX_DEG, MAX_SLANT_DEG = 3.0, 30.0
_COARSE_DEG, _FINE_DEG = 0.5, 0.1  # the steps in which angles are tried
_MIN_POINTS, _MAX_POINTS = 1000, 60_000  # with fewer any angle may seem sharp; more cost time
_MIN_GAIN = 1.15  # how much sharper than a level page the best angle must be


def skew_deg(text: Mask, max_deg: float = MAX_DEG, max_points: int = _MAX_POINTS) -> float:
    """Returns the angle, counterclockwise, that turns the lines level; 0 where no angle is clearly better.

    text: [H, W] bool. max_deg: the largest angle. max_points: the most inked pixels that are examined.
    """
    rows, columns = np.nonzero(text)
    if len(rows) < _MIN_POINTS:
        return 0.0
    step = max(1, len(rows) // max_points)
    # Rows of pixels, thinned evenly: every n-th of the points in reading order.
    ys, xs = rows[::step].astype(np.float64), columns[::step].astype(np.float64)
    sharpness = partial(_sharpness, ys, xs)
    best = max(np.arange(-max_deg, max_deg + 1e-9, _COARSE_DEG), key=sharpness)
    best = max(best + np.arange(-_COARSE_DEG, _COARSE_DEG + 1e-9, _FINE_DEG), key=sharpness)
    return float(best) if sharpness(best) > _MIN_GAIN * sharpness(0.0) else 0.0


def _sharpness(ys: npt.NDArray[np.float64], xs: npt.NDArray[np.float64], angle_deg: float) -> float:
    """Returns how much neighbouring rows differ in ink after turning; high where lines and gaps fall on rows."""
    rows = np.rint(ys - xs * np.tan(np.radians(angle_deg))).astype(np.int64)
    counts = np.bincount(rows - rows.min())
    return float(np.square(np.diff(counts)).sum())
