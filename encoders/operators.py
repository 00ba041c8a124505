"""Registers functions that launch Triton kernels as operators, so that torch.compile and CUDA graphs can trace them.

Operators made by torch.library.custom_op import torch._dynamo when first called, which took 2 to 5 s of a start.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., Any])

_LIBRARY: Any = torch.library.Library("ocrbatch", "FRAGMENT")  # type: ignore[no-untyped-call]


def cuda_operator(
    name: str, fake: Callable[..., Any], *, mutates: Sequence[str] = ()
) -> Callable[[Function], Function]:
    """Decorates a function of CUDA tensors: calls then go to the operator ocrbatch::name, which has no gradient.

    fake: returns empty tensors of the function's output shapes, for tracing. mutates: the names of arguments that are
    written to. The function's annotations give the operator's schema. It runs with the device of its first tensor as
    the current one.
    """

    def decorate(function: Function) -> Function:
        def on_its_device(first: torch.Tensor, *rest: Any) -> Any:
            with torch.cuda.device(first.device):  # Triton launches on the current device
                return function(first, *rest)

        schema = torch.library.infer_schema(function, mutates_args=mutates)
        _LIBRARY.define(name + schema)
        _LIBRARY.impl(name, on_its_device, "CUDA")
        torch.library.register_fake(f"ocrbatch::{name}", fake, lib=_LIBRARY)
        operator: Function = getattr(torch.ops.ocrbatch, name).default
        return operator

    return decorate


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
