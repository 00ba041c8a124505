"""Computes vision tokens with transformers' own vision module, from the same views, to compare with.

Shapes: T temporal patches of F frames; rows, columns of patches; m patches a side of a token.
Source: transformers, image_processing_pil_qwen2_vl.py (the order of patches) and modeling_qwen3_vl.py.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from encoders.views import PageViews

Grid = tuple[int, int, int]


def features(
    vision: Any, pages: Sequence[PageViews], *, mean: Sequence[float], std: Sequence[float]
) -> list[Tensor]:
    """Returns the tokens [N, D * (1 + deepstack features)] of each page or video, computed in one forward.

    vision: Qwen3VLVisionModel or Qwen2_5_VisionTransformerPretrainedModel. Pixels are normalised on its device.
    """
    if not pages:
        return []
    weight = vision.patch_embed.proj.weight
    shown = [page.global_view[None] if page.global_view.size else page.local_views for page in pages]
    frames = [torch.from_numpy(each).to(weight.device) for each in shown]
    laid_out = [_patches(each, vision.config, mean, std) for each in frames]
    grids = torch.tensor([grid for _, grid in laid_out], device=weight.device)
    output = vision(torch.cat([patches for patches, _ in laid_out]).to(weight.dtype), grid_thw=grids)
    tokens = torch.cat([output.pooler_output, *getattr(output, "deepstack_features", ())], dim=-1)
    merged = vision.config.spatial_merge_size**2
    lengths = [count * rows * columns // merged for _, (count, rows, columns) in laid_out]
    return list(torch.split(tokens, lengths))


def _patches(frames: Tensor, config: Any, mean: Sequence[float], std: Sequence[float]) -> tuple[Tensor, Grid]:
    """Returns float32 patches [T * rows * columns, 3 * F * patch_px^2] of uint8 frames [.., 3, H, W], and the grid.

    The last frame is repeated until the last temporal patch is full. Patches of one token follow each other.
    """
    depth, side, merge = config.temporal_patch_size, config.patch_size, config.spatial_merge_size
    level = torch.tensor([mean, std], device=frames.device)[:, :, None, None]
    values = (frames.float() / 255 - level[0]) / level[1]
    missing = -len(values) % depth
    values = torch.cat([values, values[-1:].expand(missing, -1, -1, -1)])
    count, rows, columns = len(values) // depth, values.shape[2] // side, values.shape[3] // side
    parts = values.view(count, depth, 3, rows // merge, merge, side, columns // merge, merge, side)
    ordered = parts.permute(0, 3, 6, 4, 7, 2, 1, 5, 8)
    return ordered.reshape(count * rows * columns, -1), (count, rows, columns)
