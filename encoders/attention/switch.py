"""Which tensors the Triton kernels here and in encoders.pointwise take, and a switch that turns them off."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

HEAD_DIMS = (16, 32, 64)

_plain = False


def kernels_allowed() -> bool:
    return not _plain


@contextmanager
def plain_only() -> Iterator[None]:
    """Within it only PyTorch's own operators run, for comparisons in tests and benchmarks.

    One switch for the whole process: not for use while another thread encodes. A graph captured or compiled
    before keeps the kernels it was captured with.
    """
    global _plain
    before, _plain = _plain, True
    try:
        yield
    finally:
        _plain = before


def takes(tensors: Sequence[Tensor]) -> bool:
    """On NVIDIA from Ampere on, one and the same 16-bit type, no gradient wanted."""
    first = tensors[0]
    if first.device.type != "cuda" or torch.version.hip is not None:
        return False
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return False
    if first.dtype not in (torch.float16, torch.bfloat16):
        return False
    if any(tensor.dtype != first.dtype or tensor.device != first.device for tensor in tensors):
        return False
    return torch.cuda.get_device_properties(first.device).major >= 8


def power_of_two(count: int) -> int:
    """The smallest one that is at least count, and at least 16, as matrix instructions want."""
    return max(16, 1 << (count - 1).bit_length())
