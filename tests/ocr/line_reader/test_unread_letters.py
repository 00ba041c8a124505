"""Letters outside lines are seen in any direction and size; charts, drawings, edges and a word or two are none."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageChops, ImageDraw, ImageFont

from ocr.line_reader.found_lines import TextLine
from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.reading import darkness_of
from ocr.line_reader.unread_letters import is_hollow, shows_letters

WIDTH, HEIGHT, SIZE = 1000, 1400, 24
ROWS = ("Nine ferries cross the sound before noon,", "and the last of them takes the post along.") * 4
NOTE = ("Bring your own cup", "and a warm coat,", "the quay is windy", "until late in May.")
Drawing = Callable[[Image.Image], Image.Image]


def page(draw: Drawing) -> tuple[Image.Image, list[TextLine]]:
    """Returns a page with lines and a drawing below them, and the lines."""
    made, face = Image.new("L", (WIDTH, HEIGHT), 250), ImageFont.load_default(SIZE)
    lines = []
    for number, text in enumerate(ROWS):
        base = 90 + 36 * number
        ImageDraw.Draw(made).text((80, base), text, font=face, fill=20, anchor="ls")
        width = round(face.getlength(text))
        lines.append(
            TextLine(left=80, right=80 + width, baseline=np.full(width, base, np.float32), size=float(SIZE))
        )
    below = draw(Image.new("L", (WIDTH, HEIGHT - 420), 250))
    made.paste(below.crop((0, 0, WIDTH, HEIGHT - 420)), (0, 420))
    return made, lines


def shows(draw: Drawing) -> bool:
    made, lines = page(draw)
    return shows_letters(PageInk.of(np.asarray(made)), lines, [])


def note(*rows: str, size: float, turn: float) -> Drawing:
    def draw(area: Image.Image) -> Image.Image:
        face = ImageFont.load_default(size)
        ImageDraw.Draw(area).multiline_text((150, 150), "\n".join(rows), font=face, fill=20)
        return area.rotate(turn, Image.Resampling.BICUBIC, fillcolor=250)

    return draw


def arc(area: Image.Image) -> Image.Image:
    face = ImageFont.load_default(48)
    angle = -math.pi
    for letter in "Grand regatta of the northern harbours":
        angle += face.getlength(letter) / 2 / 420
        own = Image.new("L", (120, 120), 250)
        ImageDraw.Draw(own).text((60, 80), letter, font=face, fill=20, anchor="ms")
        own = own.rotate(-math.degrees(angle + math.pi / 2), Image.Resampling.BICUBIC, fillcolor=250)
        place = round(440 + 420 * math.cos(angle)), round(500 + 420 * math.sin(angle))
        area.paste(ImageChops.darker(own, area.crop((*place, place[0] + 120, place[1] + 120))), place)
        angle += face.getlength(letter) / 2 / 420
    return area


@pytest.mark.parametrize(
    "draw",
    [
        note(*NOTE, size=40, turn=33),
        note(*NOTE, size=56, turn=-24),
        note("Winter regatta", size=130, turn=19),
        arc,
    ],
)
def test_letters_that_no_line_covers_are_seen(draw: Drawing) -> None:
    assert shows(draw)


def marks(mark: Callable[[ImageDraw.ImageDraw, int, int], None]) -> Drawing:
    def draw(area: Image.Image) -> Image.Image:
        pen = ImageDraw.Draw(area)
        for x, y in np.random.default_rng(3).integers((100, 60), (900, 800), (170, 2)).tolist():
            mark(pen, x, y)
        return area

    return draw


def strokes(area: Image.Image) -> Image.Image:
    pen, random = ImageDraw.Draw(area), np.random.default_rng(5)
    for x, y, across, down in random.integers((150, 80, -120, -120), (800, 700, 120, 120), (60, 4)).tolist():
        pen.line((x, y, x + across, y + down), fill=20, width=3)
    return area


def waves(area: Image.Image) -> Image.Image:
    for number in range(5):
        points = [(100 + 5 * x, 400 + 200 * math.sin(x / (9 + 4 * number))) for x in range(160)]
        ImageDraw.Draw(area).line(points, fill=20, width=4)
    return area


def edges(area: Image.Image) -> Image.Image:
    """What is seen of the table beside a sheet, and a stamp's ring."""
    grain = np.asarray(area).copy()
    dark = np.random.default_rng(1).random(grain.shape) < np.linspace(-0.6, 0.6, WIDTH)[None] ** 3 * 4
    grain[dark] = 20
    made = Image.fromarray(grain)
    ImageDraw.Draw(made).ellipse((300, 300, 520, 420), outline=20, width=6)
    return made


@pytest.mark.parametrize(
    "draw",
    [
        marks(lambda pen, x, y: pen.ellipse((x - 9, y - 9, x + 9, y + 9), outline=20, width=3)),
        marks(lambda pen, x, y: pen.rectangle((x - 6, y - 6, x + 6, y + 6), fill=20)),
        strokes,
        waves,
        edges,
        note("See over", size=30, turn=40),
        lambda area: area,
    ],
)
def test_what_is_no_writing_or_a_word_or_two_is_not(draw: Drawing) -> None:
    assert not shows(draw)


def outlined(word: str, size: float, width: int) -> tuple[Image.Image, TextLine]:
    """Returns a page with a word in outlined letters, in solid ones where width is 0, and its line."""
    made, face = Image.new("L", (WIDTH, 400), 250), ImageFont.load_default(size)
    colour = 250 if width else 20
    pen = ImageDraw.Draw(made)
    pen.text((60, 300), word, font=face, fill=colour, stroke_width=width, stroke_fill=20, anchor="ls")
    length = round(face.getlength(word))
    return made, TextLine(left=60, right=60 + length, baseline=np.full(length, 300, np.float32), size=size)


@pytest.mark.parametrize(
    ("word", "size", "width"),
    [("SUMMER FETE", 70, 2), ("Brass Bands", 96, 3), ("Kites & Gliders", 110, 4), ("GRAND DRAW", 130, 5)],
)
def test_outlined_letters_are_told_from_solid_ones(word: str, size: float, width: int) -> None:
    for stroke in (width, 0):
        made, line = outlined(word, size, stroke)
        assert is_hollow(darkness_of(np.asarray(made)), line) == bool(stroke)


def test_boxes_in_a_row_are_no_outlined_letters() -> None:
    made, line = outlined("Nothing but boxes", 90, 0)
    pen = ImageDraw.Draw(made)
    pen.rectangle((0, 0, WIDTH, 400), fill=250)
    for number in range(9):
        pen.rectangle((60 + 80 * number, 240, 120 + 80 * number, 300), outline=20, width=3)
    assert not is_hollow(darkness_of(np.asarray(made)), line)
