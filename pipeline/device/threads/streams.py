"""Lets the model's threads share a GPU and the interpreter."""

import contextlib
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from encoders.graphs.capturing.gate import working

# Seconds that a thread keeps the interpreter while another wants it. Python's default of 5 ms is as long as a whole
# decoding step, in which the decoder asks for the interpreter several times.
_SWITCH_S = 1e-5


def own_stream(device: torch.device) -> AbstractContextManager[object]:
    """Returns a context with a GPU stream of this thread's own, so that its work waits for no other thread's.

    No stream has priority: if the decoder's has, the encoder starves and the decoder soon waits for it (10 instead of
    12 pages/s).
    """
    if device.type != "cuda":
        return nullcontext()
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    return torch.cuda.stream(stream)


def try_device(device: torch.device) -> None:
    """Makes a tiny computation on a GPU: if it fails, no page is to blame. Raises: RuntimeError."""
    if device.type == "cuda":
        with working(), contextlib.suppress(torch.OutOfMemoryError):  # the GPU works, its memory is only full
            torch.ones(8, device=device).sum().item()


def gpu_name(device: torch.device) -> str | None:
    """Returns the driver's name of a GPU, "GPU-...", as NVML numbers also those that torch does not see; else None."""
    if device.type != "cuda":
        return None
    properties: Any = torch.cuda.get_device_properties(device)
    return f"GPU-{properties.uuid}"


def share_cpus(device: torch.device, num_threads: int) -> None:
    """Sets how many threads PyTorch's CPU operators use when called from this thread.

    With a GPU it is one: otherwise copying a page is divided among all CPUs and waits for the busiest of them.
    """
    torch.set_num_threads(1 if device.type == "cuda" else num_threads)


@contextmanager
def quick_turns(device: torch.device) -> Iterator[None]:
    """Makes threads hand the interpreter to each other quickly during the block, if the device is a GPU."""
    before = sys.getswitchinterval()
    if device.type == "cuda":
        sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
