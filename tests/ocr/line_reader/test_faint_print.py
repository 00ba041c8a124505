"""Marks become dark where a page has none that are; ordinary pages stay as they are."""

import numpy as np
import pytest

from ocr.line_reader.faint_print import darkened, darkness_between
from ocr.line_reader.found_lines import TextLine


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


def test_light_and_faint_marks_between_the_lines_become_dark() -> None:
    made = np.full((400, 400), 200, np.uint8)
    made[50:60, 20:380] = 20  # a line that was read
    made[150:160, 20:380:3] = 255
    made[250:260, 20:380:3] = 170
    line = TextLine(left=15, right=385, baseline=np.full(370, 58, np.float32), size=14.0)
    dark = darkness_between(made, [line.box])
    assert dark is not None
    assert float(dark[40:70].max()) == 0
    assert min(float(dark[155, 20:380:3].min()), float(dark[255, 20:380:3].min())) > 0.3
    assert float(dark[300:].max()) == 0
    assert darkness_between(np.full((400, 400), 200, np.uint8), []) is None
