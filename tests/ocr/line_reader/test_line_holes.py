"""Ink from which no letter was read is told by its width; leaders, dashes, rules and black bars are no letters."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.line_reader.line_holes import widest_hole
from ocr.line_reader.line_images import ABOVE, BELOW, HEIGHT_PX
from ocr.line_reader.line_words import Letter

BEFORE, AFTER = "Wolfram came by the ferry", "of nine"
SIZE = HEIGHT_PX / (ABOVE + BELOW)


def hole(between: str, *, bar_px: int = 0, lost: range = range(0)) -> float:
    """The widest hole of a line of which the letters with these numbers, and what stands between, were not read."""
    made = Image.new("L", (900, HEIGHT_PX))
    pen, face = ImageDraw.Draw(made), ImageFont.load_default(SIZE)
    end = 8 + face.getlength(f"{BEFORE} ")
    starts = [8.0, end + bar_px + face.getlength(f"{between} ")]
    pen.text((end, ABOVE * SIZE), between, font=face, fill=255, anchor="ls")
    pen.rectangle((end, 8, end + bar_px, 33), fill=255 if bar_px else 0)
    letters = []
    for text, start in zip((BEFORE, AFTER), starts, strict=True):
        pen.text((start, ABOVE * SIZE), text, font=face, fill=255, anchor="ls")
        for number, letter in enumerate(text):
            place = start + face.getlength(text[:number]) + 0.6 * face.getlength(letter)
            letters.append(Letter(letter, place, 0.9))
    kept = [letter for number, letter in enumerate(letters) if number not in lost]
    return widest_hole(np.asarray(made, np.float32) / np.float32(255), kept, above=ABOVE, below=BELOW)


@pytest.mark.parametrize(
    ("between", "bar_px"), [("", 0), (". . . . . .", 0), ("- - - - -", 0), ("___", 0), ("", 120)]
)
def test_letters_leaders_dashes_rules_and_black_bars_leave_no_hole(between: str, bar_px: int) -> None:
    assert hole(between, bar_px=bar_px) == 0.0


@pytest.mark.parametrize(("between", "lost"), [("", range(3, 8)), ("", range(8, 12)), ("quay", range(0))])
def test_letters_that_were_not_read_leave_one(between: str, lost: range) -> None:
    assert hole(between, lost=lost) > 0.7


@pytest.mark.parametrize("rise_px", [5, 14, -17])
def test_a_long_slanted_dash_leaves_none(rise_px: int) -> None:
    made = Image.new("L", (900, HEIGHT_PX))
    pen, face = ImageDraw.Draw(made), ImageFont.load_default(SIZE)
    pen.line((20, 22 + rise_px / 2, 150, 22 - rise_px / 2), fill=255, width=3)
    pen.text((170, ABOVE * SIZE), AFTER, font=face, fill=255, anchor="ls")
    letters = [Letter("—", 28, 0.9)]
    for number, letter in enumerate(AFTER):
        letters.append(Letter(letter, 170 + face.getlength(AFTER[:number]) + 6, 0.9))
    image = np.asarray(made, np.float32) / np.float32(255)
    assert widest_hole(image, letters, above=ABOVE, below=BELOW) == 0.0


def test_icons_at_a_line_s_ends_leave_none() -> None:
    assert hole("", lost=range(6)) == 0.0
