"""What the vision encoder must know of an image's or a video's shape, computed on the host once a shape.

A model that computes it in its forward reads shapes back from the device, which no CUDA graph can hold.

Shapes: T temporal patches (F frames of a video each, 1 for an image) of P/T patches; N tokens; K = 2 + F.
Source: Qwen3-VL and Qwen2.5-VL (huggingface/transformers, vision_utils.py), whose results these equal; there they are
computed for a whole batch, here for one unit, without the pixels.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

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
    return _plan(geometry, np.zeros((1, 1), np.int64), rows, columns)


@lru_cache(maxsize=_MAX_PLANS)
def video_plan(geometry: PatchGeometry, num_frames: int, rows: int, columns: int) -> GridPlan:
    """Returns the plan of a video of num_frames frames. The last frame is repeated where the last patch has too few."""
    num_patches = -(-num_frames // geometry.temporal)
    frames = np.arange(num_patches * geometry.temporal).reshape(num_patches, geometry.temporal)
    return _plan(geometry, np.minimum(frames, num_frames - 1), rows, columns)


def _plan(geometry: PatchGeometry, frames_TF: Integers, rows: int, columns: int) -> GridPlan:
    """Returns the plan. frames_TF: the frames that each temporal patch is made of."""
    num_patches, area, merged = len(frames_TF), rows * columns, geometry.merge**2
    order, window_lengths = _windows(geometry, rows, columns)
    places = _places(geometry, rows, columns, order)
    per_frame: dict[str, Tensor] = {"positions": _tiled(places, num_patches)}
    if geometry.position_side is not None:
        taps, weights = _taps(geometry, places, rows, columns, geometry.position_side)
        per_frame |= {"taps": _tiled(taps, num_patches), "tap_weights": _tiled(weights, num_patches)}
    if geometry.window is not None:
        starts = np.arange(num_patches)[:, None] * (area // merged)
        per_frame["order"] = _tensor((np.argsort(order) + starts).reshape(-1))
        per_frame["window_lengths"] = _tiled(window_lengths, num_patches)
    return GridPlan(
        sources=_sources(geometry, frames_TF, places, rows, columns),
        lengths=torch.full((num_patches,), area, dtype=torch.int32),
        longest=torch.empty(area, 0, dtype=torch.uint8),
        **per_frame,
    )


def _places(geometry: PatchGeometry, rows: int, columns: int, order: Integers) -> Integers:
    """Returns (row, column) [P/T, 2] of a frame's patches: those of one token together, tokens in this order."""
    merge = geometry.merge
    tokens = np.indices((rows // merge, columns // merge)).reshape(2, -1).T[order]
    within = np.indices((merge, merge)).reshape(2, -1).T
    places: Integers = (tokens[:, None] * merge + within).reshape(-1, 2)
    return places


def _windows(geometry: PatchGeometry, rows: int, columns: int) -> tuple[Integers, Integers]:
    """Returns a frame's tokens (row-major indices) window by window, and the patches of each window.

    Windows start at the upper left, so those at the right and at the bottom may be smaller. Without windows the order
    stays as it is.
    """
    high, wide = rows // geometry.merge, columns // geometry.merge
    side = geometry.window or max(high, wide)
    token_rows, token_columns = np.indices((high, wide))
    window = (token_rows // side * -(-wide // side) + token_columns // side).reshape(-1)
    return np.argsort(window, kind="stable"), np.bincount(window) * geometry.merge**2


def _sources(
    geometry: PatchGeometry, frames_TF: Integers, places: Integers, rows: int, columns: int
) -> Tensor:
    """Returns int32 [P, K]. The pixels are [frames, 3, rows * patch_px, columns * patch_px], in runs of patch_px."""
    row_step, channel_step = columns, rows * geometry.patch_px * columns
    within = places[:, 0] * geometry.patch_px * row_step + places[:, 1]
    starts = frames_TF[:, None] * 3 * channel_step + within[None, :, None]
    steps = np.broadcast_to([row_step, channel_step], (*starts.shape[:2], 2))
    return _tensor(np.concatenate([steps, starts], axis=-1).reshape(-1, 2 + frames_TF.shape[1]))


def _taps(
    geometry: PatchGeometry, places: Integers, rows: int, columns: int, side: int
) -> tuple[Integers, Floats]:
    """Returns the indices into the learned grid [side, side] and their weights, [P/T, 4] both, bilinear."""
    aligned = geometry.corners_aligned
    row_taps, row_weights = _axis_taps(places[:, 0], rows, side, aligned)
    column_taps, column_weights = _axis_taps(places[:, 1], columns, side, aligned)
    taps = row_taps[:, :, None] * side + column_taps[:, None] + geometry.first_position
    weights = row_weights[:, :, None] * column_weights[:, None]
    return taps.reshape(-1, 4), weights.reshape(-1, 4)


def _axis_taps(index: Integers, size: int, side: int, aligned: bool) -> tuple[Integers, Floats]:
    """Returns the two neighbours on one axis and their weights, [n, 2] both, rounded as in float32."""
    place = index.astype(np.float32)
    if aligned:
        source = place * np.float32(side - 1) / np.float32(max(size - 1, 1))
    else:
        source = (place + np.float32(0.5)) * np.float32(side) / np.float32(size) - np.float32(0.5)
    below = np.floor(source)[:, None]
    offsets = np.arange(2, dtype=np.float32)
    weights = 1 - np.abs(source[:, None] - below - offsets)
    return np.clip(below + offsets, 0, side - 1).astype(np.int64), weights


def _tiled(values: Integers | Floats, times: int) -> Tensor:
    """Returns the values of every frame, as they are for one."""
    return _tensor(np.concatenate([values] * times))


def _tensor(values: Integers | Floats) -> Tensor:
    wanted = np.float32 if values.dtype == np.float32 else np.int32
    return torch.from_numpy(np.ascontiguousarray(values, dtype=wanted))
