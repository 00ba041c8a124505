"""Tells whether ink that no line covers looks like letters, in any direction, rather than drawings, edges or specks.

Letters are of about one size, and each has others beside it; markers of a chart stand apart, strokes of a drawing are
thin for their size, and what is seen of a sheet's edge or of a stamp is of all sizes.
"""

from collections.abc import Sequence

import numpy as np

from ocr.imaging.pieces import pieces
from ocr.line_reader.found_lines import Box, TextLine
from ocr.line_reader.missed_lines import PageInk

# Of a page's ink: less is a mark or two. Ordinary pages have .03 outside their lines, scans with pen marks up to .4.
_MUCH = 0.2
# Pieces with less ink are specks; so many of the largest are looked at, and fewer are no text.
_LEAST_INK, _MOST, _FEWEST = 4, 400, 10
# Letters' longer sides are so many times the middle one's at most, and at least one part in so many.
_ALIKE = 2.2
# How near the next ones are, in these sides, and how many.
_NEAR, _NEIGHBOURS = 0.35, 2
# Of the ink outside lines that is in letters; of theirs that is in those with neighbours; of their boxes that is ink.
# Of 54 printed and typed scans with pen marks, stamps and edges, and of 14 drawings, none has more of all three.
_MOSTLY, _TOGETHER, _FILLED = 0.8, 0.7, 0.2


def shows_letters(ink: PageInk, lines: Sequence[TextLine], boxes: Sequence[Box]) -> bool:
    """Returns whether much of a page's ink is outside these lines and boxes and looks like letters of some size."""
    outside = ink.outside(lines, boxes)
    if int(np.count_nonzero(outside)) > _MUCH * int(np.count_nonzero(ink.text)):
        found = [piece for piece in pieces(outside) if piece.ink >= _LEAST_INK]
        largest = sorted(found, key=lambda piece: -piece.width * piece.height)[:_MOST]
        if _are_letters(np.array([(it.x0, it.y0, it.x1, it.y1, it.ink) for it in largest], np.float32)):
            return True
    return ink.coarse is not None and shows_letters(ink.coarse, lines, boxes)


def _are_letters(found: "np.ndarray[tuple[int, int], np.dtype[np.float32]]") -> bool:
    """Returns whether pieces [N, 5], their bounds and their ink, are letters."""
    if len(found) < _FEWEST:
        return False
    sides = np.maximum(found[:, 2] - found[:, 0], found[:, 3] - found[:, 1])
    order = np.argsort(sides)
    share = np.cumsum(found[order, 4]) / found[:, 4].sum()
    middle = sides[order][np.searchsorted(share, 0.5)]
    alike = found[(sides < _ALIKE * middle) & (sides > middle / _ALIKE)]
    apart = np.maximum(alike[:, None, :2], alike[None, :, :2]) - np.minimum(
        alike[:, None, 2:4], alike[None, :, 2:4]
    )
    num_near = np.count_nonzero(apart.max(-1) < _NEAR * middle, axis=1) - 1
    own, areas = alike[:, 4], (alike[:, 2] - alike[:, 0]) * (alike[:, 3] - alike[:, 1])
    return bool(
        len(alike) >= _FEWEST
        and own.sum() > _MOSTLY * found[:, 4].sum()
        and own[num_near >= _NEIGHBOURS].sum() > _TOGETHER * own.sum()
        and own.sum() > _FILLED * areas.sum()
    )
