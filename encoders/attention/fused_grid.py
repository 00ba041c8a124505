"""Launches the kernels for attention among all tokens of a page.

Import only where Triton is installed. Run once outside a graph capture: the first call compiles.
"""

import torch
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from encoders.attention import grid_kernel
from encoders.attention.switch import HEAD_DIMS, power_of_two, takes
from encoders.launches import on_its_device

MAX_SIDE = 128
# Queries a program: small blocks, several of which share a multiprocessor, were the fastest on an H200.
BLOCK_M = 64


def best_rows(side: int) -> int:
    """Returns the grid rows in a block of keys that pad least, in blocks of at most 128; on a tie, nearest to 64.

    With a side of 40, three rows fill 120 of 128 places and the last block 40: 89 % used, against 62 % with one row.
    """
    fitting = [rows for rows in range(1, side + 1) if rows == 1 or power_of_two(rows * side) <= 128]

    def cost(rows: int) -> tuple[int, int]:
        block = power_of_two(rows * side)
        return -(-side // rows) * block, abs(block - 64)

    return min(fitting, key=cost)


def supports(qkv_BSSE: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float, num_heads: int) -> bool:
    """Returns whether attend() takes these: on NVIDIA from Ampere on, 16-bit, no gradient wanted."""
    side, head_dim = rows_qkd.shape[0], rows_qkd.shape[-1]
    if not takes((qkv_BSSE, rows_qkd, cols_qkd)):
        return False
    return head_dim in HEAD_DIMS and side <= MAX_SIDE and 3 * num_heads * head_dim == qkv_BSSE.shape[-1]


@on_its_device
def attend(
    qkv_BSSE: Tensor,
    rows_qkd: Tensor,
    cols_qkd: Tensor,
    scale: float,
    num_heads: int,
    rows: int | None = None,
) -> Tensor:
    """Returns the attention: [B, S, S, 3 * C] -> [B, S, S, C], contiguous. Copies a projection that is not contiguous.

    rows: grid rows in a block of keys; by default best_rows() of the side.
    """
    B, side, _, E = qkv_BSSE.shape
    head_dim, tokens = rows_qkd.shape[-1], side * side
    out = torch.empty(B, side, side, E // 3, dtype=qkv_BSSE.dtype, device=qkv_BSSE.device)
    if out.numel() == 0:
        return out
    qkv = qkv_BSSE.contiguous()
    shape = {"H": num_heads, "SIDE": side, "D": head_dim}
    rows = best_rows(side) if rows is None else rows
    block_n = power_of_two(rows * side)
    by_row, by_col = torch.empty(2, B * num_heads, tokens * side, device=qkv.device).unbind(0)
    grid_kernel.position_terms[(side * B * num_heads,)](
        qkv, rows_qkd.contiguous(), cols_qkd.contiguous(), by_row, by_col,
        **shape, BLOCK_S=power_of_two(side), num_warps=4,
    )  # fmt: skip
    blocks = TensorDescriptor.from_tensor(qkv.view(B, tokens, E), [1, block_n, head_dim])
    grid_kernel.grid_attention[(-(-tokens // BLOCK_M) * B * num_heads,)](
        qkv, blocks, by_row, by_col, out, scale,
        **shape, BLOCK_M=BLOCK_M, BLOCK_N=block_n, ROWS=rows, num_warps=4, num_stages=3,
    )  # fmt: skip
    return out
