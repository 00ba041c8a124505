"""Launches Triton kernels on their tensors' device, and has one launcher loaded at a time."""

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch

Function = TypeVar("Function", bound=Callable[..., Any])


def on_its_device(function: Function) -> Function:
    """Returns the function with the device of its first tensor as the current one, on which Triton launches."""

    @functools.wraps(function)
    def launch(first: torch.Tensor, *rest: Any) -> Any:
        with torch.cuda.device(first.get_device()):  # -1, which is none, in Triton's interpreter
            return function(first, *rest)

    return cast(Function, launch)


def load_launchers_one_at_a_time() -> None:
    """Has Triton load the launcher of one kernel at a time, whichever threads launch kernels for the first time.

    Until Triton 3.7 every launcher is a module of one name, and Python loads such a module a second time into the
    object that bears the name: of two threads one may get the other's function, which ends with "function takes exactly
    28 arguments (26 given)", or runs a kernel on wrong arguments where their numbers agree.
    """
    try:
        from triton.backends.nvidia.driver import CudaLauncher
    except ImportError:
        return
    load, loading = CudaLauncher.__init__, threading.Lock()

    @functools.wraps(load)
    def load_alone(*args: Any, **kwargs: Any) -> None:
        with loading:
            load(*args, **kwargs)

    CudaLauncher.__init__ = load_alone


if torch.cuda.is_available():
    load_launchers_one_at_a_time()
