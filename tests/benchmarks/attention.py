"""Times of attention with relative positions on a CUDA device with Triton, 12 heads of 64 in bfloat16:

python -m tests.benchmarks.attention attention.json

Each method is captured in a CUDA graph and replayed, so that no launch from Python is timed; the figures are
medians over replays. The error is that of the first view, against the definition in float32. A configuration that
fails (too much shared memory) is reported and left out.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from encoders.attention import fused
from encoders.attention.fused import MAX_WINDOW, LaunchConfig, default_config
from encoders.attention.plain import augmented_attention, bias_attention
from encoders.sam import key_axes
from tests.encoders.attention_cases import Case, random_case, reference, relative_error

HEADS = 12
SHAPES = ((1, 64), (8, 64), (6, 40), (48, 40), (200, 14))  # batch, side

WINDOW_CONFIGS = [
    LaunchConfig(block_m=block_m, num_warps=warps, num_stages=stages)
    for block_m, warps, stages in ((16, 4, 1), (32, 4, 1), (64, 4, 1), (64, 4, 2), (64, 8, 1), (128, 8, 1))
]
GRID_CONFIGS = [
    LaunchConfig(block_m=block_m, num_warps=warps, num_stages=stages, rows=1, max_registers=registers)
    for block_m, warps in ((64, 4), (128, 8))
    for stages, registers in ((2, 128), (3, 128), (4, 128), (3, None))
] + [LaunchConfig(block_m=256, num_warps=16, num_stages=3, rows=1, max_registers=128)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """ms: median. error: relative, None where positions are left out."""

    batch: int
    side: int
    method: str
    ms: float
    error: float | None = None


def candidates(side: int) -> list[LaunchConfig]:
    """The default first. Wide blocks of keys hold as many grid rows as go into 128 places."""
    if side <= MAX_WINDOW:
        chosen = WINDOW_CONFIGS
    else:
        wide = [
            LaunchConfig(block_m=block_m, num_warps=warps, num_stages=stages, rows=128 // side)
            for block_m, warps in ((64, 4), (128, 8))
            for stages in (2, 3)
        ]
        chosen = GRID_CONFIGS + wide
    default = default_config(side)
    return [default, *(config for config in chosen if config != default)]


def median_ms(call: Callable[[], Tensor], repeats: int) -> float:
    """Of one call, replayed from a graph."""
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


def without_positions(case: Case) -> Tensor:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return functional.scaled_dot_product_attention(case.q, case.k, case.v, scale=case.scale)


def with_kernel(case: Case, config: LaunchConfig) -> Tensor:
    return fused.launch(*case.tensors, case.scale, config).transpose(1, 2)


def label(config: LaunchConfig) -> str:
    registers = config.max_registers or "-"
    return f"m{config.block_m} w{config.num_warps} s{config.num_stages} rows{config.rows} regs{registers}"


def measure(batch: int, side: int, repeats: int) -> list[Timing]:
    case = random_case(side, batch=batch, heads=HEADS, dtype=torch.bfloat16, device="cuda")
    first = Case(q=case.q[:1], k=case.k[:1], v=case.v[:1], rows=case.rows, cols=case.cols)
    want = reference(first, torch.float32)
    axes = key_axes(side, case.rows)
    methods: dict[str, Callable[[], Tensor]] = {
        "no bias": partial(without_positions, case),
        "materialised bias": partial(bias_attention, *case.tensors, case.scale),
        "augmented q/k": partial(augmented_attention, *case.tensors, case.scale, axes),
    }
    methods |= {label(config): partial(with_kernel, case, config) for config in candidates(side)}
    timings = []
    for method, call in methods.items():
        try:
            error = None if method == "no bias" else relative_error(call()[:1], want)
            ms = median_ms(call, repeats)
        except Exception as failure:  # whatever the compiler or the driver refuses: the others still count
            print(f"{batch} x {side}x{side}, {method}: {type(failure).__name__}: {failure}", file=sys.stderr)
            continue
        timings.append(Timing(batch=batch, side=side, method=method, ms=ms, error=error))
        torch.cuda.empty_cache()
    return timings


def report(timings: list[Timing]) -> str:
    """Markdown: a row a shape with its best configuration, then every configuration."""
    lines = ["| | no bias | materialised bias | augmented q/k | default | best | of |", "|---" * 7 + "|"]
    details = ["| | configuration | ms | TFLOP/s | error |", "|---" * 5 + "|"]
    for batch, side in dict.fromkeys((timing.batch, timing.side) for timing in timings):
        here = [timing for timing in timings if (timing.batch, timing.side) == (batch, side)]
        by_method = {timing.method: f"{timing.ms:.3f}" for timing in here}
        ours = {label(config) for config in candidates(side)}
        kernels = [timing for timing in here if timing.method in ours]
        best = min(kernels, key=lambda timing: timing.ms, default=None)
        names = ("no bias", "materialised bias", "augmented q/k", label(default_config(side)))
        cells = [by_method.get(name, "") for name in names]
        cells += [f"{best.ms:.3f}", best.method] if best else ["", ""]
        lines.append(f"| {batch} x {side}x{side} | " + " | ".join(cells) + " |")
        flop = 4 * batch * HEADS * side**4 * 64  # of the two products, positions not counted
        for timing in here:
            error = "" if timing.error is None else f"{timing.error:.1e}"
            rate = flop / timing.ms / 1e9
            details.append(
                f"| {batch} x {side}x{side} | {timing.method} | {timing.ms:.3f} | {rate:.0f} | {error} |"
            )
    return "\n".join([*lines, "", *details])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="JSON file for the figures")
    parser.add_argument("--repeats", type=int, default=30, help="replays a method")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA device")
    timings: list[Timing] = []
    with torch.inference_mode():
        for batch, side in SHAPES:
            timings += measure(batch, side, arguments.repeats)
            figures = {
                "device": torch.cuda.get_device_name(),
                "timings": [asdict(timing) for timing in timings],
            }
            arguments.output.write_text(json.dumps(figures, indent=1) + "\n")
    print(report(timings))


if __name__ == "__main__":
    main()
