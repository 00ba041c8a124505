import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ocr.imaging.resizing import resized, takes_columns_first

SIDES = st.integers(1, 300)


def page(width: int, height: int, seed: int, paper: int) -> np.ndarray:
    """[3, height, width]: noise in some places, the channels different in some of those; the rest is paper."""
    rng = np.random.default_rng(seed)
    planes = np.full((3, height, width), paper, np.uint8)
    for _ in range(rng.integers(4)):
        y, x = rng.integers(height), rng.integers(width)
        high, wide = rng.integers(1, height + 1), rng.integers(1, width + 1)
        box = planes[rng.integers(3) :, y : y + high, x : x + wide]
        box[:] = rng.integers(0, 256, box.shape[1:], dtype=np.uint8)
    return planes


@given(SIDES, SIDES, SIDES, SIDES, st.integers(0, 1000), st.sampled_from([255, 0, 127]))
@settings(max_examples=200, deadline=None)
def test_every_channel_is_as_pillow_resizes_it(width, height, new_width, new_height, seed, paper):
    planes = page(width, height, seed, paper)
    found = resized(planes, new_width, new_height)
    for plane, channel in zip(planes, found, strict=True):
        whole = Image.fromarray(plane).resize((new_width, new_height), Image.Resampling.BICUBIC)
        assert np.array_equal(channel, np.asarray(whole))


@pytest.mark.parametrize("wanted", [(1280, 1920), (725, 1024), (640, 2560), (1920, 1280)])
@pytest.mark.parametrize("size", [(1654, 2339), (827, 1170), (2481, 3508)])
def test_a_page_of_print_is_as_pillow_resizes_it(size, wanted):
    rng = np.random.default_rng(0)
    width, height = size
    grey = np.full((height, width), 255, np.uint8)
    for top in range(height // 10, height - height // 10, 40):
        grey[top : top + 14, width // 8 : -width // 9] = rng.integers(
            0, 256, width - width // 8 - -(-width // 9)
        )
    whole = np.asarray(Image.fromarray(grey).resize(wanted, Image.Resampling.BICUBIC))
    assert np.array_equal(resized(grey[None], *wanted)[0], whole)


def test_paper_stays_paper_however_many_pixels_become_one():
    for paper in (1, 127, 254, 255):
        assert (resized(np.full((1, 7, 15_000), paper, np.uint8), 1, 7) == paper).all()


def test_the_order_of_the_passes_is_told():
    """Both orders occur, so that the tests above show both."""
    assert not takes_columns_first((1654, 2339), (1280, 1920))
    assert takes_columns_first((20, 3000), (10, 900))
