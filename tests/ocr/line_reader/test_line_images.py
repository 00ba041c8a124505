"""Images of lines: level, at one size, with white paper and black ink, whatever they were."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.line_reader.found_lines import Shades, TextLine
from ocr.line_reader.line_images import (
    ABOVE,
    BELOW,
    HEIGHT_PX,
    MAX_WIDTH_PX,
    line_image,
    normalised,
    pieces,
)


def page(size: int, text: str = "Hamburgefonts 1234") -> tuple[Shades, TextLine]:
    """Returns a page's darkness, and the line that stands on it. size: the type size in pixels."""
    picture = Image.new("L", (14 * size, 4 * size), 255)
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size)
    draw.text((size, 2 * size), text, 0, font=font, anchor="ls")
    darkness = ~np.asarray(picture)
    right = size + int(draw.textlength(text, font=font))
    baseline = np.full(right - size, 2 * size, np.float32)
    return darkness, TextLine(left=size, right=right, baseline=baseline, size=float(size))


def test_type_of_any_size_looks_alike() -> None:
    small, large = (line_image(*page(size)) for size in (24, 96))
    assert small.shape[0] == large.shape[0] == HEIGHT_PX
    assert abs(small.shape[1] - large.shape[1]) <= 8
    assert float(np.abs(small.mean(1) - large.mean(1)).max()) < 0.1


def test_the_baseline_lies_where_the_reader_expects_it() -> None:
    darkness, line = page(48, "HHHH")
    rows = line_image(darkness, line).sum(1)
    last = int((rows > 0.3 * rows.max()).nonzero()[0].max())
    assert abs(last + 1 - HEIGHT_PX * ABOVE / (ABOVE + BELOW)) <= 1.5


def test_a_slanted_line_is_level_in_its_image() -> None:
    darkness, line = page(40)
    slope = 0.06
    height, width = darkness.shape
    columns = np.arange(width)
    sheared = np.stack([np.roll(darkness[:, x], round(slope * x)) for x in columns.tolist()], axis=1)
    slanted = TextLine(
        left=line.left,
        right=line.right,
        baseline=(line.baseline + slope * np.arange(line.left, line.right)).astype(np.float32),
        size=line.size,
    )
    straight, levelled = line_image(darkness, line), line_image(sheared, slanted)
    assert float(np.abs(straight - levelled).mean()) < 0.05
    assert height == sheared.shape[0]


def test_faint_and_inverted_print_look_like_black_on_white() -> None:
    image = line_image(*page(40))
    plain = normalised(image)
    assert float(np.abs(normalised(0.3 + 0.2 * image) - plain).max()) < 0.01
    assert float(np.abs(normalised(1 - image) - plain).mean()) < 0.02
    assert float(np.abs(normalised(np.full((HEIGHT_PX, 100), 0.4, np.float32))).max()) == 0


@pytest.mark.parametrize("paper", [1, -1], ids=["black box", "white box"])
def test_a_word_in_a_box_of_the_other_colour_looks_like_the_others(paper: int) -> None:
    image = line_image(*page(40, "Press ENTER to go on"))
    box = slice(image.shape[1] * 9 // 32, image.shape[1] * 20 // 32)
    boxed = image.copy()
    boxed[:, box] = 1 - image[:, box]
    found = normalised(boxed if paper > 0 else 1 - boxed)
    assert float(np.abs(found - normalised(image)).mean()) < 0.02


@pytest.mark.parametrize("shade", [0.35, 0.5])
def test_a_line_half_in_a_shadow_looks_like_others(shade: float) -> None:
    darkness, line = page(40)
    columns = np.arange(darkness.shape[1])
    lit = 1 - (1 - shade) * np.clip((columns - 280) / 20, 0, 1)
    shaded = (255 - (255 - darkness) * lit).astype(np.uint8)
    found, wanted = normalised(line_image(shaded, line)), normalised(line_image(darkness, line))
    assert float(np.abs(found - wanted).mean()) < 0.03


@pytest.mark.parametrize("beside_px", [2, 9, 24])
def test_around_a_round_box_with_light_letters_there_is_paper(beside_px: int) -> None:
    picture = Image.new("L", (300, HEIGHT_PX), 255)
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((beside_px, 4, 299 - beside_px, 37), 17, fill=90)
    draw.text((60, 30), "wontfix", 255, font=ImageFont.load_default(26), anchor="ls")
    image = normalised(~np.asarray(picture))
    assert np.flatnonzero(image[6:34].max(0) > 0.5).min() >= 60
    assert image[:, 200:].max() < 0.5


def test_rules_over_and_under_words_are_no_box() -> None:
    image = line_image(*page(40))
    image[:3, 60:300] = image[-3:, 60:300] = 1
    assert float(normalised(image)[5:-5].mean()) < 0.3


def test_a_long_line_is_cut_in_white() -> None:
    image = np.ones((HEIGHT_PX, MAX_WIDTH_PX + 700), np.float32)
    image[:, MAX_WIDTH_PX - 200 : MAX_WIDTH_PX - 150] = 0
    first, second = pieces(image)
    assert MAX_WIDTH_PX - 200 < first.shape[1] < MAX_WIDTH_PX - 150
    assert first.shape[1] + second.shape[1] == image.shape[1]
    assert [part.shape[1] for part in pieces(image[:, :500])] == [500]


def test_a_long_line_without_a_space_is_cut_between_letters() -> None:
    image = np.zeros((HEIGHT_PX, MAX_WIDTH_PX + 400), np.float32)
    for start in range(0, image.shape[1], 14):
        image[10:30, start : start + 11] = 1
    first, second = pieces(image)
    assert not first[:, -1].any()
    assert not second[:, 0].any()
