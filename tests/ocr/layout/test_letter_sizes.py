"""The estimates, held against pages whose letters are known."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from encoders.views import UInt8Array
from ocr.imaging.ink import find_ink
from ocr.layout.letter_sizes import Lines, _bits, _covered, _ones, find_lines
from ocr.layout.skew import skew_deg
from tests.ocr.layout import pages


def lines_of(picture: UInt8Array) -> Lines:
    return find_lines(find_ink(Image.fromarray(picture).convert("L")).text)


@pytest.mark.parametrize(("size_pt", "count"), [(5, 1300), (8, 900), (11, 450)])
def test_letters_are_measured_and_counted(size_pt: float, count: int) -> None:
    page = pages.new_page()
    text = pages.words(count)
    pages.write(page, (60, 60, 540, 790), text, size_pt)
    found = lines_of(pages.pixels(page))
    assert found.x_height_px(0.5) == pytest.approx(0.45 * size_pt / 72 * pages.DPI, abs=1.3)
    assert found.total_chars == pytest.approx(len(text), rel=0.2)


def test_rules_and_pictures_are_no_text() -> None:
    page = pages.new_page()
    page.draw_rect((50, 50, 545, 790), width=1.5)
    page.draw_rect((100, 300, 140, 340), fill=(0, 0, 0))
    pages.write(page, (100, 100, 400, 200), pages.words(60), 10)
    ink = find_ink(Image.fromarray(pages.pixels(page)).convert("L"))
    px = pages.DPI / 72
    assert ink.pictures[round(320 * px), round(120 * px)]
    assert ink.rules[round(500 * px), round(50 * px)]
    rows = np.flatnonzero(ink.text.sum(axis=1) > 4)  # the frame's corners may remain
    assert rows[0] > 95 * px
    assert rows[-1] < 205 * px


def test_light_print_on_dark_paper_is_ink() -> None:
    picture = pages.ordinary()
    assert lines_of(255 - picture).total_chars == pytest.approx(lines_of(picture).total_chars, rel=0.05)


@pytest.mark.parametrize("angle", [-2.4, -0.6, 0.0, 1.3])
def test_skew(angle: float) -> None:
    turned = (
        Image.fromarray(pages.ordinary()).convert("L").rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
    )
    assert skew_deg(find_ink(turned).text) == pytest.approx(-angle, abs=0.11)


def test_text_goes_on_in_rows_and_stars_do_not() -> None:
    sky, draw = Image.new("L", (1280, 900), 255), np.random.default_rng(2)
    dots = ImageDraw.Draw(sky)
    for x, y in draw.integers(0, 900, (2500, 2)):
        dots.ellipse((x, y, x + 7, y + 7), fill=0)
    assert find_lines(find_ink(sky).text).share_in_rows() < 0.6
    assert lines_of(pages.ordinary()).share_in_rows() > 0.9


@pytest.mark.parametrize("width", [30, 64, 1100, 2600])
def test_ink_is_counted_strip_by_strip_and_piece_by_piece(width: int) -> None:
    rng = np.random.default_rng(width)
    text = rng.random((200, width)) < 0.02
    text[rng.random(200) < 0.3] = False
    num_strips = max(1, width // max(24, round(width / 28)))
    edges = np.linspace(0, width, num_strips + 1).astype(np.int64)
    bits = _bits(text, edges)
    assert np.array_equal(_ones(bits), np.add.reduceat(text, edges[:-1], axis=1, dtype=np.int32))
    # Pieces that touch, one of one row, and one that ends with the page, in every strip.
    strips = np.repeat(np.arange(num_strips), 5)
    tops, bottoms = (np.tile(ends, num_strips) for ends in ([0, 7, 20, 21, 150], [7, 12, 21, 60, 200]))
    covered = [
        np.count_nonzero(text[top:bottom, edges[strip] : edges[strip + 1]].any(axis=0))
        for strip, top, bottom in zip(strips, tops, bottoms, strict=True)
    ]
    assert _covered(bits, strips, tops, bottoms).tolist() == covered
