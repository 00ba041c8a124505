"""Chooses the canvas that a crop is laid on: the grid of tiles that shows its letters best.

The page itself takes whatever grid is nearest its shape and is stretched to fit. A crop may have any shape, even a
single line, so it gets blank paper around it instead, up to the shape of its grid.
"""

import math
from dataclasses import dataclass

from ocr.imaging.tiling import Grid, grids
from ocr.layout.crops import Box, canvas_px

# The grids that most pages have; on others the shipped model reads worse (15% errors for 5% on a narrow column).
_USUAL: tuple[Grid, ...] = ((2, 3), (3, 2))
_MAX_ASPECT = 2.0  # of the other grids
# Letters of this height are read as well as larger ones, and tiles cost time.
WANTED_X_HEIGHT_PX = 11.0
_MAX_X_HEIGHT_PX = 13.0  # blank paper is added rather than letters enlarged beyond this
_MARGIN = 0.02  # blank paper around a crop, as a share of the canvas
_WORTH_MORE_TILES = 1.05  # a grid of more tiles must enlarge the letters by this factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The canvas of a crop.

    Frame_px: in page pixels, around the crop's box; grid: its tiles; scale: canvas px a page px.
    """

    frame_px: Box
    grid: Grid
    scale: float


def frame(box: Box, x_height_px: float, max_tiles: int) -> Frame:
    """Returns the frame for a box of letters of this height: the one of fewest tiles on which they are large enough.

    Where no grid makes them large enough, the one that makes them largest.
    """
    width, height = box[2] - box[0], box[3] - box[1]
    room = 1 - 2 * _MARGIN
    best: tuple[Grid, float] | None = None
    for grid in _choices(max_tiles):
        canvas = canvas_px(grid)
        scale = room * min(canvas[0] / width, canvas[1] / height)
        if best is None or scale > _WORTH_MORE_TILES * best[1]:
            if best and best[1] * x_height_px >= WANTED_X_HEIGHT_PX and math.prod(grid) > math.prod(best[0]):
                break
            best = grid, scale
    assert best is not None, "a page without tiles is a grid too"
    grid, scale = best
    scale = min(scale, _MAX_X_HEIGHT_PX / max(x_height_px, 1.0))
    canvas = canvas_px(grid)
    frame_width, frame_height = round(canvas[0] / scale), round(canvas[1] / scale)
    x0 = box[0] - max(0, frame_width - width) // 2
    # Text starts near the top of a page, so spare room goes below it.
    y0 = box[1] - min(max(0, frame_height - height) // 2, round(2 * _MARGIN * frame_height))
    return Frame(frame_px=(x0, y0, x0 + frame_width, y0 + frame_height), grid=grid, scale=scale)


def _choices(max_tiles: int) -> tuple[Grid, ...]:
    """Returns the grids that a crop may have, fewest tiles first; (1, 1) has none."""
    usual = tuple(grid for grid in _USUAL if grid[0] * grid[1] <= max_tiles)
    others = (grid for grid in grids(max_tiles) if max(grid) <= _MAX_ASPECT * min(grid))
    return ((1, 1), *(usual or others))
