"""A page drawn in a page is cut out of it; tables and frames without anything beside them are left alone."""

import numpy as np
import pymupdf

from ocr.layout.crops import Box
from ocr.layout.split.framed_page import find_frame
from ocr.layout.split.plan import plan
from tests.ocr.layout import pages

FRAME_PT = (150, 60, 470, 500)


def framed(*, notes: bool = True, shelves: int = 0) -> pymupdf.Page:
    """Two columns of 6 pt in a frame, with notes on its left, or shelves across it."""
    page = pages.new_page()
    page.draw_rect(pymupdf.Rect(FRAME_PT), width=0.8)
    pages.write(page, (160, 70, 305, 490), pages.words(700, 2), 6)
    pages.write(page, (317, 70, 462, 490), pages.words(700, 3), 6)
    for number in range(5 if notes else 0):
        page.insert_text((50, 100 + 80 * number), f"note {number} in margin", fontsize=9)
    for number in range(shelves):
        y = 60 + (number + 1) * 440 / (shelves + 1)
        page.draw_line((150, y), (470, y), width=0.8)
    pages.write(page, (70, 530, 525, 800), pages.words(300, 4), 10)
    return page


def found(page: pymupdf.Page) -> Box | None:
    pixels = pages.pixels(page)
    dark = np.asarray(pixels.min(axis=2) < 128)
    height, width = dark.shape
    rules = np.zeros_like(dark)
    for part in page.get_drawings():
        x0, y0, x1, y1 = (round(value * pages.DPI / 72) for value in part["rect"])
        rules[y0 - 2 : y1 + 3, x0 - 2 : x0 + 3] = rules[y0 - 2 : y1 + 3, x1 - 2 : x1 + 3] = True
        rules[y0 - 2 : y0 + 3, x0:x1] = rules[y1 - 2 : y1 + 3, x0:x1] = True
    rules &= dark
    return find_frame(dark & ~rules, rules, (0, 0, width, height))


def test_a_frame_with_notes_beside_it_is_found_where_it_is() -> None:
    frame = found(framed())
    assert frame is not None
    assert np.allclose(np.array(frame) * 72 / pages.DPI, FRAME_PT, atol=2)


def test_a_frame_alone_and_a_ruled_table_are_none() -> None:
    assert found(framed(notes=False)) is None
    assert found(framed(shelves=4)) is None


def test_the_columns_in_a_frame_are_read_one_after_the_other() -> None:
    crops = [crop.box_px for crop in plan(pages.pixels(framed()), 6).crops]
    left, middle, right = (x * pages.DPI / 72 for x in (150, 311, 470))
    inside = [box for box in crops if box[0] > left and box[2] < right]
    assert [box[0] > middle - 5 for box in inside] == sorted(box[0] > middle - 5 for box in inside)
    assert any(box[2] <= middle for box in inside)
    assert any(box[0] >= middle - 5 for box in inside)
    assert any(box[2] <= left for box in crops), "the notes"
