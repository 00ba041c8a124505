"""Eager forwards of one batch, compared with transformers' modules over the same weights."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from encoders.graphs.path import Tensors
from encoders.native.patch_path import PatchPath
from encoders.native.patch_vision import normalised
from encoders.native.towers import QwenVision
from encoders.native.vision_grid import Kind
from tests.encoders.native.test_sequence_attention import NoHostReads
from tests.encoders.native.tiny_qwen import (
    MEAN,
    MODELS,
    STD,
    WIDTH,
    draw,
    reference,
    tiny_module,
    tiny_vision,
)

CPU = torch.device("cpu")
# Tokens high and wide; Qwen2.5-VL's windows are 3 x 3 tokens.
SIZES = [(1, 1), (1, 9), (8, 1), (3, 3), (4, 3), (5, 7), (6, 6), (7, 10), (11, 4)]


def collated(vision: QwenVision, kind: Kind, units: Sequence[Tensor]) -> Tensors:
    path = PatchPath(kind, vision)
    return path.collate([path.unit(frames) for frames in units], CPU)


def close(ours: Tensor, expected: Tensor) -> bool:
    return ours.shape == expected.shape and torch.allclose(ours, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_images_of_all_shapes_in_one_batch(model: str) -> None:
    vision = tiny_vision(model)
    images = [draw(1, *size) for size in SIZES]
    expected = reference(vision.module, images)
    ours = vision.encode(collated(vision, "image", images))
    assert ours.shape[1] == vision.width == WIDTH * (3 if model == "qwen3" else 1)
    assert close(ours, torch.cat(expected))
    alone = [vision.encode(collated(vision, "image", [image])) for image in images]
    for mine, its in zip(alone, expected, strict=True):
        assert close(mine, its)
    assert (expected[5][:35] - expected[7][:35]).norm() > 0.5 * expected[5].norm(), (
        "images must not look alike"
    )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("num_frames", range(1, 10))
def test_videos_of_few_frames(model: str, num_frames: int) -> None:
    vision = tiny_vision(model)
    videos = [draw(num_frames, 3, 5), draw(2, 4, 2), draw(10 - num_frames, 2, 4)]
    ours = vision.encode(collated(vision, "video", videos))
    assert close(ours, torch.cat(reference(vision.module, videos)))


@pytest.mark.parametrize("model", MODELS)
def test_the_host_looks_at_no_value(model: str) -> None:
    """What a capture would refuse; in eager batches as well as in padded ones."""
    vision = tiny_vision(model)
    for kind, units in (("image", [draw(1, 3, 4), draw(1, 5, 2)]), ("video", [draw(3, 3, 4)])):
        inputs = collated(vision, kind, units)  # type: ignore[arg-type]
        padded = PatchPath(kind, vision).buffers("any", 64, CPU)  # type: ignore[arg-type]
        with NoHostReads(), torch.inference_mode():
            vision.encode(inputs)
            nothing = vision.encode(padded)
        assert nothing.isfinite().all()


def test_pixels_are_normalised_to_the_bit() -> None:
    """All 256 values, as transformers' processor without torchvision does it."""
    every = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, axis=2)
    processor = Qwen2VLImageProcessorPil(
        patch_size=8, do_resize=False, image_mean=list(MEAN), image_std=list(STD)
    )
    patches = processor(every, return_tensors="pt")["pixel_values"]
    expected = patches.view(4, 3, 2, 8, 8)[:, :, 0]
    pixels = torch.from_numpy(every).view(2, 8, 2, 8, 3).permute(0, 2, 4, 1, 3).reshape(4, 3, 8, 8)
    assert torch.equal(normalised(pixels, MEAN, STD), expected)


@pytest.mark.parametrize("model", MODELS)
def test_weights_of_16_bits(model: str) -> None:
    """Tables and turns stay in float32, as in transformers; the rest is rounded alike."""
    vision = QwenVision(tiny_module(model).to(torch.bfloat16), mean=MEAN, std=STD)
    images = [draw(1, 5, 7), draw(1, 4, 4)]
    expected = torch.cat(reference(vision.module, images)).float()
    ours = vision.encode(collated(vision, "image", images))
    exact = torch.cat(reference(tiny_module(model), images))
    assert ours.dtype == torch.bfloat16
    assert (ours.float() - exact).norm() < 1.2 * (expected - exact).norm()
