"""The vision parts of every version, with every structural feature, small enough for tests."""

import torch
from torch import Tensor
from transformers.models.idefics2.configuration_idefics2 import Idefics2VisionConfig

from encoders.minicpm.resampler import Resampler, ResamplerConfig
from encoders.minicpm.siglip import SiglipVit
from encoders.minicpm.slices_encoder import SlicesEncoder, VisionConfig
from ocr.model.random_weights import redraw
from tests.encoders.minicpm.plain import PlainVision

VERSIONS = ["2.5", "2.6", "4.0", "4.5"]
PATCH_PX = 4
# (rows, columns) of patches, up to the 4 x 4 that slices are made to have and a little more, and far beyond.
GRIDS = [(4, 4), (1, 1), (2, 8), (3, 5), (1, 13), (5, 3), (4, 4), (1, 40), (7, 9)]


def tiny_config(version: str) -> VisionConfig:
    vit = Idefics2VisionConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, image_size=28,
        patch_size=PATCH_PX,
    )  # fmt: skip
    return VisionConfig(
        vit=vit,
        resampler=ResamplerConfig(
            num_queries=6 if version == "2.5" else 4, width=256, feature_width=vit.hidden_size
        ),
        slice_px=16,
        flat_positions=version == "2.5",
        has_times=version == "4.5",
    )


def tiny_parts(version: str, seed: int = 0) -> tuple[SlicesEncoder, SiglipVit, Resampler, PlainVision]:
    """Returns ours, and the plain implementation with the same weights, which load under the same names."""
    config = tiny_config(version)
    vit, resampler = SiglipVit(config.vit).eval(), Resampler(config.resampler).eval()
    plain = PlainVision(config).eval()
    redraw(vit, seed)
    redraw(resampler, seed + 1)
    plain.vpm.load_state_dict(vit.state_dict(), strict=True)
    plain.resampler.load_state_dict(resampler.state_dict(), strict=True)
    for module in (vit, resampler, plain):
        module.requires_grad_(False)
    return SlicesEncoder(vit, resampler, config), vit, resampler, plain


def noise(grid: tuple[int, int], seed: int) -> Tensor:
    """Returns a slice of rows x columns patches, [3, h, w] uint8."""
    generator = torch.Generator().manual_seed(seed)
    shape = (3, grid[0] * PATCH_PX, grid[1] * PATCH_PX)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
