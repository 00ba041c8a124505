"""Print is told from paper by how much darker than the paper around it it is."""

import numpy as np
import pytest
from PIL import Image

from ocr.parts.ink import contrast_of, find_ink, least_contrast


def page(paper: int = 240, print_: int = 20) -> np.ndarray:
    """Bars where lines of text would be: [400, 400] uint8."""
    grey = np.full((400, 400), paper, np.uint8)
    for top in range(40, 360, 20):
        grey[top : top + 6, 40:360:3] = print_
    return grey


@pytest.mark.parametrize("blur_px", [2, 3])
def test_uneven_light_is_no_contrast(blur_px: int) -> None:
    shade = np.linspace(0, 80, 400).astype(np.uint8)[None, :]
    contrast = contrast_of(Image.fromarray(page() - np.minimum(shade, page() - 20)), blur_px)
    assert contrast[page() == 240].max() < 24
    assert contrast[page() == 20].min() > 100


def test_light_print_on_dark_paper_is_as_dark_on_light() -> None:
    dark, light = (contrast_of(Image.fromarray(grey), 3) for grey in (255 - page(), page()))
    assert np.array_equal(dark, light)


def test_what_shines_through_is_no_print() -> None:
    both = page()
    both[10:14, 40:360] = 200
    contrast = contrast_of(Image.fromarray(both), 3)
    least = least_contrast(contrast, 0.25, 90, 100_000)
    assert least is not None
    assert contrast[12, 200] < least < contrast[43, 40]
    assert not find_ink(Image.fromarray(both)).all[10:14].any()


def test_paper_alone_has_no_print() -> None:
    blank = np.full((100, 100), 230, np.uint8)
    assert least_contrast(contrast_of(Image.fromarray(blank), 2), 0.3, 95, 20_000) is None
    assert not find_ink(Image.fromarray(blank)).all.any()
