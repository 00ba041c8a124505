"""Type on an arc or in a wave is seen, which the finder does not find; drawings and slanted lines are none."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.line_reader.unread_letters import shows_bent_type

PROSE = (
    "Whoever wants to keep a boat here over winter",
    "has to ask the harbour master before September.",
    "The gate is shut at nine, and the lamp is lit then.",
    "Nets may be dried on the south wall, not the north.",
) * 4
Path = Callable[[float], tuple[float, float, float]]


def sheet() -> Image.Image:
    made, face = Image.new("L", (900, 1100), 255), ImageFont.load_default(25)
    for number, text in enumerate(PROSE):
        ImageDraw.Draw(made).text((90, 420 + 36 * number), text, font=face, fill=20)
    return made


def shows(page: Image.Image, reader: LineReader) -> bool:
    grey = np.asarray(page)
    darkness = darkness_of(grey)
    found = reader.read(darkness, reader.find(darkness))
    return shows_bent_type(PageInk.of(grey), darkness, found, [], reader)


def arc(radius: float) -> Path:
    """Returns where a letter stands that is so far from the middle, and how far it is turned."""
    return lambda at: (
        450 + radius * math.sin(at / radius),
        110 + radius * (1 - math.cos(at / radius)),
        at / radius,
    )


def wave(height: float, length: float) -> Path:
    def path(at: float) -> tuple[float, float, float]:
        angle = 2 * math.pi * at / length
        return (
            450 + at,
            190 + height * math.sin(angle),
            math.atan(height * math.cos(angle) * 2 * math.pi / length),
        )

    return path


@pytest.mark.parametrize(
    ("word", "size", "path"),
    [
        ("Lobster Supper", 52, arc(230)),
        ("REGATTA DAY", 40, arc(190)),
        ("Mussels and Beer", 44, wave(45, 420)),
        ("NET MENDING", 60, wave(60, 500)),
    ],
)
def test_a_word_along_a_path_is_seen(reader: LineReader, word: str, size: int, path: Path) -> None:
    page, face = sheet(), ImageFont.load_default(size)
    at = -face.getlength(word) / 2
    for letter in word:
        x, y, turn = path(at + face.getlength(letter) / 2)
        own = Image.new("L", (200, 200))
        ImageDraw.Draw(own).text((100, 100), letter, font=face, fill=255, anchor="ms")
        own = own.rotate(-math.degrees(turn), Image.Resampling.BICUBIC)
        page.paste(20, (round(x - 100), round(y - 100)), own)
        at += face.getlength(letter)
    assert shows(page, reader)


@pytest.mark.parametrize(("word", "size"), [("HARBOUR", 36), ("LIFEBOATS", 30), ("REGATTA", 44)])
def test_a_word_whose_letters_stand_one_below_the_other_is_seen(
    reader: LineReader, word: str, size: int
) -> None:
    page, face = sheet(), ImageFont.load_default(size)
    for number, letter in enumerate(word):
        ImageDraw.Draw(page).text((820, 60 + 1.15 * size * number), letter, font=face, fill=20, anchor="ma")
    assert shows(page, reader)


def test_drawings_and_slanted_lines_are_none(reader: LineReader) -> None:
    page = sheet()
    assert not shows(page, reader)
    assert not shows(page.rotate(4, Image.Resampling.BICUBIC, fillcolor=255), reader)
    pen, random = ImageDraw.Draw(page), np.random.default_rng(4)
    for x, y, across, down in random.integers((100, 60, -60, -60), (800, 340, 60, 60), (60, 4)).tolist():
        pen.line((x, y, x + across, y + down), fill=20, width=3)
    assert not shows(page, reader)


def test_columns_of_numbers_are_none(reader: LineReader) -> None:
    page, face = sheet(), ImageFont.load_default(22)
    for number, text in enumerate(("[2]", "[4]", "[7]", "[10]", "[13]", "[16]", "P21", "P35", "P48")):
        ImageDraw.Draw(page).text((820, 60 + 50 * number), text, font=face, fill=20, anchor="ra")
        ImageDraw.Draw(page).text((700, 60 + 40 * number), "1963455122"[number], font=face, fill=20)
    assert not shows(page, reader)
