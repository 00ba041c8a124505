# mypy: ignore-errors
"""Defines a Triton kernel so small that only Triton itself can be at fault. Import it only where there is a GPU."""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _double_kernel(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source + at, mask=at < count)
    tl.store(target + at, values + values, mask=at < count)


def double(values: Tensor) -> Tensor:
    """Returns 2 * values, of any shape, on a GPU."""
    result = torch.empty_like(values)
    _double_kernel[(triton.cdiv(values.numel(), 256),)](values, result, values.numel(), BLOCK=256)
    return result
