"""Exponents and marks of notes are not read as figures on the line, and figures on it stay what they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageDraw, ImageFilter

from ocr.line_reader.found_lines import Floats
from ocr.line_reader.line_words import Letter
from ocr.line_reader.raised_figures import with_raised
from ocr.line_reader.reading import darkness_of
from storage.strings.search_lines import search_lines
from tests.ocr.line_reader.printed import printed, shipped


def put(page: Any, x: float, y: float, line: str, font: str, size: float, small: float, rise: float) -> None:
    """Writes a line, in which raised parts stand between carets."""
    for number, text in enumerate(line.split("^")):
        up = number % 2
        own = size * (small if up else 1)
        page.insert_text((x, y - up * rise * size), text, fontsize=own, fontname=font)
        x += pymupdf.get_text_length(text, font, own)


def read(lines: list[str], font: str, size: float, small: float, rise: float, blur: float = 0) -> list[str]:
    def draw(page: Any) -> None:
        for number, line in enumerate(lines):
            put(page, 30, 50 + 2.2 * size * number, line, font, size, small, rise)

    page = printed(draw, 200)
    if blur:
        page = worn(page, blur)
    found = shipped().read(page, shipped().find(page))
    return [line.text for line in sorted(found, key=lambda line: line.line.middle)]


def worn(page: Floats, blur: float) -> Floats:
    grey = np.clip(255 - 170 * page - np.random.default_rng(4).normal(25, 9, page.shape), 0, 255)
    turned = Image.fromarray(grey.astype(np.uint8)).rotate(0.4, Image.Resampling.BICUBIC, fillcolor=230)
    blurred = turned.filter(ImageFilter.GaussianBlur(blur))
    return darkness_of(np.asarray(blurred))


@pytest.mark.parametrize(
    ("font", "size", "small", "rise", "blur"),
    [
        ("tiro", 11.0, 0.6, 0.36, 0.0),
        ("helv", 12.0, 0.66, 0.42, 0.0),
        ("tibo", 10.0, 0.65, 0.33, 0.0),
        ("tiro", 12.0, 0.66, 0.36, 0.8),
        ("helv", 11.0, 0.65, 0.36, 0.8),
    ],
)
def test_exponents_and_marks_of_notes_are_raised(
    font: str, size: float, small: float, rise: float, blur: float
) -> None:
    lines = [
        "Its mass is 6.4 x 10^8^ pounds",
        "The church burned in 1689^2^ and",
        "it rose by 35 m^3^ in a day",
    ]
    texts = read(lines, font, size, small, rise, blur)
    assert "10⁸ pounds" in texts[0]
    assert "1689² and" in texts[1]
    assert "35 m³ in" in texts[2]


def test_two_figures_that_touch_and_their_sign_are_raised() -> None:
    texts = read(["a share of 10^-13^ parts", "widened in 1931^12^ by two"], "tiro", 11, 0.65, 0.36)
    assert "10⁻¹³ parts" in texts[0]
    assert "1931¹² by" in texts[1]


@pytest.mark.parametrize("font", ["tiro", "helv", "cour", "tibi"])
@pytest.mark.parametrize("blur", [0.0, 0.9])
def test_figures_on_the_line_stay_so(font: str, blur: float) -> None:
    lines = ["Room 417, 1,250.75 at 7.47", "It is 12' 6\" long, 37.5", "In '98 and 1771, page 94-97"]
    text = "\n".join(read(lines, font, 11, 0.6, 0.36, blur))
    assert "417" in text
    assert not set(text) & set("⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def test_a_year_before_a_mark_is_found() -> None:
    [text] = read(["The church burned in 1689^2^ and"], "tiro", 11, 0.6, 0.36)
    assert "1689\u200b²" in (search_lines(text) or "")


@pytest.mark.parametrize("read_as", ["□", "[]", "[l", "[El", "[□", "X]", "[x]"])
def test_a_box_with_a_cross_or_a_tick_is_no_empty_one(read_as: str) -> None:
    def box(*marks: Sequence[tuple[int, int]]) -> str:
        drawn = Image.new("L", (120, 40))
        pen = ImageDraw.Draw(drawn)
        pen.rectangle((16, 8, 38, 30), outline=255, width=2)
        for mark in marks:
            pen.line(list(mark), fill=255, width=2)
        image = np.asarray(drawn, np.float32) / 255
        letters = [
            Letter(text=text, x=42.0 - 8 * (len(read_as) - at), chance=0.9)
            for at, text in enumerate(read_as, 1)
        ]
        return "".join(letter.text for letter in with_raised(image, letters, above=0.98, below=0.32))

    assert box([(16, 8), (38, 30)], [(16, 30), (38, 8)]) == "☒"
    assert box([(20, 18), (26, 25), (35, 11)]) == "☒"
    assert box() == "□"


def test_brackets_and_frames_that_are_no_boxes_stay_what_they_were_read_as() -> None:
    blank = np.zeros((40, 120), np.float32)
    letters = [Letter(text=text, x=x, chance=0.9) for text, x in (("[", 20.0), ("]", 40.0))]
    blank[8:30, [16, 17, 37, 38]] = 1.0
    blank[8:10, 16:20] = blank[28:30, 16:20] = blank[8:10, 35:38] = blank[28:30, 35:38] = 1.0
    assert "".join(letter.text for letter in with_raised(blank, letters, above=0.98, below=0.32)) == "[]"


@pytest.mark.parametrize("words", ["", "Yes"])
def test_a_box_that_begins_a_line_and_was_not_read_is_one(words: str) -> None:
    """Alone in a cell, whose rules run above and below it, or ahead of words; rules, dashes and bars are none."""

    def marked(*boxes: Sequence[int], width: int = 2) -> str:
        drawn = Image.new("L", (160, 40))
        pen = ImageDraw.Draw(drawn)
        pen.line((0, 1, 160, 1), fill=255)
        for box in boxes:
            pen.rectangle(box, outline=255, width=width)
        image = np.asarray(drawn, np.float32) / 255
        letters = [Letter(text=text, x=80.0 + 20 * at, chance=0.9) for at, text in enumerate(words)]
        return "".join(letter.text for letter in with_raised(image, letters, above=0.98, below=0.32))

    assert marked((16, 8, 38, 30)) == f"□ {words}".strip()
    for other in ((0, 8, 22, 30), (16, 18, 38, 20), (8, 8, 66, 30)):
        assert marked(other) == words
    assert marked((16, 8, 38, 30), width=20) == words
