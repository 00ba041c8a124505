"""How the model's threads share a GPU and the interpreter."""

import contextlib
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from encoders.graphs.capturing.gate import working

# Seconds for which a thread keeps the interpreter while another wants it; Python's own 5 ms are the time of a whole
# decoding step, and the decoder asks for it several times a step.
_SWITCH_S = 1e-5


def own_stream(device: torch.device) -> AbstractContextManager[object]:
    """A stream of this thread's own on a GPU, so that its work waits for nobody else's.

    None has priority: with that for the decoder the encoder starves, and the decoder soon waits for it (10 instead of
    12 pages/s).
    """
    if device.type != "cuda":
        return nullcontext()
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    return torch.cuda.stream(stream)


def try_device(device: torch.device) -> None:
    """Computes next to nothing on a GPU: where that fails, no page is the reason. Raises: RuntimeError."""
    if device.type == "cuda":
        with working(), contextlib.suppress(torch.OutOfMemoryError):  # it is there, only full
            torch.ones(8, device=device).sum().item()


def gpu_name(device: torch.device) -> str | None:
    """Returns what the driver calls a GPU, "GPU-..."; None for a CPU, or where PyTorch does not know."""
    if device.type != "cuda":
        return None
    properties: Any = torch.cuda.get_device_properties(device)
    uuid = getattr(properties, "uuid", None)
    return None if uuid is None else f"GPU-{uuid}"


def gpu_bytes(device: torch.device) -> int | None:
    """Returns the memory that a GPU has; None for a CPU."""
    if device.type != "cuda":
        return None
    properties: Any = torch.cuda.get_device_properties(device)
    return int(properties.total_memory)


def share_cpus(device: torch.device, num_threads: int) -> None:
    """Sets the threads of PyTorch's operators on the CPU for the calling thread.

    Beside a GPU one is enough: a copy of a page is divided among all CPUs otherwise, and waits for the busiest of them.
    """
    torch.set_num_threads(1 if device.type == "cuda" else num_threads)


@contextmanager
def quick_turns(device: torch.device) -> Iterator[None]:
    """Threads hand the interpreter to each other quickly, where one of them keeps a GPU at work."""
    before = sys.getswitchinterval()
    if device.type == "cuda":
        sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
