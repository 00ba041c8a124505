"""Qwen-VL's vision encoders with every structural feature of the published ones, and transformers' own results."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLVisionConfig
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VisionTransformerPretrainedModel
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel

from encoders.native.towers import QwenVision
from ocr.model.random_weights import redraw

# Patches of 4 px, tokens of 8 px. Unequal channels, so that none can take another's place.
PATCH_PX, TOKEN_PX, TEMPORAL = 4, 8, 2
MEAN, STD = (0.48, 0.4, 0.55), (0.27, 0.3, 0.25)
WIDTH = 32
QWEN3 = Qwen3VLVisionConfig(
    depth=4, hidden_size=32, num_heads=2, intermediate_size=48, patch_size=PATCH_PX, spatial_merge_size=2,
    temporal_patch_size=TEMPORAL, out_hidden_size=WIDTH, num_position_embeddings=36,
    deepstack_visual_indexes=[1, 2],
)  # fmt: skip
# Windows of 3 x 3 tokens.
QWEN2_5 = Qwen2_5_VLVisionConfig(
    depth=4, hidden_size=32, num_heads=2, intermediate_size=48, patch_size=PATCH_PX, spatial_merge_size=2,
    temporal_patch_size=TEMPORAL, out_hidden_size=WIDTH, window_size=24, fullatt_block_indexes=[1, 3],
)  # fmt: skip
MODELS = ("qwen3", "qwen2_5")


def tiny_module(model: str, seed: int = 0) -> Any:
    module = (
        Qwen3VLVisionModel(QWEN3) if model == "qwen3" else Qwen2_5_VisionTransformerPretrainedModel(QWEN2_5)
    )
    sharpen(module, seed)
    return module.eval().requires_grad_(False)


def sharpen(module: nn.Module, seed: int) -> None:
    """Redraws the weights so that all of them matter: fresh ones leave attention even and positions faint."""
    redraw(module, seed)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("qkv.weight"):
                parameter.mul_(1.5)


def tiny_vision(model: str, seed: int = 0) -> QwenVision:
    return QwenVision(tiny_module(model, seed), mean=MEAN, std=STD)


def draw(num_frames: int, tokens_high: int, tokens_wide: int, seed: int = 0) -> Tensor:
    """Random frames, uint8 [F, 3, H, W]."""
    generator = torch.Generator().manual_seed(1000 * seed + 100 * num_frames + 10 * tokens_high + tokens_wide)
    shape = (num_frames, 3, tokens_high * TOKEN_PX, tokens_wide * TOKEN_PX)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


def patchified(frames: Tensor) -> tuple[Tensor, tuple[int, int, int]]:
    """Frames [F, 3, H, W] as the published processors lay them out: float32 [P, 3 * 2 * 4 * 4], and the grid.

    An image is a video of one frame: the last one is repeated until the patches are full.
    """
    values = (frames.float() / 255 - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]
    short = -len(values) % TEMPORAL
    values = torch.cat([values, values[-1:].expand(short, -1, -1, -1)])
    num_frames, channels, height, width = values.shape
    split = values.reshape(
        num_frames // TEMPORAL, TEMPORAL, channels,
        height // TOKEN_PX, 2, PATCH_PX, width // TOKEN_PX, 2, PATCH_PX,
    )  # fmt: skip
    patches = split.permute(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(-1, channels * TEMPORAL * PATCH_PX**2)
    return patches, (num_frames // TEMPORAL, height // PATCH_PX, width // PATCH_PX)


def reference(module: Any, units: Sequence[Tensor]) -> list[Tensor]:
    """transformers' tokens of each image or video, with deepstack features beside them, all in one batch."""
    laid_out = [patchified(frames) for frames in units]
    grids = torch.tensor([grid for _, grid in laid_out])
    with torch.no_grad():
        output = module(torch.cat([patches for patches, _ in laid_out]), grid_thw=grids)
    tokens = torch.cat([output.pooler_output, *getattr(output, "deepstack_features", ())], dim=-1)
    return list(tokens.split((grids.prod(-1) // 4).tolist()))
