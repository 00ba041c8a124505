"""Letters stand where the head sees them, as high as their line."""

import pytest

from ocr.layout.localize.matching.canvas import Canvas
from ocr.layout.localize.matching.letter_boxes import letters_on
from ocr.transcript.word_places import words_among
from tests.ocr.layout.localize.drawn import CHARACTERS, Box, DrawnPage


def letters(page: DrawnPage, *texts: str) -> list[tuple[str, Box]]:
    high, wide = page.grey.shape
    canvas = Canvas(grey=page.grey, box=(0, 0, wide, high), width_px=2 * wide, height_px=2 * high)
    return letters_on(list(texts), page.cells, CHARACTERS, canvas)


def test_each_letter_has_its_cells_in_pixels_of_the_page() -> None:
    page = DrawnPage()
    page.put("garden in winter", 20, 100)
    found = letters(page, "garden in winter")
    assert "".join(letter for letter, _ in found) == "gardeninwinter"
    assert [(box[0], box[2]) for _, box in found[:3]] == [(160, 176), (176, 192), (192, 208)]
    assert all(box[1] == pytest.approx(2 * (100 - 0.77 * 20), abs=12) for _, box in found)


def test_words_get_their_boxes_from_letters_of_any_order_of_lines() -> None:
    page = DrawnPage()
    first, second = (
        page.put("nothing grows before march", 10, 100),
        page.put("branches are cut and sorted", 120, 100),
    )
    text = "branches are cut and sorted\nnothing grows before march"
    words = dict(words_among(text, letters(page, *text.split("\n"))))
    for word, start, line in (("branches", 0, second), ("cut", 13, second), ("grows", 8, first)):
        box = words[word]
        assert box is not None
        assert (box[0], box[2]) == pytest.approx(
            (2 * line[0] + 16 * start, 2 * line[0] + 16 * (start + len(word))), abs=8
        )


def test_letters_that_are_not_seen_are_not_there() -> None:
    page = DrawnPage()
    page.put("garden in winter", 20, 100)
    assert letters(page, "another text, quite") == []
