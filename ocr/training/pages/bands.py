"""A band of a real page over its full width: how pages too long for one sample are read, and lines seen larger."""

import random
from math import ceil, floor

import numpy as np
import pymupdf

from ocr.training.pages.truth import Glyphs, Sheet, extract

_LEAST_PT = 90  # height of a band
_ABOVE, _BELOW = 0.2, 0.36  # room for accents and descenders around a glyph's band, in heights of the band


def cut_band(rng: random.Random, page: pymupdf.Page, max_characters: int) -> Sheet | None:
    """The page between two heights that cut through no line, with at most so many characters; None where none is."""
    if page.cropbox.tl != pymupdf.Point(0, 0) or page.rect.height < 2 * _LEAST_PT:
        return None
    edges = choose_band(rng, extract(Sheet.of(page)), page.rect.height, max_characters)
    if edges is None:
        return None
    page.set_cropbox(pymupdf.Rect(0, edges[0], page.rect.width, edges[1]) & page.mediabox)
    return Sheet.of(page)


def choose_band(
    rng: random.Random, glyphs: Glyphs, height_pt: float, max_characters: int
) -> tuple[int, int] | None:
    """(top, bottom) in whole points, both where no glyph stands."""
    box = glyphs.box_pt[~np.isnan(glyphs.box_pt[:, 0])]
    height = box[:, 3] - box[:, 1]
    busy = np.zeros(int(height_pt) + 1, bool)
    for y0, y1 in zip(box[:, 1] - _ABOVE * height, box[:, 3] + _BELOW * height, strict=True):
        busy[max(0, floor(y0)) : max(0, ceil(y1))] = True
    free = np.flatnonzero(~busy)
    middle = (box[:, 1] + box[:, 3]) / 2
    for _ in range(10):
        if len(free) < 2:
            return None
        top, bottom = sorted((int(rng.choice(free)), int(rng.choice(free))))
        count = int(((middle > top) & (middle < bottom)).sum())
        if bottom - top >= _LEAST_PT and 0 < count <= max_characters:
            return top, bottom
    return None
