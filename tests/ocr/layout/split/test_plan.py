"""Real print is cut as expected, page by page."""

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from encoders.views import UInt8Array
from ocr.layout.crops import Crop, CropPlan
from ocr.layout.split.plan import MAX_CROPS, MAX_TILES, MIN_X_HEIGHT_PX, plan
from tests.ocr.layout import pages


def lost_ink_px(picture: UInt8Array, crops: tuple[Crop, ...]) -> int:
    """Returns the number of dark pixels that lie in no crop."""
    grey = picture.min(axis=2) < 128
    for crop in crops:
        x0, y0, x1, y1 = crop.box_px
        grey[y0:y1, x0:x1] = False
    return int(np.count_nonzero(grey))


@pytest.fixture(scope="module")
def columns() -> tuple[UInt8Array, CropPlan]:
    picture = pages.two_columns()
    return picture, plan(picture, 6)


def test_a_page_that_is_read_well_stays_whole() -> None:
    assert plan(pages.ordinary(), 6) == CropPlan(shows_print=True)


def test_blank_paper_and_pictures_stay_whole() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (1800, 1280, 3)).astype(np.uint8)
    blocks = np.array(Image.fromarray(noise[:60, :40]).resize((1280, 1800), Image.Resampling.NEAREST))
    for picture in (np.full((1800, 1280, 3), 255, np.uint8), noise, blocks):
        assert plan(picture, 6) == CropPlan()


def test_columns_are_read_one_after_the_other_below_their_heading(
    columns: tuple[UInt8Array, CropPlan],
) -> None:
    crops = columns[1].crops
    middle = columns[0].shape[1] / 2
    heading, *body, number = crops
    assert heading.box_px[3] < min(crop.box_px[1] for crop in body)
    assert number.box_px[1] > max(crop.box_px[3] for crop in body) - 10
    left = [crop.box_px[2] < middle + 10 for crop in body]
    right = [crop.box_px[0] > middle - 10 for crop in body]
    assert left == [not value for value in right], "no crop has text of both columns"
    assert left == sorted(left, reverse=True), "the left column comes first"
    assert True in left
    assert False in left


def test_no_ink_is_lost_and_none_is_read_twice(columns: tuple[UInt8Array, CropPlan]) -> None:
    picture, found = columns
    assert lost_ink_px(picture, found.crops) == 0
    for number, crop in enumerate(found.crops):
        for other in found.crops[:number]:
            across = min(crop.box_px[2], other.box_px[2]) - max(crop.box_px[0], other.box_px[0])
            down = min(crop.box_px[3], other.box_px[3]) - max(crop.box_px[1], other.box_px[1])
            assert across <= 0 or down <= 0


def test_small_print_is_cut_between_lines_until_its_letters_are_large_enough() -> None:
    picture = pages.small_print()
    found = plan(picture, 6)
    assert 2 <= len(found.crops) <= MAX_CROPS
    assert lost_ink_px(picture, found.crops) == 0
    for upper, lower in pairwise(found.crops):
        assert upper.box_px[3] <= lower.box_px[1]
        assert not lower.paragraph_break, "a paragraph goes on over the cut"
    whole = min(1280 / picture.shape[1], 1920 / picture.shape[0])
    x_height_px = 0.45 * 5 / 72 * pages.DPI
    assert x_height_px * whole < MIN_X_HEIGHT_PX
    assert all(x_height_px * crop.scale > MIN_X_HEIGHT_PX for crop in found.crops)


@pytest.mark.slow
def test_a_tables_rows_stay_together() -> None:
    picture = pages.table()
    found = plan(picture, 6)
    assert len(found.crops) >= 2
    for crop in found.crops:
        assert crop.box_px[2] - crop.box_px[0] > 0.7 * picture.shape[1]


@pytest.mark.parametrize("angle", [-1.7, 0.8])
def test_a_turned_page_is_levelled_before_it_is_cut(angle: float) -> None:
    level = Image.fromarray(pages.two_columns())
    turned = np.array(level.rotate(angle, Image.Resampling.BICUBIC, fillcolor=(255, 255, 255)))
    found = plan(turned, 6)
    assert found.angle_deg == pytest.approx(-angle, abs=0.15)
    assert len(found.crops) >= 4


