"""Measures the exact height of a text line by its ink, as rows of cells are 16 px high.

The finders of ocr.layout cannot: they say which rows have ink, and are off by a pixel. This one weighs how dark rows
are, of a line whose text and place are known already.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from encoders.views import UInt8Array
from ocr.imaging.measures import ASCENT, DESCENT, NOISE_LEVELS
from ocr.layout.localize.matching.canvas import CELL_HEIGHT_PX, CELL_WIDTH_PX
from ocr.layout.quantiles import median, percentile

_CHUNK_PX = 256  # skew moves a line by less than its own height over this
_DENSE = 0.45  # of a usual dense row: rows between the baseline and the height of most letters have it
_USUAL = 65  # the percentile of the rows with ink that counts as dense; a dash is denser than any letter
_SPARSE = 0.03  # the same share for rows that only ascenders reach
_RULE, _RULE_PX = 0.8, 96  # a row with ink over this share of at least this width is a rule, not text
_BELOW_PX = 6  # cells hold the characters whose middle is in them, so small letters may reach lower
_MIN_DENSE_PX, _MIN_SHARE = 3, 0.5  # the least height of the dense rows; of the rows of cells but one
# In type sizes: the height of small letters (lowest, usual, highest), of capitals and ascenders.
_SMALL_HEIGHT = (0.38, 0.45, 0.54)
_TALL_HEIGHT = 0.7
_MOSTLY = 0.65  # the share of small letters from which their height is that of the dense rows
_SMALL = frozenset("acegmnopqrsuvwxyzı")


def band(grey_HW: UInt8Array, cells: tuple[int, int, int, int], text: str) -> tuple[float, float] | None:
    """Returns top and bottom in pixels of the text line in these cells (x0, y0, x1, y1), ascenders to descenders.

    None where no ink shows it. The type size follows from the height of the letters in the text.
    """
    x0, x1 = cells[0] * CELL_WIDTH_PX, cells[2] * CELL_WIDTH_PX
    y0, y1 = cells[1] * CELL_HEIGHT_PX, cells[3] * CELL_HEIGHT_PX
    count = max(1, round((x1 - x0) / _CHUNK_PX))
    step = (x1 - x0) / count
    edges = [*(int(nth * step + x0) for nth in range(count)), x1]
    letters = [letter for letter in text if letter.isalnum()]
    num_small = sum(letter in _SMALL for letter in letters)
    found = [
        _line(grey_HW[:, left:right], y0, y1, len(letters), num_small) for left, right in pairwise(edges)
    ]
    lines = [line for line in found if line is not None]
    if not lines:
        return None
    size = median([size for _, size in lines])
    return min(base for base, _ in lines) - ASCENT * size, max(base for base, _ in lines) + DESCENT * size


def _line(
    grey_HW: UInt8Array, y0: int, y1: int, num_letters: int, num_small: int
) -> tuple[int, float] | None:
    """Returns baseline and type size in pixels of the text around rows y0..y1; num_small of its letters are small."""
    margin = max(CELL_HEIGHT_PX, y1 - y0)
    low, high = max(0, y0 - margin), min(len(grey_HW), y1 + margin)
    ink = _ink(grey_HW[low:high])
    inside = ink[y0 - low : y1 + _BELOW_PX - low]
    most_ink = max(inside, default=0.0)
    if most_ink <= 0:
        return None
    peak, level = inside.index(most_ink) + y0 - low, percentile([row for row in inside if row > 0], _USUAL)
    first = _num_over(ink, peak - 1, -1, _DENSE * level)
    last = _num_over(ink, peak, 1, _DENSE * level)
    height = first + last
    if not max(_MIN_DENSE_PX, _MIN_SHARE * (y1 - y0 - CELL_HEIGHT_PX)) <= height <= y1 - y0 + CELL_HEIGHT_PX:
        return None
    least, usual, most = _SMALL_HEIGHT
    if 3 * num_small < num_letters:
        return peak + last + low, height / _TALL_HEIGHT
    if num_small == num_letters:
        return peak + last + low, height / usual
    if num_small < _MOSTLY * num_letters:  # ascenders may be as dense as the rest
        most = _TALL_HEIGHT
    tall = height + _num_over(ink, peak - first - 1, -1, _SPARSE * level)
    return peak + last + low, min(max(tall / _TALL_HEIGHT, height / most), height / least)


def _ink(area_HW: UInt8Array) -> list[float]:
    """Returns how much ink each row holds on average over its width, [H]."""
    if not area_HW.size:
        return []
    dark = area_HW.astype(np.int16)
    dark -= _middle(area_HW[::2, ::3])
    np.abs(dark, out=dark)
    dark -= NOISE_LEVELS
    inked = dark > 0
    dark *= inked  # faster than the maximum with 0
    width = area_HW.shape[1]
    sums = np.add.reduce(dark, 1, dtype=np.int32).tolist()
    if width < _RULE_PX:
        return [total / width for total in sums]
    counts = np.add.reduce(inked, 1, dtype=np.int32).tolist()
    return [
        total / width if count / width < _RULE else 0.0 for total, count in zip(sums, counts, strict=True)
    ]


def _middle(grey: UInt8Array) -> int:
    """Returns the median shade, rounded down."""
    up_to = np.bincount(grey.ravel()).cumsum()
    low, high = up_to.searchsorted(((grey.size + 1) // 2, grey.size // 2 + 1))
    return (int(low) + int(high)) // 2


def _num_over(values: Sequence[float], at: int, step: int, least: float) -> int:
    """Returns how many consecutive values from index `at` on, in steps of 1 or -1, are at least `least`."""
    end = len(values) if step > 0 else -1
    for k in range(at, end, step):
        if values[k] < least:
            return abs(k - at)
    return abs(end - at)
