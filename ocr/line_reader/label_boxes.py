"""Light letters in small boxes, which the finder takes for a large letter or a line's end: labels, keys. Numpy only."""

from collections.abc import Iterator

import numpy as np

from ocr.imaging.pieces import pieces
from ocr.imaging.profiles import runs
from ocr.line_reader.found_lines import Shades, TextLine
from ocr.line_reader.line_images import normalised
from ocr.line_reader.page_ink import lines_of_ink

# Twelve rows, in type sizes around the baseline: between letters and a box's foot; those one of which is below it.
# A box is so much darker, so many type sizes wide, even by so much, and so much of it ground; most of its top and foot.
_ROWS, _WITHIN, _BELOW = (0.05, 1.1), 1, slice(4, None)
_DARKER, _LEAST, _PLAIN, _FILLED, _MOSTLY, _INK = 31, 0.4, 20, 0.4, 0.75, 0.5
# In type sizes: every how many a column is looked at; how far a box reaches up, down, aside; its height. A line's most.
_STEP, _UP, _DOWN, _ASIDE, _HIGH, _MOST = 0.16, 2.0, 1.3, 12.0, 0.6, 8


def label_boxes(darkness: Shades, line: TextLine) -> Iterator[tuple[int, int, list[TextLine]]]:
    """Yields the ends of each box in a line, and what the line of its light letters may be. darkness: the page's."""
    size, reached, step = line.size, line.left, max(1, int(_STEP * line.size))
    columns = np.arange(max(0, line.left), min(line.right, darkness.shape[1]), step)
    rows = line.band(darkness, columns, *_ROWS).astype(np.int16)
    begin, behind = runs(rows[_WITHIN] - rows[_BELOW].min(0) > _DARKER)
    dark = np.flatnonzero((behind - begin) * step > _LEAST * size).tolist()
    for at in dark if len(dark) <= _MOST else ():  # on a dark scan any stroke may be one
        x = int(columns[(begin[at] + behind[at]) // 2])
        y = min(round(float(line.baseline[x - line.left] + _ROWS[0] * size)), len(darkness) - 1)
        ground = np.int16(darkness[y, x])  # differences of bytes would be bytes
        around = darkness[max(0, y - 3 * step) : y + 1, max(0, x - 3 * step) : x + 3 * step]
        if x < reached or np.mean(abs(around - ground) < _PLAIN) < _FILLED:
            continue
        left, top = max(0, round(x - _ASIDE * size)), max(0, round(y - _UP * size))
        part = darkness[top : round(y + _DOWN * size), left : round(x + _ASIDE * size)]
        for box in pieces(is_ground := abs(part - ground) < _PLAIN):
            is_around = 0 < box.x0 <= x - left < box.x1 < part.shape[1]  # or it is a band
            is_around &= 0 < box.y0 <= y - top < box.y1 < len(part)
            is_box = is_around and max(4, _HIGH * size) < box.height <= box.width
            flat = slice(box.x0 + box.height // 3, box.x1 - box.height // 3)  # between round corners
            if is_box and is_ground[[box.y0 + 1, box.y1 - 2], flat].mean() > _MOSTLY:
                reached, x0, y0 = left + box.x1, left + box.x0 + 1, top + box.y0 + 1
                own = np.s_[box.y0 + 1 : box.y1 - 1, box.x0 + 1 : box.x1 - 1]
                inside = is_ground[own]  # what stands beside it, around the corners, is no letter's
                begun, ends = (np.logical_or.accumulate(inside[:, ::way], 1)[:, ::way] for way in (1, -1))
                ink = (normalised(part[own]) > _INK) & begun & ends
                yield x0 - 1, reached, [*lines_of_ink(ink, x0, y0, 0.0)]
