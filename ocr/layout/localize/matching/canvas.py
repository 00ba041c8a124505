"""Maps between a page and the canvas that the encoder's cells were read from: the page's finest view."""

from dataclasses import dataclass

import numpy as np

from encoders.views import PageViews, UInt8Array
from ocr.imaging.tiling import TILE_PX

CELL_WIDTH_PX, CELL_HEIGHT_PX = 4, 16

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """The finest view of a page of width_px x height_px.

    grey: its pixels, [H, W] uint8. box: x0, y0, x1, y1 of the page on it, in canvas pixels.
    """

    grey: UInt8Array
    box: Box
    width_px: int
    height_px: int

    @classmethod
    def of(cls, views: PageViews, *, width_px: int, height_px: int) -> "Canvas":
        """Returns the canvas of views as ocr.imaging.tiling.views makes them, tiled or with a global view alone."""
        grey = _joined(views) if views.num_tiles else views.global_view[1]
        high, wide = grey.shape
        x, y = 0, 0
        if not views.num_tiles and wide > TILE_PX:  # smaller views are stretched
            shorter = max(1, round(min(width_px, height_px) / max(width_px, height_px) * wide))
            x = round((wide - shorter) * 0.5) if width_px < height_px else 0
            y = round((high - shorter) * 0.5) if height_px < width_px else 0
        return cls(grey=grey, box=(x, y, wide - x, high - y), width_px=width_px, height_px=height_px)

    def to_page(self, box: Box) -> tuple[int, int, int, int]:
        """Returns a canvas box in whole pixels of the page, inside it and at least one pixel wide and high."""
        return self.inside(self.on_page(box))

    def on_page(self, box: Box) -> Box:
        """Returns a canvas box in pixels of the page."""
        left, top, right, bottom = self.box
        across, down = self.width_px / (right - left), self.height_px / (bottom - top)
        x0, y0, x1, y1 = box
        return (x0 - left) * across, (y0 - top) * down, (x1 - left) * across, (y1 - top) * down

    def inside(self, box: Box) -> tuple[int, int, int, int]:
        """Returns a page box in whole pixels, inside the page and at least one pixel wide and high."""
        x0, x1 = _inside(box[0], box[2], self.width_px)
        y0, y1 = _inside(box[1], box[3], self.height_px)
        return x0, y0, x1, y1

    def to_page_x(self, x: float) -> float:
        """Returns the page's x in pixels for an x on the canvas."""
        left, _, right, _ = self.box
        return (x - left) * self.width_px / (right - left)

    def from_page(self, point: tuple[float, float]) -> tuple[float, float]:
        """Returns the canvas point (x, y) for a point of the page."""
        left, top, right, bottom = self.box
        x, y = point
        return left + x * (right - left) / self.width_px, top + y * (bottom - top) / self.height_px


def _joined(views: PageViews) -> UInt8Array:
    """Returns the green channel of the tiles side by side, near enough to grey to tell ink from paper."""
    columns, rows = views.grid
    tiles = views.local_views[:, 1].reshape(rows, columns, TILE_PX, TILE_PX)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(rows * TILE_PX, columns * TILE_PX)


def _inside(low: float, high: float, size_px: int) -> tuple[int, int]:
    first = min(max(round(low), 0), size_px - 1)
    return first, min(max(round(high), first + 1), size_px)
