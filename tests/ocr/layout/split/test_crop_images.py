import numpy as np
import pytest
from PIL import Image, ImageDraw

from ocr.layout.crops import Crop, CropPlan, canvas_px
from ocr.layout.split.crop_canvas import WANTED_X_HEIGHT_PX, frame
from ocr.layout.split.crop_images import lay_out


def crop(box: tuple[int, int, int, int], framed: tuple[int, int, int, int]) -> Crop:
    return Crop(box_px=box, frame_px=framed, grid=(1, 1), paragraph_break=True)


def test_a_crop_lies_where_it_was_on_paper_of_its_own() -> None:
    page = np.full((100, 80, 3), 240, np.uint8)
    page[20:30, 10:60] = 0
    page[50:60, 10:60] = 9  # another crop's
    plan = CropPlan(crops=(crop((5, 15, 70, 40), (-10, 0, 90, 100)),), size_px=(80, 100))
    (sheet,) = lay_out(page, plan)
    assert sheet.shape == (100, 100, 3)
    assert (sheet[20:30, 20:70] == 0).all()
    sheet[20:30, 20:70] = 240
    assert (sheet == 240).all()


def test_a_turned_page_is_levelled() -> None:
    picture = Image.new("RGB", (300, 200), (250, 250, 250))
    ImageDraw.Draw(picture).line((20, 100, 280, 100), fill=(0, 0, 0), width=3)
    turned = np.array(picture.rotate(2, Image.Resampling.BICUBIC, fillcolor=(250, 250, 250)))
    plan = CropPlan(crops=(crop((0, 0, 300, 200), (0, 0, 300, 200)),), angle_deg=-2, size_px=(300, 200))
    (sheet,) = lay_out(turned, plan)
    assert sheet[100, 40].max() < 60
    assert sheet[100, 260].max() < 60
    assert (sheet[0, 0] == 250).all()


@pytest.mark.parametrize("max_tiles", [2, 6, 9])
@pytest.mark.parametrize("size", [(1500, 40), (340, 620), (1500, 1000), (700, 2000)])
@pytest.mark.parametrize("x_height", [3.0, 12.0])
def test_a_frame_holds_its_box_and_uses_no_more_tiles_than_it_may(
    size: tuple[int, int], x_height: float, max_tiles: int
) -> None:
    box = (100, 50, 100 + size[0], 50 + size[1])
    found = frame(box, x_height, max_tiles)
    left, top, right, bottom = found.frame_px
    assert left <= box[0] < box[2] <= right
    assert top <= box[1] < box[3] <= bottom
    assert found.grid[0] * found.grid[1] <= max_tiles
    assert (right - left) * found.scale == pytest.approx(canvas_px(found.grid)[0], rel=0.01)


def test_small_letters_get_more_tiles_and_large_ones_none() -> None:
    box = (0, 0, 1000, 600)
    large, small = frame(box, 12.0, 6), frame(box, 6.0, 6)
    assert large.grid == (1, 1)
    assert small.grid != (1, 1)
    assert small.scale * 6.0 >= WANTED_X_HEIGHT_PX


def test_a_plan_at_another_resolution_is_the_same_plan() -> None:
    plan = CropPlan(crops=(crop((10, 20, 30, 40), (-5, 0, 45, 50)),), angle_deg=0.5, size_px=(100, 200))
    larger = plan.scaled(250, 500)
    assert larger.crops[0].box_px == pytest.approx((25, 50, 75, 100), abs=1)
    assert larger.crops[0].frame_px == pytest.approx((-12, 0, 112, 125), abs=1)
    assert larger.crops[0].scale == pytest.approx(plan.crops[0].scale / 2.5, rel=0.02)
    assert larger.angle_deg == 0.5
