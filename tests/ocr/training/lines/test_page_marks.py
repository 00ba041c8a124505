"""Marks darken pages, stand where they say, and what is written beside print is told as a line of nothing."""

import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ocr.training.lines.page_lines import Place, is_whole
from ocr.training.lines.page_marks import Marks, overlaps, turned
from ocr.training.lines.pen_strokes import dashed, draw_line, lay, scribble, stroke
from ocr.training.lines.scan_pages import Scans
from tests.ocr.training.lines.printed_lines import printed

PAGE = printed([("printed words", 100, 100, 30), ("and some more", 100, 300, 30)], (512, 768))


def words(rng: random.Random) -> str:
    return rng.choice(["a few words", "Yours", "12 May"])


@pytest.fixture
def marks(tmp_path: Path, corpus: Path) -> Marks:
    faces = sorted((corpus / "fonts").rglob("*.otf"))
    (tmp_path / "hands").mkdir()
    for face in faces[:1]:
        (tmp_path / "hands" / f"{face.stem}.ttf").write_bytes(face.read_bytes())
    return Marks(tmp_path / "hands", faces, Scans(tmp_path / "none", "train"))


def test_marks_only_darken_and_lines_of_writing_have_ink(marks: Marks) -> None:
    written = 0
    for seed in range(12):
        pixels = PAGE.pixels.copy()
        lines, stamps = marks.draw(random.Random(seed), pixels, PAGE.places, words, 30)
        assert (pixels <= PAGE.pixels).all()
        for x0, x1, baseline, _, size in [place for place in lines + stamps if is_whole(place, 768, 512)]:
            assert not overlaps(PAGE.places, x0, baseline - 0.5 * size, x1, baseline)
            band = pixels[int(baseline - size) : int(baseline + 0.3 * size), int(x0) : int(x1)]
            assert band.min() < 215
            written += 1
    assert written > 6


def test_a_level_note_has_its_baseline_where_it_is_written(marks: Marks) -> None:
    ink = np.zeros((40, 200), np.uint8)
    ink[20:30, 10:190] = 255
    made = turned(Image.fromarray(ink), 3.0, 30, 25)
    assert made.ink.shape[0] > 40
    # In the middle the writing's foot is still at its baseline.
    middle = np.flatnonzero(made.ink[:, made.ink.shape[1] // 2] > 100)
    assert abs(middle.max() + 1 - made.baseline) < 2


def test_dashes_are_a_rule_that_may_be_a_line_or_a_frame(marks: Marks) -> None:
    made = [marks.dashes(random.Random(seed), 30) for seed in range(30)]
    rules = [rule for rule in made if rule.size]
    assert 10 < len(rules) < len(made)
    assert all(0.2 < (rule.ink.max(0) > 100).mean() < 0.9 for rule in rules)
    assert all(0 < rule.baseline - len(rule.ink) / 2 < 0.35 * rule.size for rule in rules)
    frame = dashed(random.Random(1), 200, 90, 30)
    assert all(side.any() for side in (frame[:2], frame[-2:], frame[:, :2], frame[:, -2:]))
    assert not frame[6:-6, 6:-6].any()


def test_what_overlaps_a_line() -> None:
    places = np.asarray([(100, 300, 200, 0.05, 30)], np.float32)
    assert overlaps(places, 150, 180, 200, 190)
    assert overlaps(places, 290, 208, 400, 230)
    assert not overlaps(places, 150, 240, 200, 300)
    assert not overlaps(places, 310, 180, 400, 200)
    assert not overlaps(places[:0], 0, 0, 999, 999)


def test_ink_lets_print_through() -> None:
    pixels = np.full((4, 4), 200, np.uint8)
    pixels[0] = 0
    lay(pixels, np.full((4, 2), 255, np.uint8), 1, 0, 0.5, shade=100)
    assert (pixels[0] == 0).all()
    assert (pixels[1:, 1:3] == 150).all()
    assert (pixels[1:, [0, 3]] == 200).all()


@pytest.mark.parametrize("places", [PAGE.places, PAGE.places[:0]])
def test_strokes_of_all_kinds_stay_on_the_page(places: np.ndarray) -> None:
    rng = random.Random(2)
    changed = 0
    for _ in range(60):
        pixels = PAGE.pixels.copy()
        stroke(rng, pixels, places, 30)
        assert (pixels <= PAGE.pixels).all()
        changed += bool((pixels < PAGE.pixels).any())
    assert changed > 50
    draw_line(pixels, [(-90, -90), (-10, -10)], 3, 1.0, 0)  # beyond the page
    assert scribble(rng, 20).max() == 255


def test_a_place_turned_with_the_writing_stays_level_in_the_middle(marks: Marks) -> None:
    for seed in range(30):
        pixels = np.full((512, 768), 255, np.uint8)
        lines, _ = marks.draw(random.Random(seed), pixels, PAGE.places[:0], words, 30)
        assert all(isinstance(line, Place) and abs(line.slope) < 0.07 for line in lines)
