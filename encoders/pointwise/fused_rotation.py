"""Launches the kernel of rotary positions as an operator, like encoders.pointwise.fused its own."""

import torch
from torch import Tensor

from encoders.attention.switch import takes
from encoders.operators import cuda_operator
from encoders.pointwise import kernels
from encoders.pointwise.fused import block_width


def supports(query: Tensor, key: Tensor, cosines: Tensor, sines: Tensor) -> bool:
    """Returns whether rotated() takes these: 16-bit on NVIDIA from Ampere on, with angles in float32, no gradient."""
    return (
        takes((query, key))
        and query.stride() == key.stride()
        and query.stride(-1) == 1
        and query.shape[-1] % 2 == 0
        and cosines.dtype == sines.dtype == torch.float32
        and cosines.is_contiguous()
        and sines.is_contiguous()
    )


def launch_rotated(query: Tensor, key: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Returns query and key [P, H, D], of the same strides, turned: [2, P, H, D]. cosines, sines: P * D numbers."""
    P, H, D = query.shape
    out = torch.empty(2, P, H, D, dtype=query.dtype, device=query.device)
    if out.numel():
        kernels.rotated[(P, 2)](
            query, key, cosines, sines, out, query.stride(0), query.stride(1), P * H * D,
            H=H, HALF=D // 2, BLOCK_H=block_width(H), BLOCK_D=block_width(D // 2), num_warps=2,
        )  # fmt: skip
    return out


_rotated = cuda_operator("rotated", lambda query, *_: query.new_empty((2, *query.shape)))(launch_rotated)


def rotated(query: Tensor, key: Tensor, cosines: Tensor, sines: Tensor) -> tuple[Tensor, Tensor]:
    """Returns query and key [P, H, D], turned and contiguous."""
    turned = _rotated(query, key, cosines, sines)
    return turned[0], turned[1]
