"""Pages drawn for the line reader: lines lie where their glyphs are, parted at wide white, whole or set apart."""

import random
from pathlib import Path

import numpy as np
import pytest

from ocr.training.lines.line_pages import LinePages
from ocr.training.lines.page_lines import HEIGHT_PX, WIDTH_PX, DrawnPage, lines_of
from ocr.training.pages.page_truth import Glyphs


@pytest.fixture(scope="module")
def pages(corpus: Path) -> LinePages:
    return LinePages(corpus, sources="train", split=1.0)


def draw(pages: LinePages, seed: int) -> DrawnPage:
    rng = random.Random(seed)
    return next(page for page in (pages.draw(rng, 0.0) for _ in range(50)) if page is not None)


@pytest.mark.parametrize("seed", range(4))
def test_lines_lie_where_their_glyphs_are(pages: LinePages, seed: int) -> None:
    page = draw(pages, seed)
    assert page.pixels.shape == (HEIGHT_PX, WIDTH_PX)
    assert len(page.places) == len(page.texts) > 0
    shown = ends = 0
    for x0, x1, baseline, slope, size in page.places.tolist():
        middle = baseline + slope * (x1 - x0) / 2
        top, bottom = int(middle - 0.75 * size), int(middle + 0.1 * size) + 1
        ink = np.ptp(page.pixels[top:bottom, int(x0) : int(x1) + 1], axis=0) > 40
        edge = int(0.4 * size) + 1
        shown += ink.mean() > 0.3
        ends += bool(ink[:edge].any() and ink[-edge:].any())
    assert shown > 0.9 * len(page.texts)
    assert ends > 0.9 * len(page.texts)


def test_draws_repeat_with_the_seed(pages: LinePages) -> None:
    first, second = draw(pages, 3), draw(pages, 3)
    assert first.texts == second.texts
    assert np.array_equal(first.pixels, second.pixels)


def test_lines_at_the_edge_of_the_canvas_are_set_apart(pages: LinePages) -> None:
    drawn = [draw(pages, seed) for seed in range(12)]
    x0, x1, baseline, slope, size = np.concatenate([page.places for page in drawn]).T
    assert (x0 >= 1).all()
    assert (x1 <= WIDTH_PX - 1).all()
    assert (baseline - 0.7 * size > 0).all()
    assert (baseline + slope * (x1 - x0) < HEIGHT_PX).all()
    assert sum(len(page.others) for page in drawn) > 0


def test_a_page_of_pictures_has_no_lines(pages: LinePages) -> None:
    page = pages.empty(random.Random(1))
    assert page is not None
    assert page.pixels.shape == (HEIGHT_PX, WIDTH_PX)
    assert page.texts == ()
    assert page.places.shape == page.others.shape == (0, 5)


def typed(text: str, pitch: float = 10, size: float = 20, gap: float = 0) -> Glyphs:
    """Returns typewritten glyphs, lines 30 px apart; a tab leaves a gap and is a space in the text."""
    boxes, x, y = [], 0.0, 100.0
    for mark in text:
        blank = mark in " \t\n"
        box = (x, y - 0.68 * size, x + pitch, y + 0.04 * size)
        boxes.append((float("nan"),) * 4 if blank else box)
        x, y = (0.0, y + 30) if mark == "\n" else (x + pitch + gap * (mark == "\t"), y)
    return Glyphs(text=text.replace("\t", " "), box_pt=np.asarray(boxes, np.float32))


def test_lines_are_parted_at_wide_white() -> None:
    glyphs = typed("name\t12,50\n\nnext line", gap=50)
    apart = list(lines_of(glyphs, glyphs.box_pt, random.Random(0), 1.0))
    assert [text for _, text in apart] == ["name", "12,50", "next line"]
    assert apart[1][0] == pytest.approx((100, 150, 100, 0, 20), abs=0.01)
    joined = lines_of(glyphs, glyphs.box_pt, random.Random(0), 0.0)
    assert [text for _, text in joined] == ["name 12,50", "next line"]


def test_a_long_line_is_cut_at_spaces() -> None:
    glyphs = typed("word " * 40 + "end")
    found = [text for _, text in lines_of(glyphs, glyphs.box_pt, random.Random(0), 1.0)]
    assert " ".join(found) == glyphs.text
    assert max(map(len, found)) * 10 <= 55 * 20
    assert len(found) == 2


def test_a_slope_is_known_from_enough_characters() -> None:
    glyphs = typed("abcdefghijklmnopqrstuvwxyz")
    box = glyphs.box_pt + 0.03 * glyphs.box_pt[:, :1] * np.array([0, 1, 0, 1], np.float32)
    ((place, _),) = lines_of(glyphs, box, random.Random(0), 1.0)
    assert place.slope == pytest.approx(0.03, abs=1e-3)
    assert place.baseline == pytest.approx(100, abs=0.5)
