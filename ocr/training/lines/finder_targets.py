"""What the line finder should tell of each cell of a canvas."""

from collections.abc import Iterator

import numpy as np

from ocr.line_reader.networks import DROP_PX, SIZE_PX, STRIDE_PX
from ocr.training.lines.page_lines import Floats

HALVING = 2  # the finder sees canvases at half their size
CELL_PX = STRIDE_PX * HALVING  # in pixels of the canvas
IGNORED = -1.0
# In type sizes: the middle of the small letters above the baseline, and how far text reaches from there. Bands of
# lines stay apart. What is ignored reaches further, over the whole height of the letters.
_MIDDLE, _REACH, _IGNORED_REACH = 0.25, 0.24, 0.6
# White between lines side by side that is narrower than so many cells, and at least so wide in type sizes, is kept
# free of text; two columns of cells if it is as wide as this many. Lines of one row differ in height by less than this.
_NARROW_CELLS, _LEAST_EM, _TWO, _ONE_ROW = 4.0, 0.45, 1.5, 0.7


def targets(places: Floats, others: Floats, height_px: int, width_px: int) -> Floats:
    """Returns [3, H, W]: text (1), none (0) or IGNORED; then two outputs as FinderNet has them, 0 where no text is.

    places, others: [N, 5] as DrawnPage has them.
    """
    cells = np.zeros((3, height_px // CELL_PX, width_px // CELL_PX), np.float32)
    for x0, x1, baseline, slope, size in others.tolist():
        rows, columns, _ = _band(cells, x0, x1, baseline, slope, size, _IGNORED_REACH, 1)
        cells[0, rows, columns] = IGNORED
    for x0, x1, baseline, slope, size in places.tolist():
        rows, columns, at = _band(cells, x0, x1, baseline, slope, size, _REACH, 0)
        cells[0, rows, columns] = 1.0
        cells[1, rows, columns] = (at - (rows + 0.5) * CELL_PX) / (HALVING * DROP_PX)
        cells[2, rows, columns] = np.log(size / (HALVING * SIZE_PX))
    for left, right, upper, lower in _gutters(places):
        # Two columns of cells where the white is wide enough: found lines run on over a single one.
        middle, wide = (left + right) / 2 / CELL_PX, (right - left) / CELL_PX
        first, end = (
            (round(middle) - 1, round(middle) + 1) if wide >= _TWO else (int(middle), int(middle) + 1)
        )
        gap = cells[:, max(0, int(upper // CELL_PX)) : int(lower // CELL_PX) + 1, max(0, first) : end]
        gap[:, gap[0] == 1] = 0
    return cells


def _gutters(places: Floats) -> Iterator[tuple[float, float, float, float]]:
    """Yields narrow white between two lines side by side: its ends, and the heights between which it is, in pixels."""
    ordered = places[np.argsort(places[:, 0])]
    for x0, x1, baseline, slope, size in ordered.tolist():
        level = baseline + slope * (x1 - x0)
        beside = (ordered[:, 0] > x1) & (ordered[:, 0] < x1 + _NARROW_CELLS * CELL_PX)
        beside &= np.abs(ordered[:, 2] - level) < _ONE_ROW * size
        for start in ordered[beside, 0].tolist():
            if start - x1 >= _LEAST_EM * size:
                yield x1, start, level - size, level


def _band(
    cells: Floats, x0: float, x1: float, baseline: float, slope: float, size: float, reach: float, beside: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the rows and columns of a line's cells, and the baseline at each in pixels of the canvas.

    A cell belongs to it if its middle does; at least one in each column does. beside: so many columns more at each end.
    """
    height, width = cells.shape[1:]
    first, end = int(x0 // CELL_PX) - beside, int(x1 // CELL_PX) + 1 + beside
    columns = np.arange(max(0, first), min(width, end))
    at = baseline + slope * (((columns + 0.5) * CELL_PX).clip(x0, x1) - x0)
    top = np.ceil((at - (_MIDDLE + reach) * size) / CELL_PX - 0.5).astype(int)
    bottom = np.floor((at - (_MIDDLE - reach) * size) / CELL_PX - 0.5).astype(int) + 1
    nearest = np.rint((at - _MIDDLE * size) / CELL_PX - 0.5).astype(int)
    top, bottom = np.where(bottom <= top, (nearest, nearest + 1), (top, bottom))
    rows = np.arange(height)[:, None]
    found, which = np.nonzero((rows >= top) & (rows < bottom))
    return found, columns[which], at[which]
