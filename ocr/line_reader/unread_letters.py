"""Tells whether ink that no line covers looks like letters, in any direction, rather than drawings, edges or specks.

Letters are of about one size, and each has others beside it; markers of a chart stand apart, strokes of a drawing are
thin for their size, and what is seen of a sheet's edge or of a stamp is of all sizes. The letters of a word on an arc,
in a wave or one below the other are little ink: they are read, straightened along their path. Of outlined letters there
is much white within.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image

from ocr.imaging.pieces import pieces
from ocr.imaging.profiles import Mask
from ocr.line_reader.found_lines import Box, Floats, ReadLine, Shades, TextLine
from ocr.line_reader.line_images import normalised
from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.reading import LineReader

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
# On a path so many pieces follow each other, so large in pixels, so many times as large as the next one at most, and so
# far from it, in sides of the smaller one. What was found and read so surely stands on none; straightened, so many
# letters are read so surely, so many kinds of them: signatures, slanted print and rows of one mark on ordinary pages
# are read with 0.96 at most, or are all alike.
_FEWEST_ON_PATH, _MOST_ON_PATH, _LEAST_PX, _NEXT_ALIKE, _NEXT = 5, 40, 5, 3.0, 1.2
_READ, _LIKELY, _LETTERS, _KINDS = 0.9, 0.96, 7, 4
# In sides of the letters: how far from a row they stand, from a column at most, how far apart, what is seen around
# their path. Of its length: slanted lines rise less. Letters in a column are so much wider than high, words wider.
_BENT, _STACKED, _APART, _AROUND, _DEGREE, _SLANT, _WIDE = 0.35, 0.5, 3.0, 1.3, 4, 0.15, 1.3
# Outlined letters: their height is reduced to about so many pixels; the white within each has such a share of a line's
# height and at most such a share of its bounds, as in no frame.
_SEEN_PX, _OUTLINE, _TALL, _NO_FRAME = 80, 0.3, 0.3, 0.7


def shows_letters(ink: PageInk, lines: Sequence[TextLine], boxes: Sequence[Box]) -> bool:
    """Returns whether much of a page's ink is outside these lines and boxes and looks like letters of some size."""
    outside = ink.outside(lines, boxes) & ~ink.on_grounds
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
    beyond = (alike[:, None, :2] - alike[None, :, 2:4]).max(2)
    num_near = np.count_nonzero(np.maximum(beyond, beyond.T) < _NEAR * middle, axis=1) - 1
    own, areas = alike[:, 4], (alike[:, 2] - alike[:, 0]) * (alike[:, 3] - alike[:, 1])
    return bool(
        len(alike) >= _FEWEST
        and own.sum() > _MOSTLY * found[:, 4].sum()
        and own[num_near >= _NEIGHBOURS].sum() > _TOGETHER * own.sum()
        and own.sum() > _FILLED * areas.sum()
    )


def shows_bent_type(
    ink: PageInk, darkness: Shades, found: Sequence[ReadLine], boxes: Sequence[Box], reader: LineReader
) -> bool:
    """Returns whether letters stand on an arc, in a wave or in a column outside these lines and boxes."""
    sure = [read.line for read in found if read.num_letters >= 4 and read.confidence > _READ]
    paths = (path / np.float32(ink.scale) for path in _paths(ink.outside(sure, boxes)))
    parts = (part for path in paths if (part := _straightened(darkness, path)) is not None)
    lines = (line for part in parts for line in reader.read(part, reader.find(part, darkness)))
    known = " ".join(read.text for read in found)
    texts = (line.text for line in lines if line.confidence > _LIKELY and line.text.strip() not in known)
    words = (text for text in texts if sum(map(str.isalpha, text)) >= _LETTERS)  # columns of numbers are none
    if any(len(set(text)) >= _KINDS for text in words):
        return True
    return ink.coarse is not None and shows_bent_type(ink.coarse, darkness, found, boxes, reader)


