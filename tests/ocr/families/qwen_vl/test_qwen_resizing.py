"""Compared with transformers' processors: that of images whole, those of videos (no torchvision here) for sizes."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

# The video processor of Qwen2.5-VL has a copy of it, but cannot be imported without torchvision.
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize as qwen2_size
from transformers.models.qwen3_vl.video_processing_qwen3_vl import smart_resize as qwen3_size

from encoders.native.patch_vision import normalised
from encoders.views import UInt8Array
from ocr.errors import CheckpointError
from ocr.families.qwen_vl.qwen_resizing import (
    ImageShapeError,
    QwenResizing,
    QwenVideos,
    read_resizing,
    resizing_of,
)

# As published with Qwen/Qwen3-VL-8B-Instruct and Qwen/Qwen2.5-VL-7B-Instruct, but for the limits of the first, which
# are a 64th, so that random sizes meet both of them.
QWEN3_IMAGE: dict[str, Any] = {
    "size": {"longest_edge": 262144, "shortest_edge": 16384}, "patch_size": 16, "temporal_patch_size": 2,
    "merge_size": 2, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
    "processor_class": "Qwen3VLProcessor", "image_processor_type": "Qwen2VLImageProcessorFast",
}  # fmt: skip
QWEN3_VIDEO: dict[str, Any] = QWEN3_IMAGE | {
    "size": {"longest_edge": 393216, "shortest_edge": 4096}, "video_processor_type": "Qwen3VLVideoProcessor",
}  # fmt: skip
QWEN2_5: dict[str, Any] = {
    "min_pixels": 3136, "max_pixels": 12845056, "patch_size": 14, "temporal_patch_size": 2, "merge_size": 2,
    "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
    "image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen2_5_VLProcessor",
}  # fmt: skip
SMALL: dict[str, Any] = QWEN2_5 | {"max_pixels": 100352}


def sizes(seed: int, count: int) -> list[tuple[int, int]]:
    """(height, width), some tiny, some long."""
    generator = np.random.default_rng(seed)
    return [(int(h), int(w)) for h, w in np.exp(generator.uniform(np.log(9), np.log(1300), (count, 2)))]


def picture(height: int, width: int, *, grey: bool = False) -> UInt8Array:
    """Noise with a white margin, as a page has one."""
    generator = np.random.default_rng(height * 1000 + width)
    image = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
    image[: height // 4] = 255
    return image[..., :1].repeat(3, axis=2) if grey else image


def patches(resizing: QwenResizing, pixels: UInt8Array) -> torch.Tensor:
    """The published patches of our view's pixels."""
    view = torch.from_numpy(resizing(pixels).global_view)
    side, merge = resizing.patch_px, resizing.merge
    normal = normalised(view[None], resizing.mean, resizing.std)[0]
    high, wide = (length // side // merge for length in view.shape[1:])
    split = normal.view(3, high, merge, side, wide, merge, side).permute(1, 4, 2, 5, 0, 3, 6)
    twice = split.reshape(-1, 3, 1, side, side).expand(-1, -1, 2, -1, -1)
    return twice.reshape(len(twice), -1)


@pytest.mark.parametrize(("model_type", "config"), [("qwen3_vl", QWEN3_IMAGE), ("qwen2_5_vl", SMALL)])
def test_images_equal_transformers_to_the_bit(model_type: str, config: dict[str, Any]) -> None:
    """30 random sizes, one in three grey."""
    resizing = resizing_of(model_type, config)
    processor = Qwen2VLImageProcessorPil(**config)
    grown = shrunk = 0
    for turn, (height, width) in enumerate(sizes(1, 30)):
        pixels = picture(height, width, grey=turn % 3 == 0)
        expected = processor(pixels, return_tensors="pt", input_data_format="channels_last")
        assert torch.equal(patches(resizing, pixels), expected["pixel_values"]), (height, width)
        high, wide = resizing.image_size(height, width)
        assert expected["image_grid_thw"].tolist() == [
            [1, high // resizing.patch_px, wide // resizing.patch_px]
        ]
        grown += height * width < resizing.image.least
        shrunk += height * width > resizing.image.most
    assert grown
    assert shrunk


def test_sizes_of_videos_equal_transformers() -> None:
    qwen3 = QwenVideos(resizing=resizing_of("qwen3_vl", QWEN3_IMAGE, QWEN3_VIDEO))
    qwen2_5 = QwenVideos(resizing=resizing_of("qwen2_5_vl", SMALL))
    for num_frames in (2, 3, 5, 8, 30):
        for height, width in sizes(num_frames, 30):
            expected = qwen3_size(num_frames, height, width, 2, 32, min_pixels=4096, max_pixels=393216)
            assert qwen3.frame_size(num_frames, height, width) == expected
            expected = qwen2_size(height, width, 28, 3136, 100352)
            assert qwen2_5.frame_size(num_frames, height, width) == expected
    assert qwen3.frame_size(1, 100, 200) == qwen3.frame_size(2, 100, 200), "one frame fills a patch"


def test_frames_are_resized_one_by_one() -> None:
    resizing = resizing_of("qwen3_vl", QWEN3_IMAGE, QWEN3_VIDEO)
    frames = np.stack([picture(90, 150), picture(90, 150)[::-1], picture(90, 150, grey=True)])
    views = QwenVideos(resizing=resizing)(frames)
    assert views.global_view.shape == (3, 0, 0)
    assert views.local_views.shape == (3, 3, 96, 160)
    for frame, view in zip(frames, views.local_views, strict=True):
        expected = Image.fromarray(frame).resize((160, 96), Image.Resampling.BICUBIC)
        assert np.array_equal(view.transpose(1, 2, 0), np.asarray(expected))


def test_views_of_an_image() -> None:
    views = resizing_of("qwen2_5_vl", QWEN2_5)(picture(100, 140))
    assert views.global_view.shape == (3, 112, 140)
    assert views.global_view.dtype == np.uint8
    assert (views.num_tiles, views.grid) == (0, (1, 1))


def test_a_strip_is_refused() -> None:
    resizing = resizing_of("qwen2_5_vl", QWEN2_5)
    assert resizing.image_size(10, 2000) == qwen2_size(10, 2000, 28, 3136, 12845056)
    with pytest.raises(ImageShapeError, match="2001 x 10 px is more than 200 times"):
        resizing.image_size(10, 2001)


def test_it_goes_to_other_processes() -> None:
    resizing = resizing_of("qwen3_vl", QWEN3_IMAGE, QWEN3_VIDEO)
    again = pickle.loads(pickle.dumps(resizing))
    assert again == resizing
    assert np.array_equal(again(picture(50, 60)).global_view, resizing(picture(50, 60)).global_view)
    imports = "import sys, ocr.families.qwen_vl.qwen_resizing"
    command = [sys.executable, "-c", f"{imports}; print('torch' in sys.modules)"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_limits_under_all_their_names() -> None:
    """Older names win where they are set, as in transformers' constructor; limits of images go for videos as well."""
    newer = QWEN2_5 | {
        "min_pixels": None,
        "max_pixels": None,
        "size": {"shortest_edge": 5, "longest_edge": 7},
    }
    older = QWEN2_5 | {"size": {"min_pixels": 1, "max_pixels": 2}}
    for config, least, most in ((newer, 5, 7), (older, 3136, 12845056), ({"patch_size": 14}, 3136, 1003520)):
        resizing = resizing_of("qwen2_5_vl", config)
        processor = Qwen2VLImageProcessorPil(**config)
        size = {"shortest_edge": resizing.image.least, "longest_edge": resizing.image.most}
        assert dict(processor.size) == size == {"shortest_edge": least, "longest_edge": most}
    assert resizing_of("qwen2_5_vl", newer).video.most == 7
    assert resizing_of("qwen3_vl", QWEN3_IMAGE, QWEN3_VIDEO).video.most == 393216


def test_files_of_a_model(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"holds no preprocessor_config\.json"):
        read_resizing(tmp_path, "qwen3_vl")
    joint = {"image_processor": QWEN3_IMAGE, "video_processor": QWEN3_VIDEO}
    (tmp_path / "processor_config.json").write_text(json.dumps(joint))
    assert read_resizing(tmp_path, "qwen3_vl") == resizing_of("qwen3_vl", QWEN3_IMAGE, QWEN3_VIDEO)
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(QWEN3_IMAGE | {"merge_size": 4}))
    (tmp_path / "video_preprocessor_config.json").write_text(json.dumps(QWEN3_IMAGE))
    resizing = read_resizing(tmp_path, "qwen3_vl")
    assert (resizing.merge, resizing.video.most) == (4, 262144)
    (tmp_path / "preprocessor_config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"preprocessor_config\.json cannot be read"):
        read_resizing(tmp_path, "qwen3_vl")
    with pytest.raises(CheckpointError, match="turns resizing or normalising off"):
        resizing_of("qwen3_vl", {"do_resize": False})
