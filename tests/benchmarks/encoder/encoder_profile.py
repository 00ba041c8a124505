"""Profiles the device in one forward, kernel by kernel and by kind of kernel."""

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from torch.profiler import ProfilerActivity, profile

from tests.benchmarks.encoder.encoder_rig import Rig, Run

# The first match counts: kernels of attentions and convolutions are matrix products, too.
KINDS = (
    ("attention", r"attention|attn|fmha|flash|rel_pos|window_kernel|grid_kernel"),
    (
        "layout copies",
        r"memcpy|memset|copy|catarray|::cat|transpose|nchwtonhwc|nhwctonchw|permute|constant_pad",
    ),
    ("convolution", r"conv|fprop|implicit_gemm|im2col|winograd|cudnn"),
    ("gemm", r"gemm|gemv|nvjet|cutlass|cublas|splitk|addmm|mm\b|linear"),
    ("norm", r"norm"),
    ("pointwise", r"elementwise|pointwise|vectorized|gelu|sigmoid|triton|add|mul"),
    ("softmax and reductions", r"softmax|reduce"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel. ms: all calls together."""

    name: str
    kind: str
    calls: int
    ms: float


def kind_of(name: str) -> str:
    """Returns the kind of a kernel (or, on a CPU, of an operator)."""
    lower = name.lower()
    return next((kind for kind, pattern in KINDS if re.search(pattern, lower)), "other")


def profiled(rig: Rig, call: Run) -> list[Kernel]:
    """Returns the kernels of one call, the longest first; on a CPU its operators."""
    on_cuda = rig.device.type == "cuda"
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if on_cuda else [])
    call()
    rig.synchronize()
    with profile(activities=activities) as recorded:
        call()
        rig.synchronize()
    wanted = "CUDA" if on_cuda else "CPU"
    kernels = []
    for event in recorded.key_averages():
        us = _self_us(event, on_cuda)
        if (
            event.device_type.name == wanted
            and us > 0
            and not event.key.startswith(("ProfilerStep", "Activity"))
        ):
            kernels.append(Kernel(name=event.key, kind=kind_of(event.key), calls=event.count, ms=us / 1e3))
    return sorted(kernels, key=lambda kernel: -kernel.ms)


def by_kind(kernels: list[Kernel]) -> dict[str, float]:
    """Returns milliseconds of each kind, the longest first."""
    total: dict[str, float] = defaultdict(float)
    for kernel in kernels:
        total[kernel.kind] += kernel.ms
    return dict(sorted(total.items(), key=lambda entry: -entry[1]))


def text(title: str, kernels: list[Kernel], most: int = 25) -> str:
    """Returns the kinds, then the longest kernels, as text."""
    total = sum(kernel.ms for kernel in kernels) or 1.0
    lines = [f"{title}: {total:.3f} ms in {sum(kernel.calls for kernel in kernels)} kernels", ""]
    lines += [f"{ms:10.3f} ms {ms / total:7.1%}  {kind}" for kind, ms in by_kind(kernels).items()]
    lines.append("")
    lines += [
        f"{kernel.ms:10.3f} ms {kernel.ms / total:7.1%} {kernel.calls:6d} x  [{kernel.kind}] {kernel.name[:160]}"
        for kernel in kernels[:most]
    ]
    return "\n".join(lines) + "\n"


def _self_us(event: Any, on_cuda: bool) -> float:
    """Returns the event's own microseconds; older versions of PyTorch call the device's time CUDA time."""
    if not on_cuda:
        return float(event.self_cpu_time_total)
    if hasattr(event, "self_device_time_total"):
        return float(event.self_device_time_total)
    return float(event.self_cuda_time_total)
