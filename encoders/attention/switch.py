"""Decides which tensors the Triton kernels here and in encoders.pointwise take, and turns kernels off that fail."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

HEAD_DIMS = (16, 32, 64)
# A back end of PyTorch's attention besides "flash", "efficient" and "cudnn": its kernel for sequences end to end.
SEQUENCES, SEQUENCES_KERNEL = "varlen", "varlen_attn"
CUDNN_KERNEL = "cudnn_attention"

logger = logging.getLogger(__name__)

_plain = False
_backend: str | None = None
_failed: set[tuple[str, torch.device]] = set()


def kernel_allowed(kernel: str, device: torch.device) -> bool:
    """Returns True outside plain_only(), as long as the kernel has not failed on this device."""
    return not _plain and (kernel, device) not in _failed


def give_up(kernel: str, device: torch.device, error: Exception) -> None:
    """Turns a kernel off after its launch raised: PyTorch's operators take its place from now on.

    Triton compiles at the first launch, so a missing C compiler or too little shared memory shows only then. Raises the
    error again if it is not the kernel's own: out of memory, or during a graph capture, which it has ended; and within
    one_backend().
    """
    if isinstance(error, torch.OutOfMemoryError) or _backend is not None:
        raise error
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        raise error
    _failed.add((kernel, device))
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    logger.warning(
        "the kernel %s does not run on %s; slower operators take its place: %s", kernel, device, reason
    )


@contextmanager
def plain_only() -> Iterator[None]:
    """Lets only PyTorch's own operators run within it, for comparisons in tests and benchmarks.

    One switch for the whole process: not for use while another thread encodes. A graph captured earlier
    keeps the kernels it was captured with.
    """
    global _plain
    before, _plain = _plain, True
    try:
        yield
    finally:
        _plain = before


@contextmanager
def one_backend(name: str | None) -> Iterator[None]:
    """Has PyTorch's attention run through one back end alone within it; a call that it cannot take raises.

    All but "varlen" mean scaled_dot_product_attention, which also takes the place of the kernel for sequences then; our
    own kernels, for SAM's relative positions, run as ever. None leaves all as it is. One switch for the whole process.
    """
    global _backend
    before, _backend = _backend, name
    operator = getattr(SDPBackend, f"{name}_attention".upper(), None)
    try:
        with nullcontext() if operator is None else sdpa_kernel(operator):
            yield
    finally:
        _backend = before


def takes_sequences(tensors: Sequence[Tensor]) -> bool:
    """Returns whether PyTorch's kernel for sequences is to be tried: where it takes these, or was asked for."""
    if _backend is not None:
        return _backend == SEQUENCES
    return takes(tensors) and kernel_allowed(SEQUENCES_KERNEL, tensors[0].device)


def takes_long(tensors: Sequence[Tensor]) -> bool:
    """Returns whether cuDNN's attention is to be tried: on Hopper, where it was measured to be the fastest."""
    device = tensors[0].device
    is_tried = _backend is None and takes(tensors) and kernel_allowed(CUDNN_KERNEL, device)
    return is_tried and torch.cuda.get_device_properties(device).major == 9


def takes(tensors: Sequence[Tensor]) -> bool:
    """Returns whether all are on NVIDIA from Ampere on, of the same 16-bit type, and need no gradient."""
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
    """Returns the smallest power of two that is at least count, and at least 16, which matrix instructions need."""
    return max(16, 1 << (count - 1).bit_length())
