"""Finds quantiles as NumPy does, in a fraction of its time where they are those of few numbers, or of shades."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.views import UInt8Array

Numbers = npt.NDArray[np.float64]


def quantiles(values: npt.NDArray[np.float32], shares: Sequence[float]) -> Numbers:
    """Returns the values, of those of an array of any shape, that are larger than such shares of them, 0 to 1."""
    flat = values.ravel()
    at = np.multiply(shares, flat.size - 1)
    low = at.astype(np.intp)
    high = np.minimum(low + 1, flat.size - 1)
    ordered = np.partition(flat, np.concatenate([low, high]))
    return _between(ordered[low], ordered[high], at - low)


def shade_quantiles(shades: UInt8Array, shares: Sequence[float]) -> Numbers:
    """Returns the same of shades, [H, W] uint8."""
    sums = np.cumsum(Image.fromarray(shades).histogram())
    at = np.multiply(shares, shades.size - 1)
    low = np.floor(at)
    return _between(
        np.searchsorted(sums, low, "right"), np.searchsorted(sums, np.ceil(at), "right"), at - low
    )


def _between(low: npt.NDArray[np.generic], high: npt.NDArray[np.generic], share: Numbers) -> Numbers:
    apart = np.subtract(high, low)
    found: Numbers = np.where(share < 0.5, low + apart * share, high - apart * (1 - share))
    return found
