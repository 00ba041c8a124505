"""Finds quantiles as NumPy does, in a fraction of its time where they are those of few numbers, or of shades."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.views import UInt8Array


def quantiles(values: npt.NDArray[np.float32] | UInt8Array, shares: Sequence[float]) -> list[float]:
    """Returns the values that are larger than such shares of all, 0 to 1, between two where none is.

    values: of any shape; shades are [H, W].
    """
    if values.dtype == np.uint8:
        ordered = np.repeat(np.arange(256), Image.fromarray(values).histogram())
    else:
        ordered = np.sort(values, axis=None)  # a tenth of np.partition's time
    found = []
    for at in (share * (values.size - 1) for share in shares):
        below, above, share = ordered[int(at)], ordered[min(int(at) + 1, values.size - 1)], at % 1
        apart = float(above - below)  # as NumPy rounds it
        found.append(float(below) + apart * share if share < 0.5 else float(above) - apart * (1 - share))
    return found