@pytest.mark.slow
def test_grain_and_print_from_the_back_do_not_close_the_gaps() -> None:
    page = pages.two_columns().astype(np.float64)
    back = np.roll(page[:, ::-1], 7, axis=0)
    worn = page - (255 - back) * 0.12 + np.random.default_rng(1).normal(0, 8, page.shape) - 20
    found = plan(np.clip(worn, 0, 255).astype(np.uint8), 6)
    clean = plan(pages.two_columns(), 6)
    assert len(found.crops) == len(clean.crops)
    for crop, same in zip(found.crops, clean.crops, strict=True):
        assert crop.box_px[0::2] == pytest.approx(same.box_px[0::2], abs=12)


def test_crops_are_frames_of_their_grids_shape(columns: tuple[UInt8Array, CropPlan]) -> None:
    for crop in columns[1].crops:
        left, top, right, bottom = crop.frame_px
        assert (right - left) / (bottom - top) == pytest.approx(crop.grid[0] / crop.grid[1], rel=0.01)
        x0, y0, x1, y1 = crop.box_px
        assert left <= x0
        assert top <= y0
        assert x1 <= right + 1
        assert y1 <= bottom + 1


def test_a_large_image_is_planned_on_a_reduced_one_in_its_own_pixels() -> None:
    small = pages.small_print()
    large = np.array(Image.fromarray(small).resize((2 * small.shape[1], 2 * small.shape[0])))
    found = plan(large, 6)
    assert found.size_px == (large.shape[1], large.shape[0])
    assert lost_ink_px(large, found.crops) == 0


def test_a_page_of_many_crops_stays_within_the_bound() -> None:
    found = plan(pages.small_print(4), 6)
    assert 2 <= len(found.crops) <= MAX_CROPS
    assert sum(crop.num_tiles for crop in found.crops) <= MAX_TILES


def test_a_page_that_was_read_badly_is_cut_though_it_could_be_read_whole() -> None:
    page = pages.ordinary()
    assert not plan(page, 6).crops
    fine = plan(page, 6, fine=True).crops
    assert len(fine) >= 2
    assert all(upper.box_px[3] <= lower.box_px[1] for upper, lower in pairwise(fine))


def test_crops_that_were_read_badly_are_cut_further_each() -> None:
    page = pages.two_columns()
    coarse, fine = plan(page, 6).crops, plan(page, 6, fine=True).crops
    assert all(crop.within is None for crop in coarse)
    numbers = [crop.within for crop in fine if crop.within is not None]
    assert len(numbers) == len(fine)
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == len(coarse) < len(fine)
    for crop, number in zip(fine, numbers, strict=True):
        x0, y0, x1, y1 = coarse[number].box_px
        assert x0 <= crop.box_px[0] < crop.box_px[2] <= x1
        assert y0 <= crop.box_px[1] < crop.box_px[3] <= y1


@pytest.mark.slow
def test_a_list_in_two_columns_is_read_across_first_and_by_columns_then() -> None:
    page = pages.new_page()
    for column in range(2):
        for row in range(60):
            x, y = 70 + 235 * column, 70 + 12 * row
            page.insert_text((x, y), f"0 8{column} {row + 10}", fontsize=9, fontname="tiro")
            page.insert_text((x + 65, y), pages.words(3, seed=60 * column + row), fontsize=9, fontname="tiro")
    pixels = pages.pixels(page)
    middle = pixels.shape[1] // 2
    first, fine = plan(pixels, 6).crops, plan(pixels, 6, fine=True).crops
    assert all(crop.box_px[0] < middle < crop.box_px[2] for crop in first)
    sides = [crop.box_px[0] > middle - 40 for crop in fine]
    assert sides == sorted(sides), "the left column, then the right one"
    assert sides.count(False) >= 1
    assert sides.count(True) >= 1
