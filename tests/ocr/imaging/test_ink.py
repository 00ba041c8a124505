"""Print is told from paper by how much darker than the paper around it it is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from ocr.imaging.ink import band_edges, contrast_of, find_ink, long_runs, print_in
from ocr.imaging.measures import ORIENTATION_INK, PAGE_INK, InkLimits


def page(paper: int = 240, print_: int = 20) -> np.ndarray:
    """Bars where lines of text would be: [400, 400] uint8."""
    grey = np.full((400, 400), paper, np.uint8)
    for top in range(40, 360, 20):
        grey[top : top + 6, 40:360:3] = print_
    return grey


@pytest.mark.parametrize("limits", [ORIENTATION_INK, PAGE_INK])
def test_uneven_light_is_no_contrast(limits: InkLimits) -> None:
    shade = np.linspace(0, 80, 400).astype(np.uint8)[None, :]
    contrast = contrast_of(Image.fromarray(page() - np.minimum(shade, page() - 20)), limits)
    assert contrast[page() == 240].max() < 24
    assert contrast[page() == 20].min() > 100


def test_light_print_on_dark_paper_is_as_dark_on_light() -> None:
    dark, light = (contrast_of(Image.fromarray(grey), PAGE_INK) for grey in (255 - page(), page()))
    assert np.array_equal(dark, light)


def test_dark_print_on_a_sheet_on_something_dark_stays_dark() -> None:
    table = np.full((2 * 300, 3 * 300), 30, np.uint8)
    sheet = page()[:300, :300]
    table[100 : 100 + sheet.shape[0], 100 : 100 + sheet.shape[1]] = sheet
    contrast = contrast_of(Image.fromarray(table), PAGE_INK)
    inner = contrast[100 : 100 + sheet.shape[0], 100 : 100 + sheet.shape[1]]
    assert np.median(table) < 96
    assert inner[sheet == 20].min() > 100


def test_what_shines_through_is_no_print() -> None:
    both = page()
    both[10:14, 40:360] = 200
    found = print_in(contrast_of(Image.fromarray(both), PAGE_INK), PAGE_INK)
    assert found[43, 40]
    assert not found[12, 200]
    ink = find_ink(Image.fromarray(both))
    assert not (ink.text | ink.pictures | ink.level | ink.upright)[10:14].any()


def test_light_rules_of_a_table_are_seen_where_others_cross_them_and_letters_are_none() -> None:
    table = page()
    table[[90, 91, 230, 231], 20:380] = 215  # each as light as half a pixel of black
    table[80:240, [110, 200, 290]] = 100
    ink = find_ink(Image.fromarray(table))
    assert ink.level[[90, 230], 20:380].all() or ink.level[[91, 231], 20:380].all()
    assert ink.level.any(1).sum() <= 4
    assert ink.upright[82:238, [110, 200, 290]].all()


def test_edges_of_bands_are_where_shades_meet_and_neither_rules_nor_letters() -> None:
    banded = np.full((300, 400), 240, np.uint8)
    banded[200:230, 20:380] = 205
    banded[230:260, 20:380] = 120
    banded[208:222, 100:104] = 0
    banded[280, 20:380] = 0
    banded[100:106, 40:360:3] = 20
    edges = band_edges(banded, 40)
    assert np.flatnonzero(edges[150:].any(1)).tolist() == [*range(48, 51), *range(78, 81), *range(108, 111)]
    assert np.flatnonzero(edges[199]).tolist() == [*range(20, 380)]


def test_paper_alone_has_no_print() -> None:
    blank = np.full((100, 100), 230, np.uint8)
    assert not print_in(contrast_of(Image.fromarray(blank), ORIENTATION_INK), ORIENTATION_INK).any()
    ink = find_ink(Image.fromarray(blank))
    assert not (ink.text | ink.pictures | ink.level | ink.upright).any()


@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 40), st.floats(0.5, 0.99), st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_long_runs_are_those_of_every_row_and_column(width, height, length_px, share, seed):
    ink = np.random.default_rng(seed).random((height, width)) < share

    def plain(rows: np.ndarray) -> np.ndarray:
        kept = np.zeros_like(rows)
        for row, out in zip(rows, kept, strict=True):
            steps = np.diff(np.concatenate(([0], row, [0])))
            for start, end in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True):
                out[start:end] = end - start >= length_px
        return kept

    level, upright = long_runs(ink, length_px)
    assert np.array_equal(level, plain(ink.astype(np.int8)).astype(bool))
    assert np.array_equal(upright, plain(ink.T.astype(np.int8)).astype(bool).T)


@pytest.mark.parametrize("stains", [0, 1, 9])
@pytest.mark.parametrize("limits", [ORIENTATION_INK, PAGE_INK])
def test_contrast_is_that_of_the_paper_as_pillow_draws_it(stains: int, limits: InkLimits) -> None:
    """Clean paper and spotted, of a size that is no whole number of cells."""
    rng = np.random.default_rng(stains)
    grey = page()[:397, :391].copy()
    for _ in range(stains):
        y, x = rng.integers(380, size=2)
        grey[y : y + 120, x : x + 90] //= 2
    picture = Image.fromarray(grey)
    paper = picture.reduce(8).filter(ImageFilter.MaxFilter(5)).filter(ImageFilter.BoxBlur(limits.blur_cells))
    near = np.asarray(paper.resize(picture.size, Image.Resampling.BILINEAR))
    assert np.array_equal(contrast_of(picture, limits), np.maximum(near, grey) - grey)
