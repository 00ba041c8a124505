"""Finds words in very large type and lone figures, which form no lines of text: a poster, a number on a page.

The page is examined much reduced, where each letter is one mark. A mark is a letter if it is clear of the
picture's edges, is of one shade, which photographs are not, and is neither a filled shape, like a punch
hole, nor a frame, nor a long or slanting stroke, like a rule or a staple.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from ocr.imaging.measures import DARK_LEVELS, PRINT_LEVELS
from ocr.imaging.profiles import Ints, Mask, runs
from ocr.layout.crops import Box

Floats = npt.NDArray[np.float64]

_SIDE_PX = 560
# The least contrast, as a share of the page's highest. It is that to the page's median shade, unlike that of
# ocr.imaging.ink: of strokes as wide as these, that keeps the edges only.
_SHARE = 0.4
# A photograph has no paper, so a smaller share of it has about the same shade.
_MIN_PAPER = 0.5
# More are a page of text or a texture.
_MAX_RUNS, _MAX_MARKS = 4000, 60
# Lower marks are specks, higher ones, as a share of the page, frames and pictures.
_MIN_HEIGHT_PX, _MAX_HEIGHT = 4, 0.85
# The share of the ellipse of equal extent that a filled mark covers: a disc 1, a square 0.95, letters less.
_MAX_FILL, _SQUARE = 0.9, 2.0
_MAX_ASPECT = 9.0  # longer marks are rules; an l has 8
# The ratio of a mark's extent across its long axis to that along it, below which it is a stroke; a stroke must be
# nearly upright to be a letter.
_STROKE, _UPRIGHT = 0.12, 0.97
# A frame runs along this share of each of its bounds, and covers less than this share of the paper within.
_ALONG, _HOLLOW = 0.8, 0.3
# The deviation of the shades within a mark, without its edges: under 8 for print on a scan, over 17 for most
# photographs. Lower marks than this are little but edges.
_MAX_DEVIATION, _MIN_SHADED_PX = 12.0, 20
_LETTERS = 0.5  # the least share of all marks, by their area, that are letters
# The height of small letters where capitals are 1, as in the sans serif of posters, and the width of the paper to keep
# around the letters.
_X_HEIGHT, _ROOM = 0.72, 0.25
# Small letters among large ones are no smaller than this.
_SAME_SIZE = 0.45
# Lower letters than this, much reduced, run together too often to be counted.
_COUNTABLE_PX = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeType:
    """The large letters of a page.

    box: around the letters and some paper, in pixels of the page; x_height_px: about the height of small letters.
    num_letters: the number of letters and figures, without dots; None where they may have run together.
    """

    box: Box
    x_height_px: float
    num_letters: int | None = None


@dataclass(frozen=True, slots=True)
class _Marks:
    """The marks of a page, one element each. left, top, right, bottom: bounds; area: in pixels.

    fill: the share covered of the ellipse of equal extent; narrow: extent across to that along the long axis; upright:
    the cosine of the angle between its long axis and the vertical; deviation: of the shades within it, 0 where it is
    too thin; framed: the smallest share of any of its bounds that it runs along.
    """

    left: Ints
    top: Ints
    right: Ints
    bottom: Ints
    area: Floats
    fill: Floats
    narrow: Floats
    upright: Floats
    deviation: Floats
    framed: Floats


def find_large_type(grey: Image.Image) -> LargeType | None:
    """Returns the largest letters of a page that has few; None where its marks are no letters. grey: mode L."""
    factor = max(1, round(max(grey.size) / _SIDE_PX))
    values = np.asarray(grey.reduce(factor) if factor > 1 else grey).astype(np.float32)
    contrast = np.abs(values - np.median(values))
    if np.mean(contrast < PRINT_LEVELS) < _MIN_PAPER:
        return None
    found = _marks(values, contrast > max(DARK_LEVELS, _SHARE * float(contrast.max())))
    if found is None:
        return None
    letters = _are_letters(found, *values.shape)
    free = found.area[_stand_free(found, *values.shape)].sum()
    if not letters.any() or found.area[letters].sum() < _LETTERS * free:
        return None
    heights = found.bottom - found.top
    letters &= heights >= _SAME_SIZE * heights[letters].max()
    bounds = (
        found.left[letters].min(), found.top[letters].min(), found.right[letters].max(), found.bottom[letters].max()
    )  # fmt: skip
    height = float(np.median(heights[letters]))
    # With so much paper around them that most of the box is paper.
    margin = round(_ROOM * height)
    x0, y0 = (max(0, factor * (int(value) - margin)) for value in bounds[:2])
    x1, y1 = factor * (int(bounds[2]) + margin), factor * (int(bounds[3]) + margin)
    return LargeType(
        box=(x0, y0, min(x1, grey.width), min(y1, grey.height)),
        x_height_px=_X_HEIGHT * factor * height,
        num_letters=int(np.count_nonzero(letters)) if height >= _COUNTABLE_PX else None,
    )


def _stand_free(marks: _Marks, height: int, width: int) -> Mask:
    free: Mask = (marks.left > 1) & (marks.top > 1) & (marks.right < width - 1) & (marks.bottom < height - 1)
    return free


def _are_letters(marks: _Marks, height: int, width: int) -> Mask:
    wide, high = marks.right - marks.left, marks.bottom - marks.top
    aspect = np.maximum(wide / high, high / wide)
    is_filled = (marks.fill > _MAX_FILL) & (aspect < _SQUARE)
    is_frame = (marks.framed > _ALONG) & (marks.area < _HOLLOW * wide * high)
    is_stroke = marks.narrow < _STROKE
    letters: Mask = (
        _stand_free(marks, height, width)
        & (high >= _MIN_HEIGHT_PX)
        & (high <= _MAX_HEIGHT * height)
        & (aspect <= _MAX_ASPECT)
        & ((marks.deviation <= _MAX_DEVIATION) | (high < _MIN_SHADED_PX))
        & ~is_filled
        & ~is_frame
        & (~is_stroke | (marks.upright > _UPRIGHT))
    )
    return letters


def _marks(values: npt.NDArray[np.float32], mask: Mask) -> _Marks | None:
    """Returns the marks, connected by sides or corners; None without any or with too many. Specks are left out.

    values: the page's shades; mask: where it is inked.
    """
    row, start, end = runs(mask)
    if not 0 < len(row) <= _MAX_RUNS:
        return None
    label = _labels(row, start, end)
    count = int(label.max()) + 1
    length = (end - start).astype(np.float64)
    area = np.bincount(label, length, count)
    x_mean = np.bincount(label, length * (start + end - 1) / 2, count) / area
    y_mean = np.bincount(label, length * row, count) / area
    dx, dy = (start + end - 1) / 2 - x_mean[label], row - y_mean[label]
    xx = np.bincount(label, length * (dx**2 + (length**2 - 1) / 12), count) / area
    yy = np.bincount(label, length * dy**2, count) / area
    xy = np.bincount(label, length * dx * dy, count) / area
    spread = np.hypot((xx - yy) / 2, xy)
    major, minor = (xx + yy) / 2 + spread, np.maximum((xx + yy) / 2 - spread, 0)
    angle = np.arctan2(2 * xy, xx - yy) / 2  # of the long axis, from the horizontal
    top, bottom = np.full(count, mask.shape[0]), np.zeros(count, dtype=np.int64)
    left, right = np.full(count, mask.shape[1]), np.zeros(count, dtype=np.int64)
    np.minimum.at(top, label, row)
    np.maximum.at(bottom, label, row + 1)
    np.minimum.at(left, label, start)
    np.maximum.at(right, label, end)
    real = bottom - top >= _MIN_HEIGHT_PX
    if not 0 < np.count_nonzero(real) <= _MAX_MARKS:
        return None
    narrow = np.sqrt(minor / np.maximum(major, 1e-9))
    fill = area / (4 * np.pi * np.sqrt(np.maximum(minor * major, 1 / 144)))
    deviation = _deviations(values, mask, np.repeat(label, end - start), count)
    along = [
        np.bincount(label, length * (np.abs(row - edge[label]) <= 1), count) for edge in (top, bottom - 1)
    ]
    rows_along = [
        np.bincount(label, np.abs(x - edge[label]) <= 1, count) for x, edge in ((start, left), (end, right))
    ]
    framed = np.minimum(np.minimum(*along) / (right - left), np.minimum(*rows_along) / (bottom - top))
    fields = (left, top, right, bottom, area, fill, narrow, np.abs(np.sin(angle)), deviation, framed)
    return _Marks(*(values[real] for values in fields))


def _deviations(values: npt.NDArray[np.float32], mask: Mask, label: Ints, count: int) -> Floats:
    """Returns the standard deviation of each mark's shades, [count], its edges left out. label: of each inked pixel."""
    padded = np.pad(mask, 1)
    within = mask & padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    inner = within[mask]
    label, shades = label[inner], values[mask][inner].astype(np.float64)
    number = np.maximum(np.bincount(label, minlength=count), 1)
    mean = np.bincount(label, shades, count) / number
    deviations: Floats = np.sqrt(np.bincount(label, (shades - mean[label]) ** 2, count) / number)
    return deviations


def _labels(row: Ints, start: Ints, end: Ints) -> Ints:
    """Returns the number of the mark that each run of pixels belongs to, from 0. Runs are in reading order."""
    parent = list(range(len(row)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    first = np.searchsorted(row, np.arange(row[-1] + 2))
    for index, (y, x0, x1) in enumerate(zip(row.tolist(), start.tolist(), end.tolist(), strict=True)):
        for above in range(first[y - 1], first[y]) if y else ():
            if start[above] <= x1 and end[above] >= x0:
                parent[root(index)] = root(above)
    return np.unique([root(index) for index in range(len(row))], return_inverse=True)[1]
