import random

import pymupdf

from ocr.training.pages.bands import cut_band
from ocr.training.pages.truth import Sheet, extract


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
