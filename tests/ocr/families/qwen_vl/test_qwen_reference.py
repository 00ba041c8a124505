"""The reference for comparisons: transformers' own processor and class, on the same picture."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from ocr.families.published.processors import load_processor
from ocr.families.registry import family_of
from tests.ocr.families.opening import opened
from tests.ocr.families.published.tiny_published import save


@torch.inference_mode()
@pytest.mark.parametrize("model_type", ["qwen3_vl", "qwen2_5_vl"])
def test_features_are_those_of_the_published_processor_and_class(model_type: str, tmp_path: Path) -> None:
    save(model_type, tmp_path)
    family = family_of(tmp_path)
    reader: Any = opened(tmp_path, "Read.")
    random = np.random.default_rng(0)
    images = [random.integers(0, 256, (*size, 3), np.uint8) for size in ((280, 200), (99, 70))]
    maker = family.view_maker(tmp_path)
    assert maker is not None
    found = reader.reference_features([maker(pixels) for pixels in images])
    made = load_processor(tmp_path).image_processor([Image.fromarray(p) for p in images], return_tensors="pt")
    expected = reader.model.model.get_image_features(made["pixel_values"], made["image_grid_thw"])
    for place, (mine, its) in enumerate(zip(found, expected.pooler_output, strict=True)):
        levels = [level[place] for level in getattr(expected, "deepstack_features", None) or ()]
        torch.testing.assert_close(mine, torch.cat([its, *levels], dim=-1), atol=1e-5, rtol=1e-5)
    assert reader.reference_features([]) == []


def test_the_family_makes_views_of_videos(tmp_path: Path) -> None:
    save("qwen3_vl", tmp_path)
    make = family_of(tmp_path).video_maker(tmp_path)
    assert make is not None
    views = make(np.random.default_rng(0).integers(0, 256, (3, 64, 96, 3), dtype=np.uint8))
    assert views.local_views.shape[0] == 3
    assert views.global_view.size == 0
