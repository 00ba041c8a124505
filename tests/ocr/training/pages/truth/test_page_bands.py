import random

import pymupdf
import pytest

from ocr.training.pages.truth.page_bands import choose_band, choose_piece, cut_band
from ocr.training.pages.truth.page_truth import Sheet, extract


def a_page() -> pymupdf.Page:
    page = pymupdf.open().new_page(width=400, height=600)
    for line in range(35):
        page.insert_text((40, 50 + 15 * line), f"left line {line}", fontsize=10)
        page.insert_text((220, 50 + 15 * line), f"right line {line}", fontsize=10)
    return page


def test_a_band_holds_whole_lines_of_both_columns() -> None:
    rng, found = random.Random(0), 0
    for _ in range(12):
        page = a_page()
        sheet = cut_band(rng, page, 400)
        if sheet is None:
            continue
        found += 1
        text = extract(sheet).text
        lines = [line for line in text.split("\n") if line]
        assert all(line.startswith("left line ") and " right line " in line for line in lines)
        numbers = [int(line.split()[2]) for line in lines]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert len(text.replace(" ", "").replace("\n", "")) <= 400
        assert sheet.height_pt < 600
        pixels = sheet.display.get_pixmap(colorspace=pymupdf.csGRAY, alpha=0)
        rows = [pixels.samples[i * pixels.stride : i * pixels.stride + 400] for i in (0, pixels.height - 1)]
        assert min(rows[0]) == 255
        assert min(rows[1]) > 200, "a descender may end in the last row, no more"
    assert found > 6


def test_a_page_without_room_between_lines_gives_none() -> None:
    page = pymupdf.open().new_page(width=400, height=600)
    for line in range(120):
        page.insert_text((40, 5 * line), "x" * 20, fontsize=12)
    assert cut_band(random.Random(0), page, 400) is None
    assert extract(Sheet.of(page)).text


def columns_page(number: int) -> pymupdf.Page:
    """A heading over text columns that are set off by half a line against each other."""
    page = pymupdf.open().new_page(width=600, height=800)
    page.insert_text((60, 60), "A heading that stands over all of the columns of it", fontsize=22)
    step = 540 / number
    for column in range(number):
        for line in range(44):
            text = f"c{column} row{line:02} some words of text here"
            size = 9 if number == 2 else 7
            page.insert_text((30 + step * column, 100 + 15 * line + 7 * column), text, fontsize=size)
    return page


@pytest.mark.parametrize("number", [2, 3])
def test_a_piece_is_of_one_column_and_holds_whole_lines(number: int) -> None:
    rng, seen, heights = random.Random(1), set(), []
    for _ in range(25):
        page = columns_page(number)
        glyphs = extract(Sheet.of(page))
        cut = choose_piece(rng, glyphs, 600, 800, 7500)
        if cut is None:
            continue
        page.set_cropbox(pymupdf.Rect(cut.left, cut.top, cut.right, cut.bottom))
        text = extract(Sheet.of(page)).text
        lines = [line for line in text.split("\n") if line]
        names = {line[:2] for line in lines}
        assert len(names) == 1, "one column alone"
        assert all(line.endswith("some words of text here") for line in lines)
        seen |= names
        heights.append(cut.bottom - cut.top)
    assert seen == {f"c{column}" for column in range(number)}
    assert max(heights) - min(heights) > 150


def test_a_page_of_one_column_has_no_pieces() -> None:
    page = pymupdf.open().new_page(width=600, height=800)
    for line in range(44):
        page.insert_text((40, 60 + 15 * line), f"line {line} " + "of running text, " * 6, fontsize=9)
    assert choose_piece(random.Random(0), extract(Sheet.of(page)), 600, 800, 7500) is None


def test_bands_have_the_shapes_of_parts_and_few_enough_characters() -> None:
    rng, page = random.Random(3), columns_page(1)
    glyphs = extract(Sheet.of(page))
    cuts = [cut for _ in range(60) if (cut := choose_band(rng, glyphs, 600, 800, 900))]
    shapes = [600 / (cut.bottom - cut.top) for cut in cuts]
    assert all(0.7 <= shape < 4 for shape in shapes)
    assert min(shapes) < 1.2
    assert max(shapes) > 2.2
    crowded = [choose_band(rng, glyphs, 600, 800, 40) for _ in range(5)]
    assert crowded == [None] * 5
