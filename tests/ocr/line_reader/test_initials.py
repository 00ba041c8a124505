"""Initials that are lines high are read, and their words are whole."""

from typing import Any

import numpy as np
import pymupdf
import pytest

from ocr.line_reader.initials import with_initials
from ocr.line_reader.page_text import page_text
from tests.ocr.line_reader.printed import printed, shipped

REST = [
    "arbours are seldom as quiet as they are early in a",
    "winter's morning, when all of the boats are still out",
    "and nobody has come to wait for them at the quay.",
    "The office opens at seven, and whoever wants a berth for the winter",
    "should ask before the end of September.",
]


@pytest.mark.parametrize(
    ("letter", "font", "num_lines", "size"),
    [
        ("H", "tibo", 3, 11),
        ("W", "tiro", 2, 10),
        ("B", "helv", 3, 9),
        ("Q", "tiro", 2, 11),
        ("S", "hebo", 3, 12),
    ],
)
def test_an_initial_is_read_and_a_letter_of_its_word(
    letter: str, font: str, num_lines: int, size: float
) -> None:
    pitch, top = 1.3 * size, 60.0
    large = (pitch * (num_lines - 1) + 0.68 * size) / 0.68

    def draw(page: Any) -> None:
        page.insert_text((40, top + pitch * (num_lines - 1)), letter, fontsize=large, fontname=font)
        right = 40 + pymupdf.get_text_length(letter, font, large) + 0.3 * size
        for number, line in enumerate(REST):
            x = right if number < num_lines else 40
            page.insert_text((x, top + pitch * number), line, fontsize=size, fontname="tiro")

    darkness, reader = printed(draw), shipped()
    found = with_initials(darkness, reader.read(darkness, reader.find(darkness)), reader)
    page = page_text(found)
    assert page.text.split() == [letter + REST[0].split()[0], *" ".join(REST).split()[1:]]
    assert [word.text for word in page.words] == page.text.split()
    assert page.words[0].box_px is not None
    assert page.words[0].box_px[0] < 40 * 150 / 72 + 12


def test_no_line_without_an_initial_changes() -> None:
    def draw(page: Any) -> None:
        page.draw_rect((40, 50, 75, 85), fill=(0, 0, 0))
        for number, line in enumerate(REST[:3]):
            page.insert_text((85, 60 + 13 * number), line, fontsize=10, fontname="tiro")

    darkness, reader = printed(draw), shipped()
    found = reader.read(darkness, reader.find(darkness))
    assert with_initials(darkness, found, reader) == found
    assert with_initials(np.zeros((50, 80), np.float32), [], reader) == []
