"""Measures how much text a box holds for the model, in characters of running text.

Rows with wide white spaces, as in tables, count several times, because the model loses its row or its column.
"""

import numpy as np

from ocr.imaging.profiles import Mask
from ocr.layout.bands import bands_of
from ocr.layout.crops import Box
from ocr.layout.letter_sizes import Lines

_TABLE_WEIGHT = 4.0
# In x-heights: white at which the model may lose a row, and the height of the highest row of cells.
_WIDE_SPACE, _MAX_ROW = 4.0, 14.0
# The least cells of a table's row: a line number before a line of code, or a comment after it, makes no table.
_CELLS = 3


def weighted_chars(obstacles: Mask, lines: Lines, box: Box) -> float:
    """Returns the number of characters in a box, with those in table rows weighted. lines: the lines in the box."""
    x_height_px = lines.x_height_px(0.5)
    x0, y0, x1, y1 = box
    window = obstacles[y0:y1, x0:x1]
    middles = (lines.top + lines.bottom) / 2 - y0
    weights = np.ones(len(middles))
    for top, bottom in bands_of(window):
        if bottom - top <= _MAX_ROW * x_height_px:
            spaces = np.diff(np.flatnonzero(window[top:bottom].any(axis=0)))
            if np.count_nonzero(spaces > _WIDE_SPACE * x_height_px) >= _CELLS - 1:
                weights[(middles >= top) & (middles < bottom)] = _TABLE_WEIGHT
    return float((weights * lines.num_chars).sum())
