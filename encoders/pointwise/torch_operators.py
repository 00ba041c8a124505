"""The operations between the matrix products by PyTorch's own operators, on any device."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.bfloat16 import Bfloat16Linear

QUICK_GELU_SLOPE = 1.702


def add_norm(x: Tensor, delta: Tensor | None, norm: nn.Module) -> tuple[Tensor, Tensor]:
    """Returns x + delta and its norm over the last dimension, each of x's shape."""
    total = x if delta is None else x + delta
    return total, norm(total)


def linear_gelu(x: Tensor, linear: nn.Module) -> Tensor:
    if isinstance(linear, Bfloat16Linear):
        return linear.gelu(x)
    return functional.gelu(linear(x))


def quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(QUICK_GELU_SLOPE * x)


def gated_silu(gate: Tensor, up: Tensor) -> Tensor:
    return functional.silu(gate) * up


def rotated(query: Tensor, key: Tensor, cosines: Tensor, sines: Tensor) -> tuple[Tensor, Tensor]:
    cosines, sines = (each.view(len(query), 1, -1) for each in (cosines, sines))
    return _turned(query, cosines, sines), _turned(key, cosines, sines)


def _turned(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    exact = x.float()
    first, second = exact.chunk(2, dim=-1)
    changed = exact * cosines + torch.cat([-second, first], dim=-1) * sines
    return changed.to(x.dtype)
