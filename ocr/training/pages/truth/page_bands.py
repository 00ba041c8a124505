"""Cuts crops from real pages as dense pages are cut for reading: full-width bands, columns, pieces of columns.

A crop is read at a larger scale than the whole page, and its text is short enough for one sample.
"""

import math
import random
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor

import numpy as np
import numpy.typing as npt
import pymupdf

from ocr.training.pages.truth.page_truth import Glyphs, Sheet, extract

_LEAST_PT = 90  # height of a crop
_LEAST_CHARACTERS = 60
_LONG_SIDE_PT = 325  # a crop with shorter sides is read without tiles
_ABOVE, _BELOW = 0.2, 0.36  # room for accents and descenders around a glyph's band, in heights of the band
_SHAPES = (0.7, 3.0)  # width by height of a band over the full width
_PIECE_SHAPES = (0.25, 1.6)  # of a piece of a column
_GUTTER = 1.1  # the least width of a gutter, in heights of a glyph's band
_COLUMN = 0.17  # the least width of a column, as a share of the page's
_COLUMN_LINES, _COLUMN_CHARACTERS = 8, 15  # the least number of lines, and of characters on one
_AROUND_PT = 24.0  # the most white left next to text where a crop is trimmed
_TRIES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Edges of a crop in whole points, none of which crosses a glyph."""

    left: int
    top: int
    right: int
    bottom: int


class _Marks:
    """Places of a page's glyphs: [N] edges of each, with room for accents and descenders."""

    def __init__(self, glyphs: Glyphs) -> None:
        box = glyphs.box_pt[~np.isnan(glyphs.box_pt[:, 0])].astype(np.float64)
        height = box[:, 3] - box[:, 1]
        self.x0, self.x1 = box[:, 0], box[:, 2]
        self.y0, self.y1 = box[:, 1] - _ABOVE * height, box[:, 3] + _BELOW * height
        self.middle = (box[:, 1] + box[:, 3]) / 2
        self.height = float(np.median(height)) if len(height) else 0.0


def cut_band(rng: random.Random, page: pymupdf.Page, max_characters: int) -> Sheet | None:
    """Returns a crop of the page with at least 60 and at most max_characters characters; None if there is none.

    Most crops of pages with columns are columns, or pieces of one; all others are full-width bands.
    """
    if page.cropbox.tl != pymupdf.Point(0, 0) or page.rect.height < 2 * _LEAST_PT:
        return None
    glyphs, width, height = extract(Sheet.of(page)), page.rect.width, page.rect.height
    cut = choose_piece(rng, glyphs, width, height, max_characters) if rng.random() < 0.7 else None
    cut = cut or choose_band(rng, glyphs, width, height, max_characters)
    if cut is None:
        return None
    cut = _trimmed(rng, _Marks(glyphs), cut)
    page.set_cropbox(pymupdf.Rect(cut.left, cut.top, cut.right, cut.bottom) & page.mediabox)
    return Sheet.of(page)


def choose_band(
    rng: random.Random, glyphs: Glyphs, width_pt: float, height_pt: float, max_characters: int
) -> Cut | None:
    """Returns a full-width band, its aspect ratio drawn evenly on a logarithmic scale."""
    marks = _Marks(glyphs)
    free = _free(marks.y0, marks.y1, height_pt)
    for _ in range(_TRIES):
        height = width_pt / math.exp(rng.uniform(*map(math.log, _SHAPES)))
        start = rng.uniform(min(0.0, height_pt - height), max(0.0, height_pt - height))
        inside = free[(free >= start) & (free <= start + height)]
        cut = _between(inside, 0, ceil(width_pt))
        if cut and _LEAST_CHARACTERS <= _count(marks, cut) <= max_characters:
            return cut
    return None


