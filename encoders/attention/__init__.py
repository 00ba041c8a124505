"""Exact attention with SAM's decomposed relative positions: Triton kernels where they run, else PyTorch's operators."""

import os
from importlib.util import find_spec

from torch import Tensor

from encoders.attention.plain import augmented_attention, bias_attention

# The kernels were checked in Triton's interpreter and compiled for sm_90, but have not run on a GPU yet: until their
# numerics and times there are known they must be asked for.
if os.environ.get("OCRBATCH_TRITON_ATTENTION") == "1" and find_spec("triton") is not None:
    from encoders.attention import fused
else:
    fused = None  # type: ignore[assignment]


def rel_pos_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rows_qkd: Tensor,
    cols_qkd: Tensor,
    scale: float,
    key_axes: Tensor | None,
) -> Tensor:
    """q, k, v: [B, H, N, d] -> [B, H, N, d]: softmax over q.k*scale + q.row(q, k) + q.col(q, k).

    rows_qkd, cols_qkd: [side, side, d], the vector for query q and key k, of q - k alone; N = side * side.
    key_axes: [N, 2*side], one-hot row and column of each key, None to store a bias (better in windows).
    """
    if fused is not None and fused.supports(q, k, v, rows_qkd, cols_qkd):
        return fused.attend(q, k, v, rows_qkd, cols_qkd, scale)
    if key_axes is None:
        return bias_attention(q, k, v, rows_qkd, cols_qkd, scale)
    return augmented_attention(q, k, v, rows_qkd, cols_qkd, scale, key_axes)
