"""Times the encoder's own kernels on a CUDA device with Triton, in bfloat16, against PyTorch's operators:

python -m tests.benchmarks.encoder.attention kernels.json

Covers windows of a page, with and without their projection; sums, norms and activations; global attention. Each method
is captured in a CUDA graph and replayed, so that no launch from Python is timed; figures are medians over replays. Data
that fits the cache (6 MB and the like) is then read from it, as in the encoder. Errors are relative, of the first page
or of all rows, against float32. A method that fails (too much shared memory) is reported and left out.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from encoders.attention import fused_grid, fused_windows
from encoders.attention.fused_grid import GridConfig, default_config
from encoders.attention.fused_windows import WindowConfig, default_window_config
from encoders.attention.plain import (
    grid_attention,
    join_windows,
    split_windows,
)
from encoders.deepseek.sam import key_axes
from encoders.pointwise import fused, linear_gelu, quick_gelu, torch_operators
from encoders.pointwise.fused import NormConfig
from tests.encoders.attention.attention_cases import (
    Case,
    PageCase,
    page_reference,
    random_case,
    random_page,
    reference,
    relative_error,
)
from tests.encoders.pointwise.pointwise_cases import random_norm

HEADS = 12
WINDOW = 14
PAGES = ((1, 64), (8, 64), (32, 64), (6, 40), (48, 40), (96, 40))  # batch, side
GLOBAL = ((1, 64), (8, 64), (6, 40), (48, 40))
SAM_ROWS = (4096, 131072, 9600, 153600)
CLIP_ROWS = (257, 8224)

WINDOW_CONFIGS = [
    WindowConfig(
        block_m=m, num_warps=warps, num_stages=stages, parts=parts, running=running, max_registers=limit
    )
    for m, warps, stages, parts, running, limit in (
        (64, 4, 1, (128, 64, 16), False, None),
        (64, 4, 2, (128, 64, 16), True, None),
        (64, 4, 2, (128, 128), False, None),
        (64, 4, 1, (256,), False, None),
        (64, 4, 2, (256,), False, None),
        (128, 8, 1, (128, 64, 16), False, None),
        (128, 8, 1, (128, 64, 16), True, 128),
    )
]
GRID_CONFIGS = [
    GridConfig(block_m=m, num_warps=warps, num_stages=stages, rows=rows)
    for m, warps, stages, rows in (
        (64, 4, 2, 1),
        (64, 4, 3, 2),
        (64, 4, 4, 1),
        (128, 8, 3, 1),
        (128, 4, 3, 1),
    )
]
NORM_CONFIGS = [
    NormConfig(rows=rows, num_warps=warps) for rows, warps in ((1, 1), (2, 1), (1, 2), (1, 4), (4, 4), (1, 8))
]
Call = Callable[[], Tensor]
Config = TypeVar("Config")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Methods for one shape. own: the kernel's configurations, the default first. wants: method -> the right result.

    work: bytes or floating-point operations of a call; unit: GB/s or TFLOP/s.
    """

    section: str
    shape: str
    work: float
    unit: str
    others: Mapping[str, Call]
    own: Mapping[str, Call]
    want: Tensor
    inexact: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The time of a method. ms: median. rate: in unit. error: relative, None if a method computes something else."""

    section: str
    shape: str
    method: str
    own: bool
    ms: float
    rate: float
    unit: str
    error: float | None = None


def label(config: Any) -> str:
    """Returns a label of block, warps and all else that is set: `64 w4 s1 parts128+64+16`."""
    values = asdict(config)
    words = [str(values.pop("block_m", None) or values.pop("block", "")), f"w{values.pop('num_warps')}"]
    for name, value in values.items():
        if value is not None and value is not False:
            text = "+".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words.append({"num_stages": "s", "max_registers": "regs"}.get(name, name) + text)
    return " ".join(words).replace("runningTrue", "running").strip()


def default_first(default: Config, others: list[Config]) -> list[Config]:
    return [default, *(config for config in others if config != default)]


def median_ms(call: Call, repeats: int) -> float:
    """Returns the median milliseconds of one call, replayed from a graph."""
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    new_event: Any = partial(torch.cuda.Event, enable_timing=True)
    events = [new_event() for _ in range(repeats + 4)]
    for event in events:
        event.record()
        graph.replay()
    torch.cuda.synchronize()
    spans: list[float] = [start.elapsed_time(end) for start, end in pairwise(events)]
    return statistics.median(spans[3:])  # the first replays upload the graph


def flash(case: Case) -> Tensor:
    """Returns flash attention without positions."""
    q, k, v = case.heads
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = functional.scaled_dot_product_attention(q, k, v, scale=case.scale)
    return out.transpose(1, 2).reshape(*case.qkv.shape[:3], -1)


def with_bias(case: Case) -> Tensor:
    return grid_attention(*case.arguments, None)


def padded_windows(case: PageCase) -> Case:
    """Returns attention's input in SAM's own order of steps: zeros to whole windows, then the projection."""
    zeros = case.x.new_zeros(case.x.shape[-1])
    projected = functional.linear(split_windows(case.x, zeros, WINDOW), case.weight, case.bias)
    return Case(qkv=projected, rows=case.rows, cols=case.cols, num_heads=case.num_heads)


def in_padded_windows(case: PageCase, attend: Callable[[Case], Tensor]) -> Tensor:
    return join_windows(attend(padded_windows(case)), WINDOW, case.x.shape[1])


def whole(case: PageCase, config: WindowConfig) -> Tensor:
    return fused_windows.launch(*case.arguments, config)


def window_groups() -> Iterator[Group]:
    """Yields the attention alone, on a finished projection, then everything from the normed page on."""
    own = default_first(default_window_config(WINDOW), WINDOW_CONFIGS)
    for batch, side in PAGES:
        case = random_page(side, window=WINDOW, batch=batch, heads=HEADS, dtype=torch.bfloat16, device="cuda")
        page = PageCase(
            x=case.x[:1], weight=case.weight, bias=case.bias, rows=case.rows, cols=case.cols, num_heads=HEADS
        )
        want = page_reference(page, torch.float32)
        shape = f"{batch} x {side}x{side}"
        padded, arguments = padded_windows(case), case.arguments
        flop = 4.0 * len(padded.qkv) * HEADS * WINDOW**4 * 64  # of the two products, edges as whole windows
        yield Group(
            section="windows, attention alone",
            shape=shape,
            work=flop,
            unit="TFLOP/s",
            others={
                "flash, no positions": partial(flash, padded),
                "bias": partial(with_bias, padded),
            },
            own={label(config): partial(fused_windows.launch, *arguments, config) for config in own},
            want=want,
            inexact=("flash, no positions", "bias"),
        )
        del padded, arguments
        projection = 2.0 * batch * side * side * 3 * (HEADS * 64) ** 2
        yield Group(
            section="windows with split, projection and join",
            shape=shape,
            work=flop + projection,
            unit="TFLOP/s",
            others={
                "flash, no positions": partial(in_padded_windows, case, flash),
                "bias": partial(in_padded_windows, case, with_bias),
                "projection alone": partial(functional.linear, case.x, case.weight, case.bias),
            },
            own={label(own[0]): partial(whole, case, own[0])},
            want=want,
            inexact=("flash, no positions", "projection alone"),
        )


def norm_alone(x: Tensor, norm: torch.nn.LayerNorm, config: NormConfig) -> Tensor:
    return fused.launch_norm(x, None, norm.weight, norm.bias, norm.eps, config)[1]


def sum_and_norm(x: Tensor, delta: Tensor, norm: torch.nn.LayerNorm, config: NormConfig) -> Tensor:
    return fused.launch_norm(x, delta, norm.weight, norm.bias, norm.eps, config)[1]


def plain_sum_and_norm(x: Tensor, delta: Tensor, norm: torch.nn.LayerNorm) -> Tensor:
    return torch_operators.add_norm(x, delta, norm)[1]


def norm_groups() -> Iterator[Group]:
    for rows, width in [(rows, 768) for rows in SAM_ROWS] + [(rows, 1024) for rows in CLIP_ROWS]:
        norm, x, delta = random_norm(width, (rows,), dtype=torch.bfloat16, device="cuda")
        scale, shift = norm.weight.float(), norm.bias.float()
        own = default_first(fused.default_norm_config(width), NORM_CONFIGS)
        eager = partial(functional.layer_norm, x, (width,), norm.weight, norm.bias, norm.eps)
        yield Group(
            section="norm",
            shape=f"{rows} x {width}",
            work=2.0 * 2 * rows * width,
            unit="GB/s",
            others={"PyTorch": eager},
            own={label(config): partial(norm_alone, x, norm, config) for config in own[:3]},
            want=functional.layer_norm(x.float(), (width,), scale, shift, norm.eps),
        )
        yield Group(
            section="sum and norm",
            shape=f"{rows} x {width}",
            work=4.0 * 2 * rows * width,
            unit="GB/s",
            others={"PyTorch": partial(plain_sum_and_norm, x, delta, norm)},
            own={label(config): partial(sum_and_norm, x, delta, norm, config) for config in own},
            want=functional.layer_norm(x.float() + delta.float(), (width,), scale, shift, norm.eps),
        )


def activation_groups() -> Iterator[Group]:
    for rows in SAM_ROWS:
        linear = torch.nn.Linear(768, 3072, device="cuda", dtype=torch.bfloat16)
        x = torch.randn(rows, 768, dtype=torch.bfloat16, device="cuda")
        exact = functional.linear(x.float(), linear.weight.float(), linear.bias.float())
        yield Group(
            section="linear and gelu",
            shape=f"{rows} x 768 x 3072",
            work=2.0 * rows * 768 * 3072,
            unit="TFLOP/s",
            others={"PyTorch": partial(torch_operators.linear_gelu, x, linear)},
            own={"one product": partial(linear_gelu, x, linear)},
            want=functional.gelu(exact),
        )
    for rows in CLIP_ROWS:
        x = 2 * torch.randn(rows, 4096, dtype=torch.bfloat16, device="cuda")
        yield Group(
            section="quick_gelu",
            shape=f"{rows} x 4096",
            work=2.0 * 2 * rows * 4096,
            unit="GB/s",
            others={"PyTorch": partial(torch_operators.quick_gelu, x)},
            own={"in place": partial(quick_gelu, x, inplace=True)},
            want=torch_operators.quick_gelu(x.float()),
            inexact=("in place",),  # a second call takes the first one's output
        )


def global_groups() -> Iterator[Group]:
    for batch, side in GLOBAL:
        case = random_case(side, batch=batch, heads=HEADS, dtype=torch.bfloat16, device="cuda")
        first = Case(qkv=case.qkv[:1], rows=case.rows, cols=case.cols, num_heads=HEADS)
        fitting = [config for config in GRID_CONFIGS if config.rows * side <= 128]
        axes = key_axes(side, case.rows)
        yield Group(
            section="global",
            shape=f"{batch} x {side}x{side}",
            work=4.0 * batch * HEADS * side**4 * 64,  # of the two products, positions not counted
            unit="TFLOP/s",
            others={
                "flash, no positions": partial(flash, case),
                "bias": partial(with_bias, case),
                "augmented q/k": partial(grid_attention, *case.arguments, axes),
            },
            own={
                label(config): partial(fused_grid.launch, *case.arguments, config)
                for config in default_first(default_config(side), fitting)
            },
            want=reference(first, torch.float32),
            inexact=("flash, no positions",),
        )


def measure(group: Group, repeats: int) -> Iterator[Timing]:
    for method, call in {**group.others, **group.own}.items():
        try:
            exact = method not in group.inexact
            error = relative_error(call()[: len(group.want)], group.want) if exact else None
            ms = median_ms(call, repeats)
        except Exception as failure:  # refused by the compiler or driver: the others still count
            print(
                f"{group.section}, {group.shape}, {method}: {type(failure).__name__}: {failure}",
                file=sys.stderr,
            )
            continue
        rate = group.work / ms / (1e6 if group.unit == "GB/s" else 1e9)
        yield Timing(
            section=group.section,
            shape=group.shape,
            method=method,
            own=method in group.own,
            ms=ms,
            rate=rate,
            unit=group.unit,
            error=error,
        )


def report(timings: list[Timing]) -> str:
    """Returns Markdown: for each section a row per shape with its best configuration; then every figure."""
    lines: list[str] = []
    for section in dict.fromkeys(timing.section for timing in timings):
        here = [timing for timing in timings if timing.section == section]
        others = list(dict.fromkeys(timing.method for timing in here if not timing.own))
        lines += ["", f"**{section}**, ms", ""]
        lines += ["| | " + " | ".join([*others, "first", "best", here[0].unit, "of"]) + " |"]
        lines += ["|---" * (len(others) + 5) + "|"]
        for shape in dict.fromkeys(timing.shape for timing in here):
            row = [timing for timing in here if timing.shape == shape]
            own = [timing for timing in row if timing.own]
            by_method = {timing.method: f"{timing.ms:.4f}" for timing in row}
            cells = [by_method.get(method, "") for method in others]
            if own:
                best = min(own, key=lambda timing: timing.ms)
                cells += [f"{own[0].ms:.4f}", f"{best.ms:.4f}", f"{best.rate:.0f}", best.method]
            lines.append(f"| {shape} | " + " | ".join(cells) + " |")
    lines += ["", "| section | shape | method | ms | rate | error |", "|---" * 6 + "|"]
    for timing in timings:
        error = "" if timing.error is None else f"{timing.error:.1e}"
        cells = [timing.section, timing.shape, timing.method, f"{timing.ms:.4f}"]
        lines.append("| " + " | ".join([*cells, f"{timing.rate:.0f} {timing.unit}", error]) + " |")
    return "\n".join(lines)


def write(output: Path, timings: list[Timing], seconds: float) -> None:
    figures = {
        "device": torch.cuda.get_device_name(),
        "seconds": round(seconds, 1),
        "timings": [asdict(timing) for timing in timings],
    }
    output.write_text(json.dumps(figures, indent=1) + "\n")


SECTIONS = {
    "windows": window_groups,
    "norms": norm_groups,
    "activations": activation_groups,
    "global": global_groups,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="JSON file for the figures, written after every shape")
    parser.add_argument("--repeats", type=int, default=30, help="replays a method")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--limit-s", type=float, default=150, help="no further shape is begun after so long")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA device")
    timings: list[Timing] = []
    begun = time.monotonic()
    with torch.inference_mode():
        for name in arguments.sections:
            try:
                for group in SECTIONS[name]():
                    if time.monotonic() - begun > arguments.limit_s:
                        print(f"out of time before {group.section}, {group.shape}", file=sys.stderr)
                        break
                    timings += measure(group, arguments.repeats)
                    torch.cuda.empty_cache()
                    write(arguments.output, timings, time.monotonic() - begun)
            except Exception as failure:  # from the inputs themselves: the other sections still count
                print(f"{name}: {type(failure).__name__}: {failure}", file=sys.stderr)
    print(report(timings))


if __name__ == "__main__":
    main()
