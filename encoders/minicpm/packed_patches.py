"""Slices as rows of patches under a cap, so that slices of any aspect share a batch.

Shapes: F slices of one size, N patches (the cap), P = 3 * patch_px^2 numbers a patch: channel, row, column.
Source: openbmb/MiniCPM-V-2_6 (`reshape_by_patch`, `SiglipVisionEmbeddings`), after NaViT (Dehghani et al. 2023).
"""

from functools import lru_cache

import torch
from torch import Tensor

from encoders.graphs.errors import UnitError


def pack_patches(slices: Tensor, patch_px: int, cap: int) -> Tensor:
    """Returns the patches of slices [F, 3, h, w] uint8 in rows, zeros behind them: [F, cap, P] uint8.

    Raises: UnitError for a size that is no multiple of patch_px, or more patches than the cap.
    """
    F, channels, height, width = slices.shape
    rows, columns = grid_of(height, width, patch_px)
    if rows * columns > cap:
        raise UnitError(f"a slice of {rows} x {columns} patches does not fit under a cap of {cap}")
    packed = torch.zeros(F, cap, channels * patch_px**2, dtype=slices.dtype)
    target = packed[:, : rows * columns].view(F, rows, columns, channels, patch_px, patch_px)
    target.copy_(slices.view(F, channels, rows, patch_px, columns, patch_px).permute(0, 2, 4, 1, 3, 5))
    return packed


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
