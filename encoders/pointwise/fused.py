"""Launches the Triton kernels.

Import only where Triton is installed. Run once outside a graph capture: the first call compiles.
"""

from typing import Any

import torch
from torch import Tensor, nn

from encoders.attention.switch import takes
from encoders.launches import on_its_device
from encoders.pointwise import kernels

MAX_WIDTH = 4096
ACTIVATION_BLOCK = 2048  # elements of a program


def block_width(width: int) -> int:
    return 1 << (width - 1).bit_length()


def rows_and_warps(width: int) -> tuple[int, int]:
    """Returns the norm's rows a program and warps, the fastest on an H200 at 768 and 1,024 channels.

    16 bytes a thread, and one row a program.
    """
    return (2, 1) if width <= 512 else (1, min(8, block_width(width) // 256))


def is_rms_norm(norm: nn.Module) -> bool:
    """Returns whether it is one of transformers' norms by the root mean square, which have all the same form."""
    return type(norm).__name__.endswith("RMSNorm") and hasattr(norm, "variance_epsilon")


def supports(x: Tensor) -> bool:
    """Returns whether quick_gelu() takes it: 16-bit on NVIDIA from Ampere on, contiguous, no gradient wanted."""
    return takes((x,)) and x.is_contiguous()


def supports_norm(x: Tensor, delta: Tensor | None, norm: Any) -> bool:
    """Returns whether add_norm() takes these; a subclass of LayerNorm may compute something else."""
    if type(norm) is nn.LayerNorm and norm.weight is not None and norm.bias is not None:
        weights = [norm.weight, norm.bias]
    elif is_rms_norm(norm):
        weights = [norm.weight]
    else:
        return False
    if not takes([x, *weights] if delta is None else [x, delta, *weights]):
        return False
    if weights[0].shape != (x.shape[-1],) or x.shape[-1] > MAX_WIDTH:
        return False
    return delta is None or delta.shape in (x.shape, (1, *x.shape[1:]))


@on_its_device
def launch_norm(
    x: Tensor,
    delta: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    eps: float,
    rows: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns (x + delta, its norm) for x [..., C], contiguous; x itself without delta. delta: x's shape or [1, ..].

    bias: None for a norm by the root mean square. rows: a program's, a power of two.
    """
    whole, width = x.contiguous(), x.shape[-1]
    count = x.numel() // width
    normed = torch.empty_like(whole)
    total = x if delta is None else torch.empty_like(whole)
    if count == 0:
        return total, normed
    best_rows, num_warps = rows_and_warps(width)
    rows = best_rows if rows is None else rows
    added = whole if delta is None else delta.contiguous()
    shift = weight if bias is None else bias
    kernels.add_norm[(-(-count // rows),)](
        whole, added, weight.contiguous(), shift.contiguous(), total, normed, count, added.numel() // width, eps,
        C=width, BLOCK_C=block_width(width), ROWS=rows, ADD=delta is not None,
        REPEAT=added.numel() != x.numel(), RMS=bias is None, num_warps=num_warps,
    )  # fmt: skip
    return total, normed


def add_norm(x: Tensor, delta: Tensor | None, norm: Any) -> tuple[Tensor, Tensor]:
    """Returns (x + delta, norm(x + delta)), contiguous; x itself without delta. norm: as supports_norm() takes it."""
    bias, eps = (None, norm.variance_epsilon) if is_rms_norm(norm) else (norm.bias, norm.eps)
    return launch_norm(x, delta, norm.weight, bias, eps)


@on_its_device
def quick_gelu(x: Tensor) -> Tensor:
    """Returns x, overwritten with its quick gelu. x: contiguous, any shape."""
    if x.numel():
        programs = -(-x.numel() // ACTIVATION_BLOCK)
        kernels.quick_gelu[(programs,)](x, x.numel(), BLOCK=ACTIVATION_BLOCK, num_warps=4)
    return x


@on_its_device
def gated_silu(gate: Tensor, up: Tensor) -> Tensor:
    """Returns silu(gate) * up, in gate's memory; both of one shape and contiguous."""
    if gate.numel():
        programs = -(-gate.numel() // ACTIVATION_BLOCK)
        kernels.gated_silu[(programs,)](gate, up, gate.numel(), BLOCK=ACTIVATION_BLOCK, num_warps=4)
    return gate


def supports_rotation(query: Tensor, key: Tensor, cosines: Tensor, sines: Tensor) -> bool:
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


@on_its_device
def rotated(query: Tensor, key: Tensor, cosines: Tensor, sines: Tensor) -> tuple[Tensor, Tensor]:
    """Returns query and key [P, H, D], of the same strides, turned and contiguous. cosines, sines: P * D numbers."""
    P, H, D = query.shape
    out = torch.empty(2, P, H, D, dtype=query.dtype, device=query.device)
    if out.numel():
        kernels.rotated[(P, 2)](
            query, key, cosines, sines, out, query.stride(0), query.stride(1), P * H * D,
            H=H, HALF=D // 2, BLOCK_H=block_width(H), BLOCK_D=block_width(D // 2), num_warps=2,
        )  # fmt: skip
    return out[0], out[1]
