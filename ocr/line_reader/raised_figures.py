"""Tells a line's raised figures from those on its baseline: 10⁸ is not 108, nor 1843¹ a year. Numpy only.

The network reads a raised figure as one on the line. It is raised where its ink is small and ends above the baseline,
and what is near it stands there. A box it reads as an empty one, X] or, ahead of words, nothing: its ink tells, too.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from ocr.imaging.profiles import Mask, is_framed
from ocr.line_reader.found_lines import Floats
from ocr.line_reader.line_words import Letter

_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_FIGURES, _SIGNS, _OVERHANGS = frozenset("0123456789"), frozenset("+-−–"), "7"
# A figure after these is no mark; one before those is a fraction's. A 7 on the line is high at its left.
_APART, _FRACTION = frozenset("([/⁄"), frozenset("/⁄")
_SURE, _SURELY, _INK = 0.35, 0.9, 0.4  # read with less it may be no figure; a box that its ink tells; dark
# In type sizes above the baseline, where ink is looked for: a figure with some below _FOOT is not raised, nor is a sign
# below _SIGN. What stands on the baseline has some below _STANDS.
_TOP, _FOOT, _SIGN, _STANDS, _BOTTOM = 0.87, 0.2, 0.36, 0.1, -0.05
# In type sizes: how high and how wide a raised figure is, also one that touches what is beside it. A quotation mark is
# lower, the upper half of a figure wider.
_HEIGHTS, _WIDTHS, _TOUCHING = (0.29, 0.56), (0.06, 0.39), 0.2
_LAG, _NEAR = 0.1, 1.3  # in type sizes: from the end of its ink to a letter's place; to a figure's neighbour
_EDGE_PX = 2  # so many columns of what is high may show the rounded edge of the ink beside it
# What a box is read as; its sides in type sizes, which those that are not read are apart; of a core that is ticked.
_BOX, _BOX_SIDES, _FILLED, _RULE = re.compile(r"\[?□|\[(?:E?l|])|\[?[xX]\]"), (0.45, 1.5), 0.1, 0.9


class _Stretch(NamedTuple):
    """Columns of a line that all have ink near the baseline, or all have none there. start, end: of the image's.

    top, foot: the ends of its ink above the baseline, in type sizes. touches: other ink is right beside it.
    """

    start: int
    end: int
    top: float
    foot: float
    touches: bool


_Owned = Sequence[Sequence[_Stretch]]  # by each letter


def with_raised(image: Floats, letters: Sequence[Letter], *, above: float, below: float) -> list[Letter]:
    """Returns the letters of a line's image with its raised figures and ticked boxes as the characters for them.

    image: [H, W], normalised, ink about 1. above, below: how far it reaches from the baseline, in type sizes.
    """
    size = image.shape[0] / (above + below)
    if not letters or letters[0].x > size:  # else, as in most lines, there is no room for a box
        letters = [*_unread_box(image, letters, size), *letters]
    text = "".join([letter.text for letter in letters])
    groups = [] if _FIGURES.isdisjoint(text) else list(filter(None, _figures(letters)))
    boxes = [range(*found.span()) for found in _BOX.finditer(text)]
    if not groups and not boxes:
        return list(letters)
    stretches = list(_stretches(image, size, above))
    owned = _owned(stretches, letters, size)
    up = {at for figures in groups for at in _raised_of(figures, letters, owned, stretches, size)}
    signs = (at - 1 for at in up if at > 1 and letters[at - 1].text in _SIGNS and owned[at - 1])
    raised = (at for at in signs if all(stretch.foot > _SIGN for stretch in owned[at]))
    up |= {at for at in raised if not letters[at - 1].text.isspace()}
    shown = {at: letters[at].text.translate(_RAISED) for at in up}
    for box in boxes:
        own = [stretch for at in box for stretch in owned[at]]
        if own and (mark := _mark_of(image > _INK, own[0].start, own[-1].end, size)):
            shown |= {**dict.fromkeys(box, ""), box[0]: mark}
    return [letter._replace(text=shown.get(at, letter.text)) for at, letter in enumerate(letters)]


def _unread_box(image: Floats, letters: Sequence[Letter], size: float) -> Iterator[Letter]:
    """Yields the character for a box that begins the line, and a space, where nothing was read so far."""
    begin, least = letters[0].x if letters else image.shape[1] + size, _BOX_SIDES[0] * size
    inked = image[:, : round(begin + 4 * size)] > _INK  # rules are seen there, too
    beside = (inked & (inked.mean(1, keepdims=True) < _RULE)).any(0)
    ends = np.flatnonzero(np.diff(beside, prepend=0, append=0)).reshape(-1, 2).tolist()
    left, right = next(((start, end) for start, end in ends if start and end - start >= least), (0, 0))
    if right + least < begin and (mark := _mark_of(inked, left, right, size)):
        yield from (Letter(mark, right, _SURELY), *([Letter(" ", right + least / 2, 1.0)] if letters else ()))


def _mark_of(inked: Mask, left: int, right: int, size: float) -> str:
    """Returns the character for a box in these columns, by whether there is ink in its middle; "" for none."""
    rows = np.flatnonzero(inked[:, left:right].any(1) & (inked.mean(1) < _RULE))
    ink = inked[rows[0] : rows[-1] + 1, left:right] if rows.size else inked[:0]
    least, most = (side * size for side in _BOX_SIDES)
    is_box = least <= min(ink.shape) <= max(ink.shape) <= most and is_framed(ink, _EDGE_PX)
    core = ink[len(ink) // 3 : -(len(ink) // 3) or None, (right - left) // 3 : -((right - left) // 3)]
    return "" if not is_box or core.mean() > _RULE else "☒" if core.mean() > _FILLED else "□"


def _figures(letters: Sequence[Letter]) -> Iterator[range]:
    """Yields the places of figures that follow each other, which begin a line or have a character right before them.

    Those of fractions and in brackets are left out: nobody takes them for a part of what is before.
    """
    start = 0
    for is_figure, same in groupby(letters, lambda letter: letter.text in _FIGURES):
        end = start + len(list(same))
        before, after = (letters[at].text if 0 <= at < len(letters) else "" for at in (start - 1, end))
        if is_figure and before not in _APART and after not in _FRACTION:
            yield range(start + before.isspace(), end)
        start = end


def _raised_of(
    figures: range, letters: Sequence[Letter], owned: _Owned, stretches: Sequence[_Stretch], size: float
) -> range:
    """Returns those of figures that are raised: from the first one on, if all of the rest may be."""
    for at in figures:
        touching = letters[at].text in _OVERHANGS and any(stretch.touches for stretch in owned[at])
        if letters[at].chance > _SURE and not touching and _is_raised(owned[at], stretches, size):
            rest = figures[at - figures.start :]
            low = any(stretch.foot <= _FOOT for other in rest for stretch in owned[other])
            return range(0) if low else rest
    return range(0)


def _is_raised(owned: Sequence[_Stretch], stretches: Sequence[_Stretch], size: float) -> bool:
    """Returns whether a figure with this ink is small and above the baseline, where something near it stands."""
    largest = max(owned, key=lambda stretch: stretch.end - stretch.start, default=None)
    if largest is None or any(stretch.foot <= _FOOT for stretch in owned):
        return False
    width, reach = (largest.end - largest.start) / size, _NEAR * size
    return (
        _HEIGHTS[0] <= largest.top - largest.foot <= _HEIGHTS[1]
        and (_TOUCHING if largest.touches else _WIDTHS[0]) <= width <= _WIDTHS[1]
        and any(
            other.foot < _STANDS and other.start - largest.end < reach and largest.start - other.end < reach
            for other in stretches
        )
    )


def _owned(stretches: Sequence[_Stretch], letters: Sequence[Letter], size: float) -> list[list[_Stretch]]:
    """Returns each letter's stretches: letters are read where their ink ends, or a little behind, never before it."""
    owned: list[list[_Stretch]] = [[] for _ in letters]
    inked = [at for at, letter in enumerate(letters) if not letter.text.isspace()]
    places = [letters[at].x for at in inked]
    for stretch in stretches:
        behind = stretch.end + _LAG * size
        after = bisect_left(places, behind)
        near = [n for n in (after - 1, after) if 0 <= n < len(inked) and places[n] > stretch.start]
        if near:
            owned[inked[min(near, key=lambda n: abs(places[n] - behind))]].append(stretch)
    return owned


