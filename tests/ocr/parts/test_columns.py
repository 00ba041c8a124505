"""Columns of an index are told from those of tables and from the leaders of contents."""

import random
from collections.abc import Sequence

import numpy as np
import pymupdf
from PIL import Image

from ocr.parts.columns import Columns, find_columns
from ocr.parts.ink import find_ink
from ocr.parts.lines import find_lines
from ocr.parts.texture import EVEN_TEXT
from tests.ocr.parts import pages


def found(page: pymupdf.Page) -> Columns | None:
    picture = Image.fromarray(pages.pixels(page)).convert("L")
    ink = find_ink(picture)
    height_px = find_lines(ink.text).x_height_px(0.5)
    return find_columns(ink.obstacles, ink.rules, (0, 0, *picture.size), height_px, EVEN_TEXT)


def index(indent_pt: float, entries: Sequence[int] = range(0, 50, 4)) -> pymupdf.Page:
    """Three columns of nothing but numbers, two a line; entries: those lines that are set out."""
    page, draw = pages.new_page(), random.Random(7)
    for column in range(3):
        for row in range(50):
            x = 80 + 150 * column + (0 if row in entries else indent_pt)
            page.insert_text((x, 90 + 13 * row), f"{draw.randint(1000, 9999)},", fontsize=10)
            right = 80 + 150 * column + 85
            page.insert_text((right, 90 + 13 * row), f"{draw.randint(1000, 9999)},", fontsize=10)
    return page


def test_an_index_of_numbers_has_columns() -> None:
    columns = found(index(indent_pt=25))
    assert columns is not None
    gutters_pt = np.array(columns.edges) * 72 / pages.DPI
    assert [round(x / 75) for x in gutters_pt] == [3, 5]
    assert columns.bottom - columns.top > 49 * 13 * pages.DPI / 72


def test_an_index_has_columns_though_its_entries_are_long() -> None:
    columns = found(index(indent_pt=25, entries=(10, 30)))
    assert columns is not None
    assert len(columns.edges) == 2
    assert columns.bottom - columns.top > 49 * 13 * pages.DPI / 72


def test_rows_that_all_start_alike_are_a_tables() -> None:
    assert found(index(indent_pt=0)) is None
    assert found(index(indent_pt=25, entries=(0,))) is None, "below a head"


def test_the_dots_of_leaders_are_no_gutter() -> None:
    page = pages.new_page()
    for row in range(40):
        x, y = (80 if row % 4 else 65), 90 + 16 * row
        page.insert_text((x, y), pages.words(3, seed=row), fontsize=10)
        for dot in range(24 if row % 4 else 0):  # none for a chapter
            page.insert_text((260 + 10 * dot, y), ".", fontsize=10)
        page.insert_text((510, y), f"{row + 10}", fontsize=10)
    assert found(page) is None
