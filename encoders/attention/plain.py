"""Attention with decomposed relative positions by PyTorch's own operators, on any device.

Shapes: B windows or views, H heads, d channels a head, side x side tokens, N = side * side.
"""

import torch
from torch import Tensor
from torch.nn import functional


def position_terms(q: Tensor, rows_qkd: Tensor, cols_qkd: Tensor) -> tuple[Tensor, Tensor]:
    """Returns row and column terms of q [B, H, N, d], each [B, H, side, side, side]: query row, query column, key's."""
    side = rows_qkd.shape[0]
    grid = q.reshape(*q.shape[:2], side, side, q.shape[-1])
    return torch.einsum("bnhwd,hkd->bnhwk", grid, rows_qkd), torch.einsum("bnhwd,wkd->bnhwk", grid, cols_qkd)


def bias_attention(
    q: Tensor, k: Tensor, v: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float
) -> Tensor:
    """Returns the attention of q, k, v: [B, H, N, d] -> [B, H, N, d]. Stores an N x N bias per head: for windows."""
    rows, cols = position_terms(q, rows_qkd, cols_qkd)
    bias = (rows[..., :, None] + cols[..., None, :]).reshape(*q.shape[:3], k.shape[2])
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)


def augmented_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rows_qkd: Tensor,
    cols_qkd: Tensor,
    scale: float,
    key_axes: Tensor,
) -> Tensor:
    """Returns what bias_attention() does, without an N x N bias: row and column terms become channels of query and key.

    key_axes: [N, 2*side], one-hot row and one-hot column of every key.
    """
    B, H, N, d = q.shape
    side = rows_qkd.shape[0]
    rows, cols = position_terms(q, rows_qkd, cols_qkd)
    axes = key_axes.to(k.dtype).expand(B, H, N, 2 * side)
    query = torch.cat([q * scale, rows.reshape(B, H, N, side), cols.reshape(B, H, N, side)], dim=-1)
    key = torch.cat([k, axes], dim=-1)
    if v.device.type == "cpu":  # its fused kernel needs equal widths; the other stores N x N scores
        padded = functional.pad(v, (0, 2 * side))
        return functional.scaled_dot_product_attention(query, key, padded, scale=1.0)[..., :d]
    return functional.scaled_dot_product_attention(query, key, v, scale=1.0)


def split_windows(x: Tensor, fill_E: Tensor, window: int) -> Tensor:
    """Returns the windows of a page: [B, S, S, E] -> [B * count^2, window, window, E], filled with fill_E beyond S."""
    B, side, _, E = x.shape
    count = -(-side // window)
    pad = count * window - side
    if pad:
        fill = fill_E.to(x.dtype)
        x = torch.cat([x, fill.expand(B, side, pad, E)], dim=2)
        x = torch.cat([x, fill.expand(B, pad, side + pad, E)], dim=1)
    x = x.view(B, count, window, count, window, E).transpose(2, 3)
    return x.reshape(B * count * count, window, window, E)


def join_windows(x: Tensor, window: int, side: int) -> Tensor:
    """Returns the inverse of split_windows, without what lies beyond the side: -> [B, side, side, E]."""
    count = -(-side // window)
    x = x.view(-1, count, count, window, window, x.shape[-1]).transpose(2, 3)
    joined = x.reshape(x.shape[0], count * window, count * window, x.shape[-1])[:, :side, :side]
    return joined.contiguous()  # or the next linear layer would multiply each row of the page separately


def grid_attention(
    qkv_BSSE: Tensor,
    rows_qkd: Tensor,
    cols_qkd: Tensor,
    scale: float,
    num_heads: int,
    key_axes: Tensor | None,
) -> Tensor:
    """Returns a page's attention: [B, S, S, 3 * C] -> [B, S, S, C]. key_axes: for augmented_attention; None: a bias."""
    B, side, _, E = qkv_BSSE.shape
    q, k, v = qkv_BSSE.reshape(B, side * side, 3, num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
    if key_axes is None:
        out = bias_attention(q, k, v, rows_qkd, cols_qkd, scale)
    else:
        out = augmented_attention(q, k, v, rows_qkd, cols_qkd, scale, key_axes)
    return out.transpose(1, 2).reshape(B, side, side, E // 3)


def window_attention(
    qkv_BSSE: Tensor, qkv_bias_E: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float, num_heads: int
) -> Tensor:
    """Returns the attention in windows of rows_qkd.shape[0] a side: [B, S, S, 3 * C] -> [B, S, S, C].

    Positions beyond S hold the bias.
    """
    window, side = rows_qkd.shape[0], qkv_BSSE.shape[1]
    windows = split_windows(qkv_BSSE, qkv_bias_E, window)
    return join_windows(grid_attention(windows, rows_qkd, cols_qkd, scale, num_heads, None), window, side)
