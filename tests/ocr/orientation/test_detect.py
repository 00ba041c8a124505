from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageOps

from ocr.orientation.detect import ANGLES, Evidence, Orientation, decide, detect

SAMPLES = Path(__file__).parents[2] / "samples"
WORDS = "The quick brown fox, having jumped over a lazy dog, slept by the river until Monday morning. "


def page(num_lines: int = 30, dpi: int = 110) -> np.ndarray:
    with pymupdf.open() as document:
        sheet = document.new_page()
        for number in range(num_lines):
            sheet.insert_text((60, 80 + 22 * number), WORDS[number % 7 :][:75], fontsize=11, fontname="tiro")
        pixmap = sheet.get_pixmap(dpi=dpi)
        return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3).copy()


def turned(pixels: np.ndarray, angle_deg: int) -> np.ndarray:
    """Returns the page in an orientation that a clockwise turn by angle_deg makes upright."""
    return np.ascontiguousarray(np.rot90(pixels, angle_deg // 90))


@pytest.mark.parametrize("angle_deg", ANGLES)
@pytest.mark.parametrize("num_lines", [5, 30])
def test_a_page_of_text_is_turned_upright(num_lines, angle_deg):
    assert detect(turned(page(num_lines), angle_deg)) == Orientation(angle_deg=angle_deg)


@pytest.mark.parametrize("angle_deg", ANGLES)
def test_a_worn_page_is_turned_upright(angle_deg):
    rng = np.random.default_rng(0)
    skewed = Image.fromarray(page(dpi=150)).rotate(1.5, Image.Resampling.BILINEAR, fillcolor=(255, 255, 255))
    faint = 210 - (255 - np.asarray(skewed).astype(float)) * 0.4 + rng.normal(0, 8, (*skewed.size[::-1], 3))
    assert detect(turned(faint.clip(0, 255).astype(np.uint8), angle_deg)) == Orientation(angle_deg=angle_deg)


def test_light_print_on_a_dark_page():
    assert detect(turned(255 - page(), 180)).angle_deg == 180


def test_a_page_without_text_stays_as_it_is():
    rng = np.random.default_rng(1)
    ramp = np.linspace(40, 220, 800)[None, :] * np.ones((1000, 1))
    stripes = np.where(np.arange(1000)[:, None] % 40 < 4, 0, 255) * np.ones((1, 800))
    for grey in (
        np.full((1000, 800), 255.0),
        rng.uniform(0, 255, (1000, 800)),
        ramp,
        stripes,
        stripes.T[:800],
    ):
        assert detect(np.ascontiguousarray(grey).astype(np.uint8)).angle_deg == 0


@pytest.mark.parametrize("shape", [(1, 1, 3), (3, 2000, 3), (2000, 3, 3), (31, 45, 3)])
def test_a_tiny_image_stays_as_it_is(shape):
    assert detect(np.zeros(shape, np.uint8)) == Orientation()


@pytest.mark.parametrize("name", ["letter.png", "photo.jpg"])
@pytest.mark.parametrize("angle_deg", ANGLES)
def test_a_sample_is_turned_upright(name, angle_deg):
    with Image.open(SAMPLES / name) as image:
        pixels = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    assert detect(turned(pixels, angle_deg)).angle_deg == angle_deg


def evidence(log_odds, num_clear) -> Evidence:
    return Evidence(log_odds=log_odds, num_clear=num_clear, num_pieces=(40, 40))


class TestDecide:
    def test_clear_text_decides(self):
        assert decide(evidence((-20, -20, 60, -20), (0, 0, 30, 0))) == Orientation(angle_deg=180)
        assert decide(evidence((60, -20, -20, -20), (30, 0, 0, 0))) == Orientation()

    def test_little_text_leaves_a_page_but_does_not_turn_it(self):
        assert decide(evidence((6, -5, 0, -5), (3, 0, 0, 0))) == Orientation()
        assert decide(evidence((0, -5, 6, -5), (0, 0, 3, 0))) == Orientation(runner_up_deg=180)

    def test_contradictions_are_doubt(self):
        assert decide(evidence((20, -5, 60, -5), (12, 0, 30, 0))) == Orientation(runner_up_deg=180)
        assert decide(evidence((60, 30, -5, -5), (30, 12, 0, 0))) == Orientation(runner_up_deg=90)

    def test_pieces_that_are_text_either_way_up_turn_nothing(self):
        assert decide(evidence((40, -36, 79, -36), (0, 0, 13, 0))) == Orientation(runner_up_deg=180)
        assert decide(evidence((46, -36, 109, -36), (0, 0, 18, 0))) == Orientation(angle_deg=180)

    def test_where_nothing_is_text_there_is_nothing_to_try(self):
        assert decide(evidence((-9, -8, -9, -9), (0, 0, 0, 0))) == Orientation()


@pytest.mark.parametrize("angle_deg", ANGLES)
def test_a_till_roll_is_turned_upright(angle_deg: int) -> None:
    """Reduced by its length, its letters are five pixels high."""
    with pymupdf.open() as document:
        roll = document.new_page(width=200, height=2800)
        for number in range(180):
            item = f"{WORDS[number % 7 :][:26]} {number:3}.95"
            roll.insert_text((12, 30 + 15 * number), item, fontsize=9, fontname="cour")
        pixmap = roll.get_pixmap(dpi=200)
        pixels = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3).copy()
    assert detect(turned(pixels, angle_deg)) == Orientation(angle_deg=angle_deg)
