"""Slices as rows of patches under a cap, so that slices of any aspect share a batch.

Slices go to the device as they are, in runs of patch_px pixels of one row and channel, and patches are collected from
them there: rearranging the pixels on the host took longer than encoding a small image.

Shapes: S slices, N patches (the cap), R runs of all slices, P = 3 * patch_px^2 numbers a patch: channel, row, column.
Source: openbmb/MiniCPM-V-2_6 (`reshape_by_patch`, `SiglipVisionEmbeddings`), after NaViT (Dehghani et al. 2023).
"""

from functools import lru_cache

import torch
from torch import Tensor

from encoders.graphs.errors import UnitError

_CHANNELS = 3


def runs_a_patch(patch_px: int) -> int:
    """Returns how many runs a patch is made of."""
    return _CHANNELS * patch_px


def collected(runs: Tensor, starts_S: Tensor, sizes_S2: Tensor, cap: int) -> Tensor:
    """Returns the patches of slices in rows, [S, cap, P] uint8; behind a slice's patches its first again.

    runs: uint8 [R, patch_px], slices end to end, each [3, h, w]. starts: the first run of each. sizes: (rows, columns)
    of patches, both int32. A slice without patches shows the first pixels of all.
    """
    patch_px = runs.shape[1]
    numbers = torch.arange(cap, device=runs.device, dtype=torch.int32)
    held_S2 = sizes_S2.clamp(min=1)
    rows_S1, columns_S1 = held_S2[:, :1], held_S2[:, 1:]
    # Where each patch begins; one behind the slice's own shows its first.
    inside = numbers * (numbers < rows_S1 * columns_S1)
    first_SN = starts_S[:, None] + inside // columns_S1 * patch_px * columns_S1 + inside % columns_S1
    channels = (
        torch.arange(_CHANNELS, device=runs.device, dtype=torch.int32) * (rows_S1 * columns_S1) * patch_px
    )
    lines = torch.arange(patch_px, device=runs.device, dtype=torch.int32) * columns_S1
    index = first_SN[:, :, None, None] + channels[:, None, :, None] + lines[:, None, None]
    return runs.index_select(0, index.flatten()).view(len(starts_S), cap, -1)


def grid_of(height_px: int, width_px: int, patch_px: int) -> tuple[int, int]:
    """Returns (rows, columns) of a slice's patches. Raises: UnitError for a size that is no multiple of patch_px."""
    if height_px % patch_px or width_px % patch_px or not height_px or not width_px:
        raise UnitError(
            f"a slice of {width_px} x {height_px} px is not made of whole patches of {patch_px} px"
        )
    return height_px // patch_px, width_px // patch_px


def normalised(pixels: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns uint8 pixels as numbers from -1 to 1: mean and standard deviation are 0.5. Computed in float32."""
    return (pixels.float() * (2 / 255) - 1).to(dtype)


def valid_patches(sizes_S2: Tensor, cap: int) -> Tensor:
    """Returns which of the cap's patches each slice has, [S, N] bool; of a slice without any the first one.

    A softmax over no key at all would be NaN. sizes: (rows, columns) of patches.
    """
    index = torch.arange(cap, device=sizes_S2.device)
    return (index < sizes_S2.prod(-1, keepdim=True)) | (index == 0)


@lru_cache(maxsize=1024)
def padded_positions(rows: int, columns: int, side: int, cap: int) -> Tensor:
    """Returns position_ids() with zeros up to the cap, [1, cap] int32. Shared: not to be written to."""
    positions = torch.zeros(1, cap, dtype=torch.int32)
    positions[0, : rows * columns] = position_ids(rows, columns, side)
    return positions


@lru_cache(maxsize=1024)
def size_of(rows: int, columns: int) -> Tensor:
    """Returns (rows, columns) as [1, 2] int32. Shared: not to be written to."""
    return torch.tensor([[rows, columns]], dtype=torch.int32)


def position_ids(rows: int, columns: int, side: int) -> Tensor:
    """Returns the place of each patch in the learnt table of side x side positions, [rows * columns] int32.

    A patch takes the position at its fraction of the slice's height and width.
    """
    down, across = _buckets(rows, side), _buckets(columns, side)
    return (down[:, None] * side + across).flatten().to(torch.int32)


def _buckets(count: int, side: int) -> Tensor:
    """Returns the bucket of each of `count` equal steps from 0 to 1, of `side` equal ones.

    Where a step falls on a boundary, rounding decides. So these are the published operations on the published numbers:
    a step in float32, and sums that PyTorch makes on the CPU.
    """
    boundaries = torch.arange(1 / side, 1.0, 1 / side, device="cpu")
    step = float(1 / torch.tensor(count, device="cpu"))
    return torch.bucketize(torch.arange(0, 1 - 1e-6, step, device="cpu"), boundaries, right=True)
