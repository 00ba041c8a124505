"""What the vision encoder must know of an image's or a video's shape, computed on the host once a shape.

A model that computes it in its forward reads shapes back from the device, which no CUDA graph can hold.

Shapes: T temporal patches (F frames of a video each, 1 for an image) of P/T patches; N tokens; K = 2 + F.
Positions, windows and interpolation are transformers' (vision_utils.py), for one unit in place of a whole batch.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from transformers import vision_utils

# A plan of a page of 4,000 tokens takes 0.8 MB.
_MAX_PLANS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchGeometry:
    """The constants of a model's patches.

    patch_px: side of a patch. merge: side of the square of patches that becomes a token. temporal: frames in a patch.
    position_side: side of the learned grid of position embeddings (Qwen3-VL), None without one. window: side of an
    attention window in tokens (Qwen2.5-VL), None without windows. corners_aligned: whether the corners of an image lie
    on the corners of that grid, or its edges on the grid's. first_position: the grid's first row in its table.
    """

    patch_px: int
    merge: int
    temporal: int
    position_side: int | None = None
    window: int | None = None
    corners_aligned: bool = True
    first_position: int = 0

    @property
    def token_px(self) -> int:
        """The side of a token's square, which the sides of an image are multiples of."""
        return self.patch_px * self.merge


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridPlan:
    """The precomputed inputs of one shape; patches in the order in which the encoder takes them.

    sources: int32 [P, K], where a patch's pixels lie among the image's runs of patch_px pixels: runs from one row of
    pixels to the next, from one channel to the next, and the first run of each of its frames.
    positions: int32 [P, 2], row and column.
    taps, tap_weights: int32 and float32 [P, 4], the learned position embeddings that a patch's one is mixed from.
    lengths: int32 [T], patches of each sequence within which all attend to each other.
    longest: uint8 [L, 0], without contents: L is the longest of these lengths. A shape is known to the host.
    window_lengths: int32, patches of each window; order: int32 [N], where each token lies while windows are contiguous.
    """

    sources: Tensor
    positions: Tensor
    lengths: Tensor
    longest: Tensor
    taps: Tensor | None = None
    tap_weights: Tensor | None = None
    window_lengths: Tensor | None = None
    order: Tensor | None = None

    def inputs(self) -> dict[str, Tensor]:
        """Returns those that the model has, by name."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in named.items() if value is not None}


@lru_cache(maxsize=_MAX_PLANS)
def image_plan(geometry: PatchGeometry, rows: int, columns: int) -> GridPlan:
    """Returns the plan of an image of rows x columns patches. Its one frame counts as every frame of its patches."""
    return _plan(geometry, torch.zeros(1, 1, dtype=torch.int64), rows, columns)


@lru_cache(maxsize=_MAX_PLANS)
def video_plan(geometry: PatchGeometry, num_frames: int, rows: int, columns: int) -> GridPlan:
    """Returns the plan of a video of num_frames frames. The last frame is repeated where the last patch has too few."""
    num_patches = -(-num_frames // geometry.temporal)
    frames = torch.arange(num_patches * geometry.temporal).view(num_patches, geometry.temporal)
    return _plan(geometry, frames.clamp(max=num_frames - 1), rows, columns)


def _plan(geometry: PatchGeometry, frames_TF: Tensor, rows: int, columns: int) -> GridPlan:
    """Returns the plan. frames_TF: the frames that each temporal patch is made of."""
    num_patches, area, merged = len(frames_TF), rows * columns, geometry.merge**2
    frame = torch.tensor([[1, rows, columns]])  # all temporal patches are alike
    places = vision_utils.get_vision_position_ids(frame, geometry.merge)
    per_frame: dict[str, Tensor] = {}
    if geometry.position_side is not None:
        taps, weights = vision_utils.get_vision_interpolation_indices_and_weights(
            frame,
            geometry.position_side,
            align_corners=geometry.corners_aligned,
            spatial_merge_size=geometry.merge,
        )
        per_frame = {"taps": (taps + geometry.first_position).int(), "tap_weights": weights}
    order = None
    if geometry.window is not None:
        window_px = geometry.window * geometry.token_px
        tokens, ends = vision_utils.get_vision_window_index(
            frame, geometry.merge, window_px, geometry.patch_px
        )
        places = places.view(-1, merged, 2)[tokens].view(-1, 2)
        per_frame = {name: each.view(-1, merged, 4)[tokens].view(-1, 4) for name, each in per_frame.items()}
        per_frame["window_lengths"] = ends.diff()
        starts = torch.arange(num_patches)[:, None] * (area // merged)
        order = (tokens.argsort() + starts).flatten().int()
    per_frame["positions"] = places.int()
    return GridPlan(
        sources=_sources(geometry, frames_TF, places, rows, columns),
        lengths=torch.full((num_patches,), area, dtype=torch.int32),
        longest=torch.empty(area, 0, dtype=torch.uint8),
        order=order,
        **{name: torch.cat([each] * num_patches) for name, each in per_frame.items()},
    )


def _sources(geometry: PatchGeometry, frames_TF: Tensor, places: Tensor, rows: int, columns: int) -> Tensor:
    """Returns int32 [P, K]. The pixels are [frames, 3, rows * patch_px, columns * patch_px], in runs of patch_px."""
    row_step, channel_step = columns, rows * geometry.patch_px * columns
    within = places[:, 0] * geometry.patch_px * row_step + places[:, 1]
    starts = (frames_TF[:, None] * 3 * channel_step + within[:, None]).flatten(0, 1)
    steps = torch.tensor([row_step, channel_step]).expand(len(starts), 2)
    return torch.cat([steps, starts], dim=1).int()
