"""Columns of an index are told from those of tables and from the leaders of contents."""

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocr.imaging.ink import find_ink
from ocr.layout.bands import ink_in_rows
from ocr.layout.columns import ColumnFinder, Segment, profile
from ocr.layout.letter_sizes import find_lines
from ocr.layout.texture import EVEN_TEXT, LOOSE_TEXT, RUNNING_TEXT
from tests.ocr.layout import pages


def found(page: pymupdf.Page) -> Segment | None:
    picture = Image.fromarray(pages.pixels(page)).convert("L")
    ink = find_ink(picture)
    height_px = find_lines(ink.text).x_height_px(0.5)
    return ColumnFinder(ink.obstacles, ink.rules).find((0, 0, *picture.size), height_px, EVEN_TEXT)


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


@pytest.mark.slow
def test_rows_that_all_start_alike_are_a_tables() -> None:
    assert found(index(indent_pt=0)) is None
    assert found(index(indent_pt=25, entries=(0,))) is None, "below a head"


@pytest.mark.slow
def test_the_dots_of_leaders_are_no_gutter() -> None:
    page = pages.new_page()
    for row in range(40):
        x, y = (80 if row % 4 else 65), 90 + 16 * row
        page.insert_text((x, y), pages.words(3, seed=row), fontsize=10)
        for dot in range(24 if row % 4 else 0):  # none for a chapter
            page.insert_text((260 + 10 * dot, y), ".", fontsize=10)
        page.insert_text((510, y), f"{row + 10}", fontsize=10)
    assert found(page) is None


def plain_profile(band: np.ndarray, x_height_px: float, leaders: bool) -> np.ndarray:
    """Gap by gap."""
    inked = band.any(axis=0)
    hits, most = np.flatnonzero(inked), max(3, round(0.4 * x_height_px))
    if band.shape[0] > 4.5 * x_height_px:
        return inked

    def is_dot(near: np.ndarray) -> bool:
        return not near.any(axis=0).all() and np.count_nonzero(near.any(axis=1)) <= most

    for left, right in pairwise(hits.tolist()):
        dots = is_dot(band[:, max(0, left - most) : left + 1]) and is_dot(band[:, right : right + most + 1])
        if right - left <= max(1, 0.45 * band.shape[0]) or (leaders and dots):
            inked[left:right] = True
    return inked


def test_gaps_are_filled_as_one_by_one() -> None:
    """Marks of all widths and heights, at the edges of the band too."""
    draw, num_dots = np.random.default_rng(0), 0
    for _ in range(300):
        height, x_height_px = int(draw.integers(4, 30)), float(draw.integers(5, 14))
        band = np.zeros((height, 200), bool)
        for x in draw.integers(0, 200, int(draw.integers(1, 12))):
            top, wide, high = draw.integers(height), draw.integers(1, 8), draw.integers(1, 8)
            band[top : top + high, x : x + wide] = True
        for leaders in (True, False):
            expected = plain_profile(band, x_height_px, leaders)
            assert np.array_equal(profile(band, x_height_px, leaders=leaders), expected)
        num_dots += not np.array_equal(expected, plain_profile(band, x_height_px, True))
    assert num_dots > 20


@pytest.mark.slow
def test_what_was_found_once_is_found_again() -> None:
    picture = Image.fromarray(pages.pixels(index(indent_pt=25))).convert("L")
    ink = find_ink(picture)
    finder = ColumnFinder(ink.obstacles, ink.rules)
    boxes = [(0, 0, *picture.size), (0, 0, picture.width, picture.height // 2), (0, 0, *picture.size)]
    for box in boxes:
        for texture in (RUNNING_TEXT, EVEN_TEXT, LOOSE_TEXT):
            for height_px in (6.0, 8.0):
                plain = ColumnFinder(ink.obstacles, ink.rules).find(box, height_px, texture)
                assert finder.find(box, height_px, texture) == plain


def test_ink_in_rows_is_counted_beyond_what_a_byte_holds() -> None:
    mask = np.random.default_rng(0).random((40, 1100)) < 0.7
    mask[3] = True
    for window in (mask, mask[:, 100:356], mask[:, :255], mask[::2, 7:9], mask[:, :0]):
        assert np.array_equal(ink_in_rows(window), np.count_nonzero(window, axis=1))
