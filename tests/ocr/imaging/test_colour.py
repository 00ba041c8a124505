"""Print that has no contrast in grey is found by its colour."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.imaging.colour import colour_contrast
from ocr.imaging.planes import of_picture

Colour = tuple[int, int, int]


def page(ground: Colour, ink: Colour) -> np.ndarray:
    picture = Image.new("RGB", (600, 400), ground)
    ImageDraw.Draw(picture).text((30, 100), "Ask at the gate", font=ImageFont.load_default(30), fill=ink)
    return of_picture(picture)


@pytest.mark.parametrize(
    ("ground", "ink"),
    [((200, 40, 40), (20, 130, 20)), ((160, 160, 160), (235, 130, 40)), ((90, 90, 90), (60, 80, 190))],
)
def test_print_of_its_ground_s_brightness_stands_out_by_its_colour(ground: Colour, ink: Colour) -> None:
    contrast = colour_contrast(page(ground, ink))
    assert contrast is not None
    assert int(contrast.max()) == max(abs(a - b) for a, b in zip(ground, ink, strict=True))
    assert int(contrast[200:].max()) == 0


@pytest.mark.parametrize(
    ("ground", "ink"),
    [((255, 255, 255), (0, 0, 0)), ((255, 255, 255), (30, 60, 160)), ((250, 245, 220), (40, 40, 40))],
)
def test_print_that_stands_out_in_grey_needs_no_colour(ground: Colour, ink: Colour) -> None:
    assert colour_contrast(page(ground, ink)) is None