def choose_piece(
    rng: random.Random, glyphs: Glyphs, width_pt: float, height_pt: float, max_characters: int
) -> Cut | None:
    """Returns a text column, or a piece of one, of a page that has two or more side by side."""
    marks = _Marks(glyphs)
    for _ in range(_TRIES):
        height = height_pt * rng.uniform(0.25, 0.9)
        start = rng.uniform(0, height_pt - height)
        columns = _columns(marks, start, start + height, width_pt)
        if not columns:
            continue
        left, right = rng.choice(columns)
        across = (marks.x1 > left) & (marks.x0 < right)
        free = _free(marks.y0[across], marks.y1[across], height_pt)
        low, high = start, start + height
        if rng.random() < 0.5:
            piece = (right - left) / math.exp(rng.uniform(*map(math.log, _PIECE_SHAPES)))
            low = rng.uniform(low, max(low, high - piece))
            high = min(high, low + piece)
        cut = _between(free[(free >= low) & (free <= high)], left, right)
        if cut and _LEAST_CHARACTERS <= _count(marks, cut) <= max_characters:
            return cut
    return None


def _free(
    low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], length_pt: float
) -> npt.NDArray[np.int_]:
    """Returns the whole points from 0 to the length that no span from `low` to `high` covers."""
    last = floor(length_pt)
    change = np.zeros(last + 2, int)
    np.add.at(change, np.clip(np.floor(low).astype(int), 0, last + 1), 1)
    np.add.at(change, np.clip(np.ceil(high).astype(int), 0, last + 1), -1)
    return np.flatnonzero(np.cumsum(change)[: last + 1] == 0)


def _between(free: npt.NDArray[np.int_], left: int, right: int) -> Cut | None:
    """Returns the largest crop between free heights; None if it is too small."""
    if (
        len(free) < 2
        or free[-1] - free[0] < _LEAST_PT
        or max(right - left, free[-1] - free[0]) < _LONG_SIDE_PT
    ):
        return None
    return Cut(left=left, top=int(free[0]), right=right, bottom=int(free[-1]))


def _count(marks: _Marks, cut: Cut) -> int:
    """Returns how many glyphs are in the crop."""
    inside = (marks.middle > cut.top) & (marks.middle < cut.bottom) & (marks.x0 >= cut.left)
    return int((inside & (marks.x1 <= cut.right)).sum())


def _trimmed(rng: random.Random, marks: _Marks, cut: Cut) -> Cut:
    """Returns the crop with less white around its text: on most sides, as far as it stays large enough."""
    inside = (marks.middle > cut.top) & (marks.middle < cut.bottom)
    inside &= (marks.x0 >= cut.left) & (marks.x1 <= cut.right)
    around = [_AROUND_PT * rng.random() if rng.random() < 0.7 else math.inf for _ in range(4)]
    left = max(cut.left, marks.x0[inside].min() - around[0])
    top = max(cut.top, marks.y0[inside].min() - around[1])
    right = min(cut.right, marks.x1[inside].max() + around[2])
    bottom = min(cut.bottom, marks.y1[inside].max() + around[3])
    small = max(right - left, bottom - top) < _LONG_SIDE_PT or bottom - top < _LEAST_PT
    return cut if small else Cut(left=floor(left), top=floor(top), right=ceil(right), bottom=ceil(bottom))


def _columns(marks: _Marks, top: float, bottom: float, width_pt: float) -> list[tuple[int, int]]:
    """Returns (left, right) of the text columns between two heights, cut in the gutters.

    None if there is one column.
    """
    inside = (marks.y1 > top) & (marks.y0 < bottom)
    free = _free(marks.x0[inside], marks.x1[inside], width_pt)
    runs = np.split(free, np.flatnonzero(np.diff(free) > 1) + 1) if len(free) else []
    least = max(5.0, _GUTTER * marks.height)
    gutters = [run for run in runs if len(run) >= least and run[0] > 0 and run[-1] < floor(width_pt)]
    if not gutters:
        return []
    edges = [0, *(int((run[0] + run[-1]) // 2) for run in gutters), ceil(width_pt)]
    found = []
    for left, right in pairwise(edges):
        own = inside & (marks.x0 >= left) & (marks.x1 <= right)
        if not own.any():
            continue
        wide = float(marks.x1[own].max() - marks.x0[own].min())
        lines = len(np.unique(np.round(marks.middle[own] / max(1.0, marks.height))))
        if wide >= _COLUMN * width_pt and lines >= _COLUMN_LINES and own.sum() >= _COLUMN_CHARACTERS * lines:
            found.append((left, right))
    return found if len(found) > 1 else []
