"""Pages whose lines are known, printed without the corpus."""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ocr.line_reader.found_lines import Floats, TextLine
from ocr.training.lines.page_lines import DrawnPage, Place


def printed(lines: Sequence[tuple[str, int, int, int]], shape: tuple[int, int] = (256, 512)) -> DrawnPage:
    """Returns a page of lines (text, x0, baseline, size), black on white."""
    picture = Image.new("L", shape[::-1], 255)
    draw = ImageDraw.Draw(picture)
    places = []
    for text, x0, baseline, size in lines:
        font = ImageFont.load_default(size)
        draw.text((x0, baseline), text, 0, font=font, anchor="ls")
        places.append(Place(x0, x0 + round(draw.textlength(text, font=font)), baseline, 0.0, size))
    return DrawnPage(
        pixels=np.array(picture),
        places=np.asarray(places, np.float32).reshape(-1, 5),
        texts=tuple(text for text, *_ in lines),
        others=np.zeros((0, 5), np.float32),
    )


def text_line(place: Floats) -> TextLine:
    """Returns the line as the finder gives it."""
    x0, x1, baseline, slope, size = place.tolist()
    columns = np.arange(round(x0), round(x1))
    return TextLine(
        left=round(x0),
        right=round(x1),
        baseline=(baseline + slope * (columns + 0.5 - x0)).astype(np.float32),
        size=size,
    )
