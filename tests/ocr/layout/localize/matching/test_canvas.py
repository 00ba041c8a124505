import numpy as np
import pytest

from ocr.imaging.tiling import views
from ocr.layout.localize.matching.canvas import Canvas


@pytest.mark.parametrize(
    ("size", "mode"),
    [
        ((1654, 2339), "gundam"), ((2339, 1654), "gundam"), ((600, 400), "gundam"), ((400, 600), "gundam"),
        ((637, 640), "gundam"), ((1500, 2000), "base"), ((1500, 2000), "small"), ((5, 600), "gundam"),
    ],
)  # fmt: skip
def test_what_stands_on_the_page_is_found_back_from_the_canvas(size: tuple[int, int], mode: str) -> None:
    width, height = size
    wanted = (width // 4, height // 3, width // 4 + max(2, width // 3), height // 3 + height // 5)
    page = np.full((height, width, 3), 255, np.uint8)
    page[wanted[1] : wanted[3], wanted[0] : wanted[2]] = 0
    canvas = Canvas.of(views(page, mode, 6), width_px=width, height_px=height)
    rows, columns = np.nonzero(canvas.grey < 64)
    found = canvas.to_page((columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))
    within = 2 + max(size) / min(canvas.grey.shape)  # a pixel of the canvas may be more than one of the page
    assert all(abs(a - b) <= within for a, b in zip(found, wanted, strict=True))


def test_a_box_beyond_the_page_is_cut_and_never_empty() -> None:
    canvas = Canvas(
        grey=np.zeros((640, 1280), np.uint8), box=(0, 0, 1280, 640), width_px=2560, height_px=1280
    )
    assert canvas.to_page((-5, 10, 2000, 700)) == (0, 20, 2560, 1280)
    assert canvas.to_page((1280, 640, 1280, 640)) == (2559, 1279, 2560, 1280)


def test_points_of_the_page_are_found_back_from_the_canvas() -> None:
    canvas = Canvas(grey=np.zeros((640, 640), np.uint8), box=(80, 0, 560, 640), width_px=960, height_px=1280)
    assert canvas.from_page((240, 640)) == (200, 320)
    assert canvas.to_page_x(200) == 240
    assert canvas.inside((-3, 5.4, 2000, 5.6)) == (0, 5, 960, 6)
