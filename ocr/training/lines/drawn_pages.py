"""A page drawn for training: its pixels, its lines, and what looks like lines and is none."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ocr.training.lines.page_lines import Floats, Place

WIDTH_PX, HEIGHT_PX = 1536, 2048
SIZES_PX, LEAST_WIDTH_PX = (9, 400), 2  # lines of other type sizes, and narrower ones, are not learned
UNKNOWN_TEXT = "\N{REPLACEMENT CHARACTER}"  # of a line whose text nobody wrote down: only a teacher knows
_ABOVE, _BELOW = 0.75, 0.2  # of the type size: with so much of it on the canvas, a line is whole


def table(places: Sequence[Place]) -> Floats:
    """Returns [N, 5] float32."""
    return np.asarray(places, np.float32).reshape(-1, 5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnPage:
    """A page on a canvas of HEIGHT_PX x WIDTH_PX, uint8 grey, white is 255.

    places: [N, 5] the whole lines, as Place has them. texts: theirs. others: [M, 5] lines that the canvas's edge cuts,
    that are too small or large, or whose text is unsure: neither text to find nor paper. read_only: [K, 5] lines that
    only the reader learns, with read_texts: empty for handwriting and pictures, in which it must read nothing;
    UNKNOWN_TEXT for those that a teacher reads.
    """

    pixels: npt.NDArray[np.uint8]
    places: Floats
    texts: tuple[str, ...]
    others: Floats
    read_only: Floats = field(default_factory=lambda: table([]))
    read_texts: tuple[str, ...] = ()


def is_whole(place: Place, width: int, height: int) -> bool:
    """Returns whether a line lies within the page's part of the canvas, and is of a size to learn."""
    ends = place.baseline, place.baseline + place.slope * (place.x1 - place.x0)
    inside = place.x0 >= 1 and place.x1 <= width - 1
    inside &= min(ends) - _ABOVE * place.size >= 1 and max(ends) + _BELOW * place.size <= height - 1
    return inside and place.x1 - place.x0 >= LEAST_WIDTH_PX and SIZES_PX[0] <= place.size <= SIZES_PX[1]
