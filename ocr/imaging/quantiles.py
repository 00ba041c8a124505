"""Finds quantiles as NumPy does, in a fraction of its time where they are those of few numbers, or of shades."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.views import UInt8Array


def quantiles(
    values: npt.NDArray[np.float32] | UInt8Array, shares: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Returns the values that are larger than such shares of all, 0 to 1, between two where none is.

    values: of any shape; shades are [H, W].
    """
    at = np.multiply(shares, values.size - 1)
    low = at.astype(np.intp)
    high = np.minimum(low + 1, values.size - 1)
    if values.dtype == np.uint8:
        sums = np.cumsum(Image.fromarray(values).histogram())
        below, above = np.searchsorted(sums, [low, high], "right")
    else:
        below, above = np.sort(values, axis=None)[np.stack([low, high])]  # a tenth of np.partition's time
    apart, share = above - below, at - low
    found: npt.NDArray[np.float64] = np.where(share < 0.5, below + apart * share, above - apart * (1 - share))
    return found
