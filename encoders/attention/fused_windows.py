"""Launches the kernel for attention within the windows of a page.

Import only where Triton is installed. Run once outside a graph capture: the first call compiles.
"""

import torch
from torch import Tensor

from encoders.attention.switch import HEAD_DIMS, power_of_two, takes
from encoders.attention.window_kernel import page_windows
from encoders.launches import on_its_device

MAX_WINDOW = 16  # side
BLOCK_M = 64  # queries a pass


def window_parts(window: int) -> tuple[int, ...]:
    """Returns the fewest key places in at most three blocks: 196 keys take 128 + 64 + 16."""
    places = -(-(window * window) // 16) * 16
    bits = [1 << bit for bit in reversed(range(4, 9)) if places >> bit & 1]
    return tuple(bits) if len(bits) <= 3 else (power_of_two(places),)


def supports(
    qkv_BSSE: Tensor, qkv_bias_E: Tensor, rows_qkd: Tensor, cols_qkd: Tensor, scale: float, num_heads: int
) -> bool:
    """Returns whether attend() takes these: on NVIDIA from Ampere on, 16-bit, no gradient wanted."""
    window, head_dim = rows_qkd.shape[0], rows_qkd.shape[-1]
    if not takes((qkv_BSSE, qkv_bias_E, rows_qkd, cols_qkd)):
        return False
    return head_dim in HEAD_DIMS and window <= MAX_WINDOW and 3 * num_heads * head_dim == qkv_BSSE.shape[-1]


@on_its_device
def attend(
    qkv_BSSE: Tensor,
    qkv_bias_E: Tensor,
    rows_qkd: Tensor,
    cols_qkd: Tensor,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Returns the attention: [B, S, S, 3 * C] -> [B, S, S, C], contiguous.

    Copies a projection that is not contiguous.
    """
    B, S, _, E = qkv_BSSE.shape
    window, head_dim = rows_qkd.shape[0], rows_qkd.shape[-1]
    out = torch.empty(B, S, S, E // 3, dtype=qkv_BSSE.dtype, device=qkv_BSSE.device)
    if out.numel() == 0:
        return out
    count = -(-S // window)
    part_0, part_1, part_2 = (*window_parts(window), 0, 0)[:3]
    tensors = [tensor.contiguous() for tensor in (qkv_BSSE, qkv_bias_E, rows_qkd, cols_qkd)]
    page_windows[(B * count * count * num_heads,)](
        *tensors, out, scale, S, count,
        H=num_heads, W=window, D=head_dim, BLOCK_M=BLOCK_M, PART_0=part_0, PART_1=part_1, PART_2=part_2,
        BLOCK_S=power_of_two(window), BLOCK_T=power_of_two(2 * window - 1), num_warps=4, num_stages=2,
    )  # fmt: skip
    return out
