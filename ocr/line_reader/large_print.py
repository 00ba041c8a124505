"""Looks for print that is too large to be found as lines: on posters, title pages and dividers."""

import numpy as np
from PIL import Image

from encoders.views import UInt8Array
from ocr.line_reader.reading import LineReader, darkness_of

# Longer sides to which the page is reduced in turn: A4 pages with letters of 40 to 400 points then have lines.
_SIDES_PX = (600, 300, 100, 50)
# Of 90 pages with photographs and without print none has a line with more than 0.59: a hole is like a 0, a pillar like
# a 1. The least of ten posters, a II, has 0.67.
_SURE = 0.63


def shows_large_print(grey: UInt8Array, reader: LineReader) -> bool:
    """Returns whether letters or digits are read on the page once it is reduced. grey: [H, W] uint8."""
    page = Image.fromarray(grey)
    return any(_reads(page, side / max(page.size), reader) for side in _SIDES_PX if side < max(page.size))


def _reads(page: Image.Image, scale: float, reader: LineReader) -> bool:
    size = max(1, round(page.width * scale)), max(1, round(page.height * scale))
    darkness = darkness_of(np.asarray(page.resize(size, Image.Resampling.BOX)))
    lines = reader.read(darkness, reader.find(darkness))
    return any(line.confidence > _SURE and any(map(str.isalnum, line.text)) for line in lines)
