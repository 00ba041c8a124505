"""Attention with decomposed relative positions by PyTorch's own operators, on any device and with gradients.

Shapes: B windows or views, H heads, d channels a head, side x side tokens, N = side * side.
"""

import torch
from torch import Tensor
from torch.nn import functional


def position_terms(q: Tensor, rows_qkd: Tensor, cols_qkd: Tensor) -> tuple[Tensor, Tensor]:
    """Row and column terms of q [B, H, N, d], each [B, H, side, side, side]: query row, query column, key's."""
    side = rows_qkd.shape[0]
    grid = q.reshape(*q.shape[:2], side, side, q.shape[-1])
    rows = torch.einsum("bnhwd,hkd->bnhwk", grid, rows_qkd)
    cols = torch.einsum("bnhwd,wkd->bnhwk", grid, cols_qkd)
    return rows, cols


def bias_attention(
    q: Tensor, k: Tensor, v: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float
) -> Tensor:
    """q, k, v: [B, H, N, d] -> [B, H, N, d]. Stores a bias of N x N a head: for windows."""
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
    """The same without an N x N bias: the row and column terms become further channels of query and key.

    key_axes: [N, 2*side], one-hot row and one-hot column of every key.
    """
    B, H, N, d = q.shape
    side = rows_qkd.shape[0]
    rows, cols = position_terms(q, rows_qkd, cols_qkd)
    axes = key_axes.to(k.dtype).expand(B, H, N, 2 * side)
    query = torch.cat([q * scale, rows.reshape(B, H, N, side), cols.reshape(B, H, N, side)], dim=-1)
    key = torch.cat([k, axes], dim=-1)
    if v.device.type == "cpu":  # its fused kernel wants equal widths; the other one stores N x N scores
        padded = functional.pad(v, (0, 2 * side))
        return functional.scaled_dot_product_attention(query, key, padded, scale=1.0)[..., :d]
    return functional.scaled_dot_product_attention(query, key, v, scale=1.0)
