"""Pages printed for the line reader, as it sees them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pymupdf

from ocr.line_reader.found_lines import Shades
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, find_directory


def printed(draw: Callable[[Any], None], dpi: int = 150) -> Shades:
    """Returns a page of 420 x 300 points as darkness, [H, W]. draw: puts text on a pymupdf page."""
    with pymupdf.open() as document:
        page = document.new_page(width=420, height=300)
        draw(page)
        pixmap = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
    return darkness_of(
        np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)[:, : pixmap.width]
    )


@cache
def shipped() -> LineReader:
    """Returns the shipped line reader."""
    return LineReader.load(find_directory("small") / LINES)
