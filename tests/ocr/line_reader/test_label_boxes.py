"""White letters in small boxes are read, as in a manual's table; frames, rules and pictures are no such boxes."""

from typing import Any

import numpy as np
import pymupdf
import pytest

from ocr.line_reader.found_lines import TextLine
from ocr.line_reader.label_boxes import label_boxes
from tests.ocr.line_reader.printed import printed, shipped

LABELS = ("optional", "yes", "read-only", "inline", "virtual", "protected")
SHADES = ((0.53,) * 3, (0.45, 0.55, 0.76), (0.33,) * 3, (0.33, 0.67, 0.33), (0.85, 0.33, 0.31), (0.2,) * 3)


def labelled(size: float) -> Any:
    """Draws rows of a table, each with a label in a box of another shade beside a word."""

    def draw(page: Any) -> None:
        for number, (label, shade) in enumerate(zip(LABELS, SHADES, strict=True)):
            y = 40 + 2.2 * size * number
            page.insert_text((40, y), f"setting {number} of the file", fontsize=11)
            wide = pymupdf.get_text_length(label, fontsize=size)
            box = pymupdf.Rect(168, y - size, 176 + wide, y + 0.35 * size)
            page.draw_rect(box, color=shade, fill=shade, radius=0.15)
            page.insert_text((172, y), label, fontsize=size, color=(1, 1, 1))

    return draw


@pytest.mark.parametrize("size", [7, 9])
@pytest.mark.parametrize("dpi", [110, 150, 200])
def test_white_labels_are_read_whatever_the_shade_of_their_boxes(size: float, dpi: int) -> None:
    darkness = printed(labelled(size), dpi)
    read = shipped().read(darkness, shipped().find(darkness))
    assert {word.text for line in read for word in line.words} >= set(LABELS)


@pytest.mark.parametrize("shade", [(0.68, 0.71, 0.74), (0.45, 0.75, 0.99), (1.0, 0.53, 0.53)])
@pytest.mark.parametrize(("size", "around"), [(8, 7), (11, 4), (14, 7)])
def test_white_labels_are_read_in_wide_pale_boxes(size: float, around: float, shade: Any) -> None:
    def draw(page: Any) -> None:
        for number, label in enumerate(LABELS):
            y = 40 + (2.2 * size + 2.6 * around) * number
            page.insert_text((40, y), f"setting {number} of the file", fontsize=11)
            wide = pymupdf.get_text_length(label, fontsize=size)
            box = pymupdf.Rect(
                134, y - 0.93 * size - around, 134 + 2 * around + wide, y + 0.24 * size + around
            )
            page.draw_rect(box, color=shade, fill=shade)
            page.insert_text((134 + around, y), label, fontsize=size, color=(1, 1, 1))

    darkness = printed(draw, 150)
    read = shipped().read(darkness, shipped().find(darkness))
    assert {word.text for line in read for word in line.words} >= set(LABELS)


@pytest.mark.parametrize("dpi", [110, 150, 200])
def test_white_labels_of_two_letters_are_read_in_round_boxes(dpi: int) -> None:
    texts = ("v2", "OK", "bug", "new")

    def draw(page: Any) -> None:
        for number, (text, shade) in enumerate(zip(texts, SHADES, strict=False)):
            y, wide = 40 + 32 * number, pymupdf.get_text_length(text, fontsize=11)
            page.insert_text((40, y), "issue opened by us", fontsize=12)
            box = pymupdf.Rect(160, y - 14, 176 + wide, y + 6)
            page.draw_rect(box, color=shade, fill=shade, radius=0.5)
            page.insert_text((168, y), text, fontsize=11, color=(1, 1, 1))
            page.insert_text((186 + wide, y), "and closed again", fontsize=12)

    darkness = printed(draw, dpi)
    read = shipped().read(darkness, shipped().find(darkness))
    assert {word.text for line in read for word in line.words} >= set(texts)


def test_frames_rules_and_bars_are_no_labels() -> None:
    darkness = np.zeros((200, 600), np.uint8)
    darkness[80:102, 100:160] = 128
    darkness[82:100, 102:158] = 0  # a frame
    darkness[101:103, 200:300] = 128  # a rule below a word
    darkness[40:160, 350:600] = 128  # a picture
    line = TextLine(left=80, right=600, baseline=np.full(520, 99, np.float32), size=20.0)
    assert not list(label_boxes(darkness, line))


def test_white_letters_on_a_band_across_the_page_are_read_once() -> None:
    text = "Members of the holding, of one owner or of a company"

    def draw(page: Any) -> None:
        page.draw_rect(pymupdf.Rect(20, 90, 400, 103), fill=(0.3, 0.5, 0.3), color=None)
        page.insert_text((50, 100), text, fontsize=9, fontname="hebo", color=(1, 1, 1))
        page.insert_text((50, 130), "Each of them has to sign below, and to give a day of birth.", fontsize=9)

    darkness = printed(draw, 200)
    assert [line.text for line in shipped().read(darkness, shipped().find(darkness))][:1] == [text]
