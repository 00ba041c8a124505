"""Tells how much of a page's ink lies outside the lines that were read: handwriting is no print, and is left out."""

from collections.abc import Iterable

import numpy as np
from PIL import Image

from encoders.views import UInt8Array
from ocr.imaging.ink import find_ink
from ocr.line_reader.found_lines import Box

# Pages are analysed with this longer side: pen strokes are two pixels wide, and it takes some 15 ms.
_ANALYSIS_PX = 1000
# Less ink than this share of the page is a mark or two. On 461 photographs and drawings without print more than this
# share is picture, or the paper is darker than this, or less is ink; on 13 handwritten pages none of these.
_LEAST_INK, _MOST_PICTURE, _LEAST_PAPER = 0.008, 0.03, 150
# Around a line's box, in pixels of the analysis: specks and the ends of letters.
_AROUND_PX = 2


def unread_ink(grey: UInt8Array, boxes: Iterable[Box]) -> float:
    """Returns the share of the page's ink, without rules and pictures, that is outside the boxes; 0 on little ink.

    It is 0 on pages with pictures and on dark ones too, whose ink need not be writing. grey: [H, W] uint8, in whose
    pixels the boxes are.
    """
    scale = min(1.0, _ANALYSIS_PX / max(grey.shape))
    height, width = (max(1, round(side * scale)) for side in grey.shape)
    page = Image.fromarray(grey).resize((width, height), Image.Resampling.BOX)
    if np.median(np.asarray(page)) < _LEAST_PAPER:
        return 0.0
    found = find_ink(page)
    total = int(np.count_nonzero(found.text))
    if total < _LEAST_INK * width * height or np.mean(found.pictures) > _MOST_PICTURE:
        return 0.0
    outside = found.text.copy()
    for box in boxes:
        x0, y0, x1, y1 = (side * scale for side in box)
        top, left = max(0, int(y0) - _AROUND_PX), max(0, int(x0) - _AROUND_PX)
        outside[top : int(y1) + _AROUND_PX + 1, left : int(x1) + _AROUND_PX + 1] = False
    return int(np.count_nonzero(outside)) / total
