import numpy as np
import pytest
from PIL import Image

from ocr.imaging import planes

COLOURS = np.random.default_rng(0).integers(0, 256, (30, 20, 3), dtype=np.uint8)
GREY = np.repeat(COLOURS[..., :1], 3, axis=2)
# A single pixel has a colour.
TINTED = GREY.copy()
TINTED[17, 5, 2] ^= 1


@pytest.mark.parametrize("image", [COLOURS, GREY, TINTED])
def test_an_image_stays_what_it_is(image):
    found = planes.of_picture(Image.fromarray(image))
    assert np.array_equal(found, image)
    assert np.array_equal(planes.of_planes(planes.planes_of(found)), image)
    assert np.array_equal(planes.picture_of(found).convert("RGB"), image)
    assert np.array_equal(planes.picture_of(image).convert("RGB"), image)
    for quarters in (1, 2, 3):
        assert np.array_equal(planes.turned(found, quarters), np.rot90(image, quarters))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
def test_grey_takes_one_channel_of_memory_whatever_its_mode(mode):
    found = planes.of_picture(Image.fromarray(GREY).convert("L").convert(mode))
    assert np.array_equal(found, np.asarray(Image.fromarray(GREY).convert("L").convert(mode).convert("RGB")))
    assert found.strides[2] == 0
    assert planes.planes_of(found).shape == (1, 30, 20)
    assert planes.is_grey(found)


def test_a_single_coloured_pixel_makes_three_channels():
    found = planes.of_picture(Image.fromarray(TINTED))
    assert not planes.is_grey(found)
    assert not planes.is_grey(TINTED)
    assert planes.planes_of(found).shape == (3, 30, 20)
    assert all(plane.flags.c_contiguous for plane in planes.planes_of(found))
