"""How high a line of text stands exactly: rows of cells are 16 px high, its ink tells the rest."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from encoders.views import UInt8Array
from ocr.placing.canvas import CELL_HEIGHT_PX, CELL_WIDTH_PX

_CHUNK_PX = 256  # skew moves a line by less than its own height over this
_DENSE = 0.45  # of a usual dense row: between the baseline and the height of most letters
_USUAL = 65  # the percentile of the rows with ink that is a dense one; a dash is denser than any letter
_SPARSE = 0.03  # of them: where only ascenders reach
_FAINT = 12  # levels of grey that are no ink
_RULE, _RULE_PX = 0.8, 96  # a row with ink over this much of so much width is a rule, no text
_BELOW_PX = 6  # cells name what has its middle in them: small letters may stand lower
_MIN_DENSE_PX, _MIN_SHARE = 3, 0.5  # of the dense rows, and of the rows of cells but one
# In type sizes: the height of small letters (lowest, usual, highest), of capitals and ascenders, and a line's band.
_SMALL_HEIGHT = (0.38, 0.45, 0.54)
_TALL_HEIGHT = 0.7
_ASCENT, _DESCENT = 0.77, 0.23
_MOSTLY = 0.65
_SMALL = frozenset("acegmnopqrsuvwxyzı")


def band(grey_HW: UInt8Array, cells: tuple[int, int, int, int], text: str) -> tuple[float, float] | None:
    """Top and bottom in pixels of the line of text in these cells (x0, y0, x1, y1), from ascenders to descenders.

    None where no ink shows it. The type size follows from the height of the letters that the text has.
    """
    x0, x1 = cells[0] * CELL_WIDTH_PX, cells[2] * CELL_WIDTH_PX
    y0, y1 = cells[1] * CELL_HEIGHT_PX, cells[3] * CELL_HEIGHT_PX
    edges = np.linspace(x0, x1, max(1, round((x1 - x0) / _CHUNK_PX)) + 1).astype(int)
    found = [_line(grey_HW[:, left:right], y0, y1, text) for left, right in pairwise(edges)]
    lines = [line for line in found if line is not None]
    if not lines:
        return None
    size = float(np.median([size for _, size in lines]))
    return min(base for base, _ in lines) - _ASCENT * size, max(base for base, _ in lines) + _DESCENT * size


def _line(grey_HW: UInt8Array, y0: int, y1: int, text: str) -> tuple[int, float] | None:
    """Baseline and type size in pixels of the text around rows y0..y1."""
    margin = max(CELL_HEIGHT_PX, y1 - y0)
    low, high = max(0, y0 - margin), min(len(grey_HW), y1 + margin)
    ink = _ink(grey_HW[low:high])
    inside = ink[y0 - low : y1 + _BELOW_PX - low]
    if not inside.size or inside.max() <= 0:
        return None
    peak, level = int(inside.argmax()) + y0 - low, float(np.percentile(inside[inside > 0], _USUAL))
    first = _last_over(ink[:peak][::-1], _DENSE * level)
    last = _last_over(ink[peak:], _DENSE * level)
    height = first + last
    if not max(_MIN_DENSE_PX, _MIN_SHARE * (y1 - y0 - CELL_HEIGHT_PX)) <= height <= y1 - y0 + CELL_HEIGHT_PX:
        return None
    letters = [c for c in text if c.isalnum()]
    small = sum(c in _SMALL for c in letters)
    least, usual, most = _SMALL_HEIGHT
    if 3 * small < len(letters):
        return peak + last + low, height / _TALL_HEIGHT
    if small == len(letters):
        return peak + last + low, height / usual
    if small < _MOSTLY * len(letters):  # ascenders may be as dense as the rest
        most = _TALL_HEIGHT
    tall = height + _last_over(ink[: peak - first][::-1], _SPARSE * level)
    return peak + last + low, float(np.clip(tall / _TALL_HEIGHT, height / most, height / least))


def _ink(area_HW: UInt8Array) -> npt.NDArray[np.float64]:
    """[H] how much ink each row holds, on average over its width."""
    if not area_HW.size:
        return np.zeros(0)
    paper = int(np.median(area_HW[::2, ::3]))
    dark = np.abs(area_HW.astype(np.int16) - paper) - _FAINT
    np.maximum(dark, 0, out=dark)
    ink: npt.NDArray[np.float64] = dark.mean(1)
    if dark.shape[1] >= _RULE_PX:
        ink *= (dark > 0).mean(1) < _RULE
    return ink


def _last_over(values: npt.NDArray[np.float64], least: float) -> int:
    """How many values from the first on are at least so high."""
    under = values < least
    return int(under.argmax()) if under.any() else len(values)
