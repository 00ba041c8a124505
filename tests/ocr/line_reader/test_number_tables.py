"""Tables of nothing but numbers are read digit by digit, each once, in the last row as in the others."""

import random
from pathlib import Path

import numpy as np
import pymupdf
import pytest

from ocr.line_reader.page_text import page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.model_files.locate import LINES, find_directory

FACES = ("helv", "tiro", "cour", "hebo")


@pytest.fixture(scope="module")
def reader() -> LineReader:
    return LineReader.load(Path(find_directory("small")) / LINES)


def table(number: int) -> tuple[list[list[str]], np.ndarray]:
    """Returns a table's rows and the page that shows it, [H, W] uint8, at 150 dpi."""
    rng = random.Random(f"number table {number}")
    num_columns, num_rows = rng.randint(2, 5), rng.randint(3, 8)
    rows = [[str(rng.randint(10, 9999)) for _ in range(num_columns)] for _ in range(num_rows)]
    size, face = rng.choice((9, 11, 13, 15)), FACES[number % len(FACES)]
    across, down = rng.uniform(4, 8) * size, rng.uniform(1.6, 4) * size
    top, beside = rng.uniform(2, 5) * size, 2 * size
    height = top + (num_rows - 1) * down + rng.choice((0.6, 2, 5)) * size
    page = pymupdf.open().new_page(width=beside + across * num_columns, height=height)
    for row, values in enumerate(rows):
        if number % 3 == 0:
            y = top + row * down - 1.3 * size
            page.draw_line((size, y), (page.rect.width - size, y))
        for column, value in enumerate(values):
            page.insert_text(
                (beside + column * across, top + row * down), value, fontsize=size, fontname=face
            )
    pixmap = page.get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
    return rows, np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width)


@pytest.mark.parametrize("number", range(30, 38))
def test_every_row_is_read(number: int, reader: LineReader) -> None:
    rows, grey = table(number)
    darkness = darkness_of(grey)
    text = page_text(reader.read(darkness, reader.find(darkness))).text
    read = [line.split() for line in text.splitlines() if line]
    assert read == rows
