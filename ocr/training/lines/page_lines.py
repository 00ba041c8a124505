"""Lines of text by a page's text layer: where each stands, and what it says; and pages drawn for training with them."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ocr.training.pages.page_truth import Glyphs

Floats = npt.NDArray[np.float32]

# Of a canvas.
WIDTH_PX, HEIGHT_PX = 1536, 2048
SIZES_PX, LEAST_WIDTH_PX = (9, 400), 2  # lines of other type sizes, and narrower ones, are not learned
UNKNOWN_TEXT = "\N{REPLACEMENT CHARACTER}"  # of a line whose text nobody wrote down: only a teacher knows
_ABOVE, _UNDER = 0.75, 0.2  # of the type size: with so much of it on the canvas, a line is whole
# What `extract` takes for a character's band, in type sizes: its height, and how far it reaches below the baseline.
_BAND, _BELOW = 0.72, 0.04
# In type sizes: white between parts of a line that are lines of their own; a longer line than the second is cut at a
# space, so that what is before it is no longer than the third.
_GAP, _LONGEST, _CUT = 2.2, 55, 50
_SMALLEST_PX = 6  # type that no canvas shows legibly
_STEEPEST = 0.08  # no page is turned as far: what looks steeper is superscripts and the like
_LEAST_FOR_SLOPE, _LEAST_WIDTH_FOR_SLOPE = 8, 4.0  # characters, and type sizes: fewer tell no slope


class Place(NamedTuple):
    """Where a line stands, in pixels: x0 and x1 its ends, baseline its y at x0, slope how far it falls a pixel."""

    x0: float
    x1: float
    baseline: float
    slope: float
    size: float

    def moved(self, across: float, down: float, left: float = 0.0, top: float = 0.0) -> "Place":
        """Returns the place on a page of `across` times the width and `down` times the height, from a corner of it."""
        x0, x1, baseline, slope, size = self
        return Place(
            x0 * across - left, x1 * across - left, baseline * down - top, slope * down / across, size * down
        )


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
    inside &= min(ends) - _ABOVE * place.size >= 1 and max(ends) + _UNDER * place.size <= height - 1
    return inside and place.x1 - place.x0 >= LEAST_WIDTH_PX and SIZES_PX[0] <= place.size <= SIZES_PX[1]


def lines_of(glyphs: Glyphs, box_px: Floats, rng: random.Random, split: float) -> Iterator[tuple[Place, str]]:
    """Yields a page's lines: characters between line breaks.

    box_px: [N, 4] the glyphs' boxes in pixels. split: the share of lines that end at wide white, as between columns and
    cells; others run on over it. Too long ones are cut, at a space.
    """
    start = 0
    for line in glyphs.text.split("\n"):
        end = start + len(line)
        marked = start + np.flatnonzero(~np.isnan(box_px[start:end, 0]))
        if len(marked):
            size = float(np.median(box_px[marked, 3] - box_px[marked, 1])) / _BAND
            if size >= _SMALLEST_PX:
                apart = _GAP * size if rng.random() < split else float("inf")
                for first, last in _parts(box_px, marked.tolist(), apart):
                    for a, b in _cut(glyphs.text, box_px, first, last, size):
                        yield _place(box_px[a : b + 1], size), glyphs.text[a : b + 1]
        start = end + 1


def _parts(box_px: Floats, marked: list[int], apart: float) -> Iterator[tuple[int, int]]:
    """Yields the first and last character of each part between white wider than `apart` pixels."""
    first = marked[0]
    for a, b in pairwise(marked):
        if box_px[b, 0] - box_px[a, 2] > apart:
            yield first, a
            first = b
    yield first, marked[-1]


def _cut(text: str, box_px: Floats, first: int, last: int, size: float) -> Iterator[tuple[int, int]]:
    """Yields the first and last character of each part that is short enough, as far as there are spaces."""
    while box_px[last, 2] - box_px[first, 0] > _LONGEST * size:
        reach = box_px[first, 0] + _CUT * size
        spaces = [i for i in range(first, last) if text[i] == " " and box_px[min(i + 1, last), 0] < reach]
        if not spaces:
            break
        yield first, spaces[-1] - 1
        first = spaces[-1] + 1
    yield first, last


def _place(box_px: Floats, size: float) -> Place:
    """Returns the place of characters that follow each other, some of which may leave no mark."""
    own = box_px[~np.isnan(box_px[:, 0])]
    x, y = (own[:, 0] + own[:, 2]) / 2, own[:, 3] - _BELOW * size
    slope = 0.0
    if len(own) > _LEAST_FOR_SLOPE and np.ptp(x) > _LEAST_WIDTH_FOR_SLOPE * size:
        slope = float(np.polyfit(x, y, 1)[0])
        slope = slope if abs(slope) <= _STEEPEST else 0.0
    x0 = float(own[:, 0].min())
    return Place(x0, float(own[:, 2].max()), float(np.median(y - slope * (x - x0))), slope, size)
