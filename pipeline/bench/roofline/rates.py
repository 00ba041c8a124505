"""Measures the rates that the GPU itself reaches: of a large matrix product, and of a copy."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

_SIDE = 8192
_COPY_BYTES = 1 << 30
_REPEATS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """A GPU's rates. matrix_flops_s: operations per second of a large matrix product in the model's dtype.

    copy_bytes_s: bytes per second, read and written, of a copy within the device's memory.
    """

    matrix_flops_s: float
    copy_bytes_s: float


@torch.inference_mode()
def measure_rates(device: torch.device, dtype: torch.dtype) -> Rates | None:
    """Measures both rates in well under a second. Returns None without CUDA or with too little memory."""
    if device.type != "cuda":
        return None
    try:
        matrix_s, copy_s = _matrix_s(device, dtype), _copy_s(device)
    except torch.OutOfMemoryError:
        return None
    return Rates(matrix_flops_s=2 * _SIDE**3 / matrix_s, copy_bytes_s=2 * _COPY_BYTES / copy_s)


def _matrix_s(device: torch.device, dtype: torch.dtype) -> float:
    left = torch.randn(_SIDE, _SIDE, device=device, dtype=dtype)
    right, product = torch.randn_like(left), torch.empty_like(left)
    return _seconds(lambda: torch.mm(left, right, out=product))


def _copy_s(device: torch.device) -> float:
    source = torch.zeros(_COPY_BYTES, device=device, dtype=torch.uint8)
    target = torch.empty_like(source)
    return _seconds(lambda: target.copy_(source))


def _seconds(call: Callable[[], object]) -> float:
    """Returns the seconds of one call, averaged over back-to-back calls."""
    for _ in range(3):
        call()
    new_event: Any = partial(torch.cuda.Event, enable_timing=True)
    start, end = new_event(), new_event()
    start.record()
    for _ in range(_REPEATS):
        call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3 / _REPEATS
