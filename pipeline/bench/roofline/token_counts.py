"""How many tokens a page's views become: one each 64 px, and newlines. Torch-free."""

from ocr.imaging.tiling import TILE_PX, Grid

_PX = 64


def global_tokens(view_px: int) -> int:
    """Of a global view: its rows with a newline each, and the separator."""
    side = view_px // _PX
    return side * (side + 1) + 1


def tile_tokens(grid: Grid) -> int:
    """Of all tiles of a page: the rows of their canvas with a newline each. grid: (columns, rows)."""
    columns, rows = grid
    side = TILE_PX // _PX
    return 0 if grid == (1, 1) else (columns * side + 1) * rows * side
