"""Forms of pages that are crops of a larger page, as dense pages are cut before they are read.

A crop has little margin and no header, and its letters are as large on the canvas as at run time.
"""

import math
import random

from ocr.imaging.tiling import TILE_PX, choose_grid
from ocr.training.pages.genres import GENRES, Form, Size

MAX_TILES = 6
_X_HEIGHT_PX = (5.0, 14.0)  # on the canvas
_X_HEIGHT_EM = 0.47
_SMALLEST_PT, _COMMON_PT = 4.5, 8.0
_NARROW_PT = 320.0  # up to this width a crop is one column
_MARGINS = (0.005, 0.05)

_FORMATS: tuple[tuple[Size, float], ...] = (
    ((595, 420), 5), ((595, 280), 3), ((595, 200), 1), ((290, 420), 2.5), ((290, 800), 1.5), ((250, 400), 2),
    ((190, 600), 0.7),
)  # fmt: skip
# The contents of dense pages.
_GENRES = {
    "dense": 4.0, "paper": 2.5, "contents": 2.5, "tables": 4.5, "index": 2.0, "dictionary": 1.0, "book": 1.0,
    "manual": 1.5, "newspaper": 1.0, "mixed": 2.5,
}  # fmt: skip
_CHOICES = tuple((genre, _GENRES[genre.name]) for genre in GENRES if genre.name in _GENRES)


def draw_part(rng: random.Random) -> Form:
    """Returns the form of one crop."""
    genre = rng.choices([g for g, _ in _CHOICES], [s for _, s in _CHOICES])[0]
    width, height = rng.choices([f for f, _ in _FORMATS], [s for _, s in _FORMATS])[0]
    width, height = width * rng.uniform(0.93, 1.07), height * rng.uniform(0.9, 1.1)
    low, high = sizes_pt(width, height)
    size = math.exp(rng.uniform(math.log(low), math.log(high)))
    return Form(
        genre=genre,
        width_pt=width,
        height_pt=height,
        size_pt=size,
        columns=_columns(rng, width, size),
        fill=rng.choice([1.2, 1.2, 1.2, 1.2, 0.6]),
        margins=_MARGINS,
        furniture=rng.random() < 0.1,
    )


def sizes_pt(width_pt: float, height_pt: float) -> tuple[float, float]:
    """Returns the smallest and largest type size of a crop of this size, by the height of an x on its canvas."""
    grid = choose_grid(round(2 * width_pt), round(2 * height_pt), MAX_TILES)
    px_per_pt = min(TILE_PX * grid[0] / width_pt, TILE_PX * grid[1] / height_pt)
    low, high = (x / (_X_HEIGHT_EM * px_per_pt) for x in _X_HEIGHT_PX)
    return max(_SMALLEST_PT, low), max(_COMMON_PT, high)


def _columns(rng: random.Random, width_pt: float, size_pt: float) -> int:
    """Returns the number of columns: one in a narrow crop; in a wide one more, the smaller the type is."""
    if width_pt < _NARROW_PT:
        return 1
    weights = [4, 4, 1.2, 0.6] if size_pt < 6.5 else [6, 3.5, 0.5, 0.0]
    return rng.choices([1, 2, 3, 4], weights)[0]
