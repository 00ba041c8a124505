"""Counts the tokens of a page's views: one for every 64 px in each direction, and newlines. Torch-free."""

from ocr.imaging.tiling import TILE_PX, Grid

_PX = 64


def global_tokens(view_px: int) -> int:
    """Returns the tokens of a global view: its rows with a newline each, and the separator."""
    side = view_px // _PX
    return side * (side + 1) + 1


def tile_tokens(grid: Grid) -> int:
    """Returns the tokens of a page's tiles: the rows of their canvas with a newline each. grid: (columns, rows)."""
    columns, rows = grid
    side = TILE_PX // _PX
    return 0 if grid == (1, 1) else (columns * side + 1) * rows * side
