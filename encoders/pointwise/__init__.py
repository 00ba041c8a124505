"""Memory-bound operations between the matrix products: residual sums, norms and activations, each in one pass.

Triton kernels take 16-bit tensors on an NVIDIA device when no gradient is wanted and Triton is installed; everything
else, and everything within encoders.attention.plain_only(), goes to PyTorch's operators. So does everything on a
device on which a kernel once failed.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.attention.switch import give_up, kernel_allowed, takes

try:
    if not torch.cuda.is_available():
        raise ImportError("as in encoders.attention")
    from encoders.pointwise import fused
except ImportError:  # no Triton
    fused = None  # type: ignore[assignment]

__all__ = ["add_norm", "fused", "gated_silu", "linear_gelu", "quick_gelu", "rotated"]

QUICK_GELU_SLOPE = 1.702


def add_norm(x: Tensor, delta: Tensor | None, norm: nn.Module) -> tuple[Tensor, Tensor]:
    """Returns a residual sum and the norm that follows: (x + delta, norm(x + delta)), each of x's shape.

    delta: x's shape, or 1 in its first dimension, as position tables have; None for (x, norm(x)). norm: over the last
    dimension, a LayerNorm or one of transformers' norms by the root mean square; any other is called. The kernel norms
    the float32 sum, before it is rounded for the output.
    """
    if fused is not None and kernel_allowed("add_norm", x.device) and fused.supports_norm(x, delta, norm):
        try:
            return fused.add_norm(x, delta, norm)
        except Exception as error:
            give_up("add_norm", x.device, error)
    total = x if delta is None else x + delta
    return total, norm(total)


def linear_gelu(x: Tensor, linear: nn.Linear, *, tanh: bool = False) -> Tensor:
    """Returns gelu(linear(x)). In 16 bits on a GPU one matrix product ends in the gelu: one pass over memory less.

    tanh: in its tanh form, as that product has it. The erf form's difference from it is far below the error of rounding
    the linear layer's result first: errors of 0.0017 and 0.0026 against float64, for 768 to 3,072 channels in bfloat16.
    """
    if kernel_allowed("linear_gelu", x.device) and takes((x, linear.weight, linear.bias)):
        rows = x.reshape(-1, x.shape[-1])
        out = torch._addmm_activation(linear.bias, rows, linear.weight.t(), use_gelu=True)
        return out.view(*x.shape[:-1], -1)
    return functional.gelu(linear(x), approximate="tanh" if tanh else "none")


def quick_gelu(x: Tensor) -> Tensor:
    """Returns x * sigmoid(1.702 * x), CLIP's activation. x may be overwritten; use the returned tensor."""
    if fused is not None and kernel_allowed("quick_gelu", x.device) and fused.supports(x):
        try:
            return fused.quick_gelu(x)
        except Exception as error:  # before it wrote to x
            give_up("quick_gelu", x.device, error)
    return x * torch.sigmoid(QUICK_GELU_SLOPE * x)


def gated_silu(gate: Tensor, up: Tensor) -> Tensor:
    """Returns silu(gate) * up, both of one shape. gate may be overwritten; use the returned tensor."""
    if fused is not None and kernel_allowed("gated_silu", gate.device) and _supports_gated(gate, up):
        try:
            return fused.gated_silu(gate, up)
        except Exception as error:  # before it wrote to gate
            give_up("gated_silu", gate.device, error)
    return functional.silu(gate) * up


def _supports_gated(gate: Tensor, up: Tensor) -> bool:
    return takes((gate, up)) and gate.is_contiguous() and up.is_contiguous()


def rotated(query: Tensor, key: Tensor, cosines: Tensor, sines: Tensor) -> tuple[Tensor, Tensor]:
    """Returns query and key [P, H, D] with rotary positions: each pair of channels D / 2 apart turned by its angle.

    cosines, sines: float32 [P, ..., D], of which the second half repeats the first. Computed in float32.
    """
    arguments = (query, key, cosines, sines)
    if fused is not None and kernel_allowed("rotated", query.device) and fused.supports_rotation(*arguments):
        try:
            return fused.rotated(*arguments)
        except Exception as error:
            give_up("rotated", query.device, error)
    cosines, sines = (each.view(len(query), 1, -1) for each in (cosines, sines))
    return _turned(query, cosines, sines), _turned(key, cosines, sines)


def _turned(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    exact = x.float()
    first, second = exact.chunk(2, dim=-1)
    changed = exact * cosines + torch.cat([-second, first], dim=-1) * sines
    return changed.to(x.dtype)
