"""Exact attention with SAM's decomposed relative positions: Triton kernels where they run, else PyTorch's operators.

The kernels take 16-bit tensors on an NVIDIA device when no gradient is wanted and Triton is installed; everything else,
and everything within plain_only(), goes to the operators. So does everything on a device on which a kernel once failed.
"""

import torch
from torch import Tensor

from encoders.attention import plain
from encoders.attention.switch import give_up, kernel_allowed, plain_only

try:
    if not torch.cuda.is_available():
        raise ImportError("without a GPU it would be a tenth of a start's CPU time, for nothing")
    from encoders.attention import fused_grid, fused_windows
except ImportError:  # no Triton, or one before 3.4, which has no TensorDescriptor
    fused_grid = fused_windows = None  # type: ignore[assignment]

__all__ = [
    "fused_grid",
    "fused_windows",
    "grid_attention",
    "plain_only",
    "window_attention",
]


def grid_attention(
    qkv_BSSE: Tensor,
    rows_qkd: Tensor,
    cols_qkd: Tensor,
    scale: float,
    num_heads: int,
    key_axes: Tensor | None = None,
) -> Tensor:
    """Returns the attention among all tokens of a page: their projection [B, S, S, E] -> [B, S, S, C], E = 3 * C.

    Softmax over q.k*scale + q.row(q, k) + q.col(q, k). qkv_BSSE: q, k and v, each split into heads, as one nn.Linear
    returns them. rows_qkd, cols_qkd: [S, S, d], the vector for query q and key k; depends on q - k alone. key_axes:
    [S * S, 2 * S], one-hot row and column of each key; with it the operators need no bias for every pair of tokens.
    """
    arguments = (qkv_BSSE, rows_qkd, cols_qkd, scale, num_heads)
    kernel, device = "grid_attention", qkv_BSSE.device
    if fused_grid is not None and kernel_allowed(kernel, device) and fused_grid.supports(*arguments):
        try:
            return fused_grid.attend(*arguments)
        except Exception as error:
            give_up(kernel, device, error)
    return plain.grid_attention(*arguments, key_axes)


def window_attention(
    qkv_BSSE: Tensor, qkv_bias_E: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float, num_heads: int
) -> Tensor:
    """Returns the attention within the windows of a page: its projection [B, S, S, E] -> [B, S, S, C], E = 3 * C.

    qkv_BSSE: q, k and v, each split into heads, as one nn.Linear returns them. Windows of rows_qkd.shape[0] tokens a
    side start at the upper left. SAM pads the page with zeros to whole windows before that projection, so q, k and v
    of a padded position are the projection's bias, qkv_bias_E; its key takes part in the softmax.
    rows_qkd, cols_qkd: [window, window, d], the vector for query q and key k; depends on q - k alone.
    """
    arguments = (qkv_BSSE, qkv_bias_E, rows_qkd, cols_qkd, scale, num_heads)
    kernel, device = "window_attention", qkv_BSSE.device
    if fused_windows is not None and kernel_allowed(kernel, device) and fused_windows.supports(*arguments):
        try:
            return fused_windows.attend(*arguments)
        except Exception as error:
            give_up(kernel, device, error)
    return plain.window_attention(*arguments)
