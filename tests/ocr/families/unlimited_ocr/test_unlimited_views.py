"""Unlimited-OCR's views: the grids of transformers' processor, the pixels of the publisher's script."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps
from transformers.models.deepseek_ocr2.image_processing_pil_deepseek_ocr2 import get_optimal_tiled_canvas

from encoders.views import UInt8Array
from ocr.errors import CheckpointError
from ocr.families.unlimited_ocr.unlimited_views import UnlimitedViews, read_views, views_of
from ocr.imaging.tiling import choose_grid


def noise(width: int, height: int) -> UInt8Array:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


def test_a_page_has_the_grid_that_its_processor_chooses() -> None:
    """Its own module needs torchvision; DeepSeek-OCR-2's has the same function without."""
    random = np.random.default_rng(1)
    many = 0
    for width, height in random.integers(300, 6000, (300, 2)).tolist():
        if max(width, height) > 640:
            expected = get_optimal_tiled_canvas((height, width), (640, 640), 2, 32)
            assert choose_grid(width, height, 32) == expected
            many += expected[0] * expected[1] > 9
    assert many > 100, "grids that DeepSeek-OCR's limit would not allow"


@pytest.mark.parametrize(("width", "height"), [(500, 640), (700, 990), (1300, 650)])
def test_pixels_are_those_of_the_publishers_script(width: int, height: int) -> None:
    pixels = noise(width, height)
    made = UnlimitedViews()(pixels)
    page = Image.fromarray(pixels)
    whole = np.asarray(ImageOps.pad(page, (1024, 1024), color=(127, 127, 127)))
    np.testing.assert_array_equal(made.global_view, whole.transpose(2, 0, 1))
    columns, rows = made.grid
    assert made.num_tiles == (columns * rows if max(width, height) > 640 else 0)
    canvas = page.resize((640 * columns, 640 * rows))
    for number, tile in enumerate(made.local_views):
        left, top = 640 * (number % columns), 640 * (number // columns)
        np.testing.assert_array_equal(
            tile, np.asarray(canvas.crop((left, top, left + 640, top + 640))).transpose(2, 0, 1)
        )


def test_its_processor_decides_on_tiles_and_sizes(tmp_path: Path) -> None:
    assert read_views(tmp_path) == UnlimitedViews(mode="gundam", max_tiles=32)
    published = {"processor_class": "UnlimitedOCRHFProcessor", "image_mean": [0.5] * 3, "patch_size": 16}
    (tmp_path / "processor_config.json").write_text(json.dumps(published), encoding="utf-8")
    assert read_views(tmp_path) == UnlimitedViews()
    pictures = {"crop_to_patches": False, "size": {"height": 1024, "width": 1024}, "max_patches": 9}
    (tmp_path / "processor_config.json").write_text(
        json.dumps({"image_processor": pictures}), encoding="utf-8"
    )
    base = read_views(tmp_path)
    assert (base.mode, base.has_tiles, base.most_px) == ("base", False, 1024**2)
    assert base(noise(1300, 900)).num_tiles == 0
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"max_patches": 4}), encoding="utf-8")
    few = read_views(tmp_path)
    assert (few.mode, few.most_px) == ("gundam", 1024**2 + 4 * 640**2)
    assert few(noise(4000, 400)).grid == (4, 1)


@pytest.mark.parametrize(
    "settings",
    [{"tile_size": 768}, {"image_mean": [0.4, 0.5, 0.5]}, {"do_normalize": False}, {"resample": 2}],
    ids=lambda settings: next(iter(settings)),
)
def test_views_that_it_would_make_otherwise_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match=next(iter(settings))):
        views_of(settings)
    with pytest.raises(CheckpointError, match="800 px with tiles"):
        views_of({"size": {"height": 800, "width": 800}})
