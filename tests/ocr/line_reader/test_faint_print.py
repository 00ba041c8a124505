"""Marks become dark where a page has none that are; ordinary pages stay as they are."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.line_reader.faint_print import are_faint, darkened, darkness_between


def page(ground: int, shade: int) -> np.ndarray:
    made = np.full((200, 160), ground, np.uint8)
    made[50:60, 20:120] = shade
    return made


@pytest.mark.parametrize(("ground", "shade"), [(255, 245), (255, 180), (200, 240), (10, 40), (120, 100)])
def test_faint_marks_become_dark_on_white_lighter_or_darker_than_their_paper(ground: int, shade: int) -> None:
    made = darkened(page(ground, shade))
    assert (int(made[0, 0]), int(made[55, 60])) == (255, 55)


@pytest.mark.parametrize(("ground", "shade"), [(255, 100), (255, 0), (0, 255), (255, 255), (254, 255)])
def test_pages_with_dark_marks_or_none_stay_as_they_are(ground: int, shade: int) -> None:
    made = page(ground, shade)
    assert darkened(made) is made


def written(ground: int, *lines: tuple[int, str]) -> np.ndarray:
    """Returns a page with lines below each other, each in its shade."""
    picture = Image.new("L", (600, 400), ground)
    pen, face = ImageDraw.Draw(picture), ImageFont.load_default(24)
    for number, (shade, text) in enumerate(lines):
        pen.text((20, 30 + 60 * number), text, font=face, fill=shade)
    return np.array(picture)


def box(number: int) -> tuple[float, float, float, float]:
    return 15.0, 30.0 + 60 * number, 585.0, 58.0 + 60 * number


WORDS = "Seven lanterns in the upper hall"


def test_light_and_faint_marks_between_the_lines_become_dark() -> None:
    made = written(200, (20, WORDS), (255, WORDS), (170, WORDS))
    dark = darkness_between(made, [box(0)])
    assert dark is not None
    assert float(dark[30:58].max()) == 0
    assert min(float(dark[90:118].max()), float(dark[150:178].max())) > 178, "one as dark as the other"
    assert float(dark[190:].max()) == 0
    assert darkness_between(written(200, (20, WORDS)), [box(0)]) is None


def test_marks_that_are_no_words_and_pages_with_grain_are_not_looked_at() -> None:
    made = np.full((400, 600), 200, np.uint8)
    made[100:102, 20:580] = made[200:260, 300:302] = 170
    assert darkness_between(made, []) is None
    grain = np.random.default_rng(0).integers(-2, 3, (400, 600))
    assert darkness_between((written(200, (170, WORDS)) + grain).astype(np.uint8), []) is None


def test_what_stands_out_by_its_colour_alone_becomes_dark() -> None:
    colour = 255 - written(255, (100, WORDS))
    dark = darkness_between(np.full_like(colour, 90), [], colour)
    assert dark is not None
    assert float(dark[30:58].max()) > 0.7
    assert darkness_between(np.full_like(colour, 90), [box(0)], colour) is None


@pytest.mark.parametrize(
    ("ground", "shade", "expected"), [(255, 0, False), (255, 190, True), (200, 60, False), (40, 230, True)]
)
def test_faint_and_light_lines_are_told_from_others(ground: int, shade: int, expected: bool) -> None:
    assert are_faint(written(ground, (shade, WORDS)), [box(0)]) == [expected]
