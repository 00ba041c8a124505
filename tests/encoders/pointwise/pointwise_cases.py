"""Inputs for the tests of encoders/pointwise."""

import torch
from torch import Tensor, nn


def random_norm(
    width: int,
    shape: tuple[int, ...],
    *,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    seed: int = 0,
) -> tuple[nn.LayerNorm, Tensor, Tensor]:
    """A norm with weights of its own, x and delta [*shape, width]; no gradients wanted."""
    generator = torch.Generator(device).manual_seed(seed)
    weight, bias = torch.randn(2, width, generator=generator, device=device)
    x, delta = torch.randn(2, *shape, width, generator=generator, device=device)
    norm = nn.LayerNorm(width, eps=1e-6, device=device)
    norm.load_state_dict({"weight": 1 + 0.3 * weight, "bias": bias})
    return norm.to(dtype).requires_grad_(False), (2 * x + 0.5).to(dtype), delta.to(dtype)
