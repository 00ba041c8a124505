"""Gives the memory of a model that was dropped back to the system."""

import contextlib
import ctypes
import gc
import sys


def free_memory() -> None:
    """Collects what nothing refers to any more, and returns unused memory of the process and of its GPU."""
    gc.collect()
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
