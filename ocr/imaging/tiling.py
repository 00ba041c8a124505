"""Cuts a page's pixels into the encoder's views, as DeepSeek-OCR does. Torch-free.

Source: deepseek-ai/DeepSeek-OCR `modeling_deepseekocr.py` (`dynamic_preprocess`, `find_closest_aspect_ratio`,
`infer`). Differences: the limit on tiles is a setting, and a page too thin to be padded is stretched to
one pixel where upstream raises.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from encoders.views import PageViews, UInt8Array
from ocr.imaging.planes import is_grey, planes_of, resized

TILE_PX = 640
PADDING_RGB = (127, 127, 127)

Mode = Literal["tiny", "small", "base", "large", "gundam"]
Grid = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeSpec:
    """A mode of DeepSeek-OCR.

    Base_px: side of the global view. crop: whether a large page is also cut into 640 px tiles.
    """

    base_px: int
    crop: bool


MODES: dict[Mode, ModeSpec] = {
    "tiny": ModeSpec(base_px=512, crop=False),
    "small": ModeSpec(base_px=640, crop=False),
    "base": ModeSpec(base_px=1024, crop=False),
    "large": ModeSpec(base_px=1280, crop=False),
    "gundam": ModeSpec(base_px=1024, crop=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The areas of a page's views that its pixels fill.

    grid: (columns, rows) of tiles, (1, 1) where the page is not tiled. canvas_px: (width, height) of the
    finest view. stretch: the page is stretched over the canvas; otherwise it keeps its aspect inside it.
    """

    grid: Grid
    canvas_px: tuple[int, int]
    stretch: bool

    def scale(self, width: float, height: float) -> float:
        """Returns canvas pixels per unit of the page, so that neither of its axes is enlarged afterwards."""
        ratios = (self.canvas_px[0] / width, self.canvas_px[1] / height)
        return max(ratios) if self.stretch else min(ratios)


def layout(width_px: int, height_px: int, mode: Mode, max_tiles: int) -> Layout:
    """Returns the layout of a page of this size."""
    spec = MODES[mode]
    grid = choose_grid(width_px, height_px, max_tiles) if spec.crop else (1, 1)
    if grid != (1, 1):
        return Layout(grid=grid, canvas_px=(TILE_PX * grid[0], TILE_PX * grid[1]), stretch=True)
    stretch = not spec.crop and spec.base_px <= TILE_PX
    return Layout(grid=grid, canvas_px=(spec.base_px, spec.base_px), stretch=stretch)


def choose_grid(width_px: int, height_px: int, max_tiles: int, tile_px: int = TILE_PX) -> Grid:
    """Returns (columns, rows): the grid whose aspect is nearest the page's; (1, 1) if the page is not tiled.

    On a tie the later (larger) grid wins if the page has more than half the pixels of its canvas.
    """
    if width_px <= tile_px and height_px <= tile_px:
        return (1, 1)
    aspect, area_px = width_px / height_px, width_px * height_px
    best, best_distance = (1, 1), float("inf")
    for columns, rows in grids(max_tiles):
        distance = abs(aspect - columns / rows)
        fills = area_px > 0.5 * tile_px * tile_px * columns * rows
        if distance < best_distance or (distance == best_distance and fills):
            best, best_distance = (columns, rows), distance
    return best


@cache
def grids(max_tiles: int) -> tuple[Grid, ...]:
    """Returns every (columns, rows) of 2 to max_tiles tiles, fewest tiles first, then fewest columns."""
    sides = range(1, max_tiles + 1)
    pairs = [(columns, rows) for columns in sides for rows in sides if 2 <= columns * rows <= max_tiles]
    return tuple(sorted(pairs, key=lambda pair: pair[0] * pair[1]))


def views(
    image: UInt8Array, mode: Mode, max_tiles: int, grid: Grid | None = None, tile_px: int = TILE_PX
) -> PageViews:
    """Returns the views of a page.

    image: [H, W, 3] uint8 RGB. grid: the grid where something other than the image's own size decided it. tile_px: side
    of a tile.
    """
    # One of three equal channels is resized, and repeated: the same pixels in a third of the time.
    planes = planes_of(image[..., 0] if is_grey(image) else image)
    spec = MODES[mode]
    if grid is None:
        grid = choose_grid(image.shape[1], image.shape[0], max_tiles, tile_px) if spec.crop else (1, 1)
    return PageViews(
        global_view=_in_colour(_global_view(planes, spec)),
        local_views=_in_colour(_tiles(planes, grid, tile_px)),
        grid=grid,
    )


def _global_view(planes: UInt8Array, spec: ModeSpec) -> UInt8Array:
    """Returns the global view [C, S, S] of channels [C, H, W]."""
    side_px = spec.base_px
    if not spec.crop and side_px <= TILE_PX:
        return resized(planes, side_px, side_px)
    _, height, width = planes.shape
    if round(min(height, width) / max(height, width) * side_px) == 0:
        planes = resized(planes, min(width, side_px), min(height, side_px))
    return _padded(planes, side_px)


def _padded(planes: UInt8Array, side_px: int) -> UInt8Array:
    """Returns channels [C, H, W] padded to a square [C, S, S], as Pillow's ImageOps.pad does."""
    num_channels, height, width = planes.shape
    wide, high = (round(side / max(width, height) * side_px) for side in (width, height))
    x, y = round((side_px - wide) * 0.5), round((side_px - high) * 0.5)
    square = np.full((num_channels, side_px, side_px), PADDING_RGB[0], np.uint8)
    square[:, y : y + high, x : x + wide] = resized(planes, wide, high)
    return square


def _tiles(planes: UInt8Array, grid: Grid, tile_px: int) -> UInt8Array:
    """Returns the tiles [N, C, tile_px, tile_px] of channels [C, H, W], row-major; N is 0 for the grid (1, 1)."""
    num_channels = len(planes)
    if grid == (1, 1):
        return np.zeros((0, num_channels, tile_px, tile_px), dtype=np.uint8)
    columns, rows = grid
    canvas = resized(planes, tile_px * columns, tile_px * rows)
    tiles = canvas.reshape(num_channels, rows, tile_px, columns, tile_px).transpose(1, 3, 0, 2, 4)
    return np.ascontiguousarray(tiles).reshape(rows * columns, num_channels, tile_px, tile_px)


def _in_colour(channels: UInt8Array) -> UInt8Array:
    """Returns three contiguous channels made of one; three as they are. channels: [..., C, S, S]."""
    return channels if channels.shape[-3] == 3 else np.repeat(channels, 3, axis=-3)