def _paths(outside: Mask) -> Iterator[Floats]:
    """Yields the bounds, [N, 4], of letters that follow each other, of ink outside lines."""
    found = [piece for piece in pieces(outside) if max(piece.width, piece.height) >= _LEAST_PX]
    largest = sorted(found, key=lambda piece: -piece.width * piece.height)[:_MOST]
    boxes = np.array([(it.x0, it.y0, it.x1, it.y1) for it in largest], np.intp).reshape(-1, 4)
    sides = (boxes[:, 2:] - boxes[:, :2]).max(1)
    low, high = np.minimum.outer(sides, sides), np.maximum.outer(sides, sides)
    beyond = (boxes[:, None, :2] - boxes[None, :, 2:]).max(2)
    follow = (high < _NEXT_ALIKE * low) & (np.maximum(beyond, beyond.T) < _NEXT * low)
    paths: dict[int, list[int]] = {}
    path_of = np.zeros(len(boxes), np.intp)
    for number in range(len(boxes)):
        near = set(path_of[:number][follow[number, :number]].tolist())
        own = [number, *(other for path in [*paths] if path in near for other in paths.pop(path))]
        paths[number], path_of[own] = own, number
    some = (path for path in paths.values() if _FEWEST_ON_PATH <= len(path) <= _MOST_ON_PATH)
    return (boxes[path].astype(np.float32) for path in some)


def _straightened(darkness: Shades, boxes: Floats) -> Shades | None:
    """Returns the page along the path of letters, [h, w]; None where they stand in a row, or too far apart.

    Letters that stand upright one below the other are laid side by side.
    """
    middles, side = (boxes[:, :2] + boxes[:, 2:]) / 2, float(np.median((boxes[:, 2:] - boxes[:, :2]).max(1)))
    across, down = np.ptp(middles, axis=0)
    middles = middles[np.argsort(middles[:, int(down > across)])]
    steps = np.hypot(*np.diff(middles, axis=0).T)
    if steps.max() > _APART * side or down < max(_BENT * side, _SLANT * across):
        return None
    wide, high = np.median(boxes[:, 2:] - boxes[:, :2], axis=0)
    if across < _STACKED * side and wide < _WIDE * high:
        return _side_by_side(darkness, boxes[np.argsort(boxes[:, 3])].astype(np.intp).tolist())
    along = np.append(0, np.cumsum(steps))
    at = np.arange(-side, along[-1] + side)
    path = [np.polynomial.Polynomial.fit(along, own, _DEGREE) for own in middles.T]
    on_path = np.clip(at, 0, along[-1])
    step = np.array([own.deriv()(on_path) for own in path])
    step /= np.hypot(*step)
    x, y = np.array([own(on_path) for own in path]) + (at - on_path) * step
    offsets = np.arange(-_AROUND * side, _AROUND * side)[:, None]
    columns, rows = (np.rint(own).astype(np.intp) for own in (x - offsets * step[1], y + offsets * step[0]))
    seen: Shades = darkness[rows.clip(0, len(darkness) - 1), columns.clip(0, darkness.shape[1] - 1)]
    return seen


def _side_by_side(darkness: Shades, boxes: Sequence[Sequence[int]]) -> Shades:
    """Returns a page's letters, each within its bounds, in one row with white around, [h, w]."""
    height = max(y1 - y0 for _, y0, _, y1 in boxes)
    letters = (darkness[max(0, y1 - height) : y1 + 1, x0 : x1 + 1] for x0, _, x1, y1 in boxes)
    spaced = (np.pad(own, ((height + 1 - len(own), 0), (0, height // 6))) for own in letters)
    return np.pad(np.concatenate([*spaced], axis=1), height)


def is_hollow(darkness: Shades, line: TextLine) -> bool:
    """Returns whether a line's letters are outlines: several whites as high as letters, half as much as ink."""
    x0, y0, x1, y1 = (max(0, round(side)) for side in line.box)
    seen = Image.fromarray(darkness[y0:y1, x0:x1]).reduce(max(1, (y1 - y0) // _SEEN_PX))
    inked = np.pad(normalised(np.asarray(seen)) > _OUTLINE, 1)
    tall = (white for white in pieces(~inked) if white.x0 and white.height > _TALL * len(inked))
    within = [white.ink for white in tall if white.ink < _NO_FRAME * white.width * white.height]
    return len(within) >= _KINDS and 2 * sum(within) > int(np.count_nonzero(inked))
