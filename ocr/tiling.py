"""A page's pixels to the encoder's views, as DeepSeek-OCR cuts them. Torch-free.

Source: deepseek-ai/DeepSeek-OCR `modeling_deepseekocr.py` (`dynamic_preprocess`, `find_closest_aspect_ratio`,
`infer`). What differs: the limit on tiles is a setting, and a page too thin to be padded is stretched to
one pixel where upstream raises.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from PIL import Image, ImageOps

from encoders.views import PageViews, UInt8Array

TILE_PX = 640
PADDING_RGB = (127, 127, 127)

Mode = Literal["tiny", "small", "base", "large", "gundam"]
Grid = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeSpec:
    """base_px: side of the global view. crop: whether a large page is cut into 640 px tiles as well."""

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
    """Where a page's pixels go.

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


def choose_grid(width_px: int, height_px: int, max_tiles: int) -> Grid:
    """Returns (columns, rows): the grid whose aspect is nearest the page's; (1, 1) if the page is not tiled.

    On a tie the later (larger) grid wins if the page has more than half the pixels of its canvas.
    """
    if width_px <= TILE_PX and height_px <= TILE_PX:
        return (1, 1)
    aspect, area_px = width_px / height_px, width_px * height_px
    best, best_distance = (1, 1), float("inf")
    for columns, rows in grids(max_tiles):
        distance = abs(aspect - columns / rows)
        fills = area_px > 0.5 * TILE_PX * TILE_PX * columns * rows
        if distance < best_distance or (distance == best_distance and fills):
            best, best_distance = (columns, rows), distance
    return best


@cache
def grids(max_tiles: int) -> tuple[Grid, ...]:
    """Returns every (columns, rows) of 2 to max_tiles tiles, fewest tiles first, then fewest columns."""
    sides = range(1, max_tiles + 1)
    pairs = [(columns, rows) for columns in sides for rows in sides if 2 <= columns * rows <= max_tiles]
    return tuple(sorted(pairs, key=lambda pair: pair[0] * pair[1]))


def views(image: UInt8Array, mode: Mode, max_tiles: int, grid: Grid | None = None) -> PageViews:
    """Returns the views of a page.

    image: [H, W, 3] uint8 RGB. grid: the grid where something else than the image's own size decided it.
    """
    # Of three equal channels one is resized, and repeated: the same pixels for a third of the time.
    picture = Image.fromarray(np.ascontiguousarray(image[..., 0]) if is_grey(image) else image)
    spec = MODES[mode]
    if grid is None:
        grid = layout(picture.width, picture.height, mode, max_tiles).grid
    return PageViews(
        global_view=_to_chw(_global_view(picture, spec)),
        local_views=_tiles(picture, grid),
        grid=grid,
    )


def _global_view(picture: Image.Image, spec: ModeSpec) -> Image.Image:
    size = (spec.base_px, spec.base_px)
    if not spec.crop and spec.base_px <= TILE_PX:
        return picture.resize(size, Image.Resampling.BICUBIC)
    long_px, short_px = max(picture.size), min(picture.size)
    if round(short_px / long_px * spec.base_px) == 0:
        picture = picture.resize(
            (min(picture.width, spec.base_px), min(picture.height, spec.base_px)), Image.Resampling.BICUBIC
        )
    color = PADDING_RGB if picture.mode == "RGB" else PADDING_RGB[0]
    return ImageOps.pad(picture, size, method=Image.Resampling.BICUBIC, color=color)


def _tiles(picture: Image.Image, grid: Grid) -> UInt8Array:
    """Returns [N, 3, 640, 640], row-major; N is 0 for the grid (1, 1)."""
    if grid == (1, 1):
        return np.zeros((0, 3, TILE_PX, TILE_PX), dtype=np.uint8)
    columns, rows = grid
    canvas = picture.resize((TILE_PX * columns, TILE_PX * rows), Image.Resampling.BICUBIC)
    pixels = np.asarray(canvas)
    if pixels.ndim == 2:
        tiles = pixels.reshape(rows, TILE_PX, columns, TILE_PX).transpose(0, 2, 1, 3)
        grey = tiles.reshape(rows * columns, 1, TILE_PX, TILE_PX)
        return np.repeat(grey, 3, axis=1)
    raster = pixels.reshape(rows, TILE_PX, columns, TILE_PX, 3)
    tiles = raster.transpose(0, 2, 4, 1, 3).reshape(rows * columns, 3, TILE_PX, TILE_PX)
    return np.ascontiguousarray(tiles)


def _to_chw(picture: Image.Image) -> UInt8Array:
    pixels = np.asarray(picture)
    if pixels.ndim == 2:
        return np.repeat(pixels[None], 3, axis=0)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def is_grey(image: UInt8Array) -> bool:
    """Returns whether the channels of an image [H, W, 3] are equal. Of colours a few pixels tell."""
    return all(
        np.array_equal(image[::step, ::step, 0], image[::step, ::step, channel])
        for step in (16, 1)
        for channel in (1, 2)
    )
