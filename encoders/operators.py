"""Makes operators of functions that launch Triton kernels, so that torch.compile and CUDA graphs take them as they are.

What torch.library.custom_op makes imports torch._dynamo when it is first called, which took 2 to 5 s of a start.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., Any])

_LIBRARY: Any = torch.library.Library("ocrbatch", "FRAGMENT")  # type: ignore[no-untyped-call]


def cuda_operator(
    name: str, fake: Callable[..., Any], *, mutates: Sequence[str] = ()
) -> Callable[[Function], Function]:
    """Decorates a function of CUDA tensors; what is called then is the operator ocrbatch::name, without a gradient.

    fake: returns empty tensors of the shapes that the function returns, for tracing. mutates: the names of arguments
    that are written to. The function's annotations give the operator's schema. Its current device is that of its first
    tensor.
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