def _stretches(image: Floats, size: float, above: float) -> Iterator[_Stretch]:
    """Yields the stretches of inked columns, parted where there is white and where ink near the baseline begins."""
    height = image.shape[0]
    first, foot, last = (min(height, max(0, round(size * (above - side)))) for side in (_TOP, _FOOT, _BOTTOM))
    ink = image[first:last] > _INK
    found = np.where(ink[foot - first :].any(0), 2, ink.any(0))
    starts, kinds = np.flatnonzero(np.diff(found, prepend=-1)).tolist(), found.tolist()
    tops = np.where(kinds, ink.argmax(0), len(ink)).tolist()
    feet = np.where(kinds, len(ink) - ink[::-1].argmax(0), 0).tolist()
    for start, end in pairwise([*starts, len(kinds)]):
        if kind := kinds[start]:
            before, after = start > 0 and kinds[start - 1] > 0, end < len(kinds) and kinds[end] > 0
            num = 1 if kind == 2 else math.ceil((end - start) / (_WIDTHS[1] * size))
            edge = _EDGE_PX if kind == 1 else 0
            edges = np.linspace(start, end, num + 1).round().astype(int).tolist() if num > 1 else [start, end]
            for left, right in pairwise(edges):
                inner = slice(left + edge * before, right - edge * after)
                if lowest := max(feet[inner], default=0):
                    top, low = (above - (first + row) / size for row in (min(tops[inner]), lowest))
                    yield _Stretch(left, right, top, low, before or after)
