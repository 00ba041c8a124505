"""Times calls on a device and lists their kernels; runs a program's sections, each reported and written as it ends."""

import argparse
import gc
import json
import re
import statistics
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

Run = Callable[[], object]
Found = dict[str, Any]
# The first match counts: kernels of attentions and convolutions are matrix products, too.
KINDS = (
    ("attention", r"attention|attn|attend|fmha|flash|rel_pos|window_kernel|grid_kernel"),
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


class DeviceClock:
    """Measures milliseconds of calls on a device, by its own events where it has any."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.on_cuda = device.type == "cuda"

    def synchronize(self) -> None:
        if self.on_cuda:
            torch.cuda.synchronize(self.device)

    def tidy(self) -> None:
        """Gives unused memory back to the device; its peak counts from here."""
        gc.collect()
        if self.on_cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)

    def peak_bytes(self) -> int:
        return torch.cuda.max_memory_allocated(self.device) if self.on_cuda else 0

    def once_ms(self, call: Run) -> float:
        """Returns the wall-clock milliseconds of one call, from idle device to idle device."""
        self.synchronize()
        start = time.perf_counter()
        call()
        self.synchronize()
        return (time.perf_counter() - start) * 1e3

    def ms(self, call: Run, repeats: int, *, alone: bool = False) -> float:
        """Returns the median of several calls after two that do not count. alone: each on an idle device."""
        for _ in range(2):
            call()
        if not self.on_cuda:
            return statistics.median(self.once_ms(call) for _ in range(repeats))
        new_event: Any = partial(torch.cuda.Event, enable_timing=True)
        spans = []
        for _ in range(repeats):
            if alone:
                self.synchronize()
            start, end = new_event(), new_event()
            start.record()
            call()
            end.record()
            spans.append((start, end))
        self.synchronize()
        return statistics.median(float(start.elapsed_time(end)) for start, end in spans)

    def in_a_row_ms(self, call: Run, repeats: int) -> float:
        """Returns the wall-clock milliseconds of a call, of several whose results nobody waits for."""

        def several() -> None:
            for _ in range(repeats):
                call()

        return self.once_ms(several) / repeats

    def captured(self, call: Run) -> Run:
        """Returns a replay of the call from a CUDA graph of its own; without a CUDA device the call itself."""
        if not self.on_cuda:
            return call
        current = torch.cuda.current_stream(self.device)
        stream: Any = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            call()
        current.wait_stream(stream)
        self.synchronize()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                held = call()
        finally:  # a capture that fails leaves its own stream current
            torch.cuda.set_stream(current)

        def replay() -> object:
            graph.replay()
            return held

        return replay

    def kernels(self, call: Run, most: int = 25) -> Found:
        """Returns milliseconds by kind of kernel, and the longest kernels; of a CPU its operators.

        kinds: the sum under "ALL" first, then the longest kind. longest: calls and milliseconds by name.
        """
        call()
        self.synchronize()
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self.on_cuda else [])]
        with profile(activities=activities) as recorded:
            call()
            self.synchronize()
        wanted, spent = ("CUDA", "self_device_time_total") if self.on_cuda else ("CPU", "self_cpu_time_total")
        found = [
            (float(getattr(event, spent)) / 1e3, event.count, event.key)
            for event in recorded.key_averages()
            if event.device_type.name == wanted and not event.key.startswith(("ProfilerStep", "Activity"))
        ]
        kinds: Counter[str] = Counter()
        for ms, _, name in found:
            kinds["ALL"] += ms
            kinds[kind_of(name)] += ms
        longest = {name[:110]: {"calls": count, "ms": ms} for ms, count, name in sorted(found)[::-1][:most]}
        return {"kinds": {kind: {"ms": ms} for kind, ms in kinds.most_common()}, "longest": longest}


def kind_of(name: str) -> str:
    """Returns the kind of a kernel (or, on a CPU, of an operator)."""
    return next((kind for kind, pattern in KINDS if re.search(pattern, name.lower())), "other")


@contextmanager
def reported(what: str) -> Iterator[None]:
    """Reports what runs out of memory or is refused by a compiler or driver, so that all else still counts."""
    try:
        yield
    except RuntimeError as error:
        print(f"{what}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)


def sections_parser(description: str | None) -> argparse.ArgumentParser:
    """Returns the options of a program of sections: where its JSON goes, which sections, on which device."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="JSON file for the figures")
    parser.add_argument("--sections", help="names, separated by commas; by default all")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--quick", action="store_true", help="a tiny model and tiny sizes, on any device")
    parser.add_argument("--limit-s", type=float, default=600.0, help="no section is begun after so long")
    return parser


def device_of(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> torch.device:
    """Returns the device, TF32 off; ends the program where it is no CUDA device and --quick is not given."""
    device = torch.device(asked.device)
    if device.type == "cuda":
        device = torch.device("cuda", device.index or 0)
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
    elif not asked.quick:
        parser.error("needs a CUDA device; --quick shows on any device that it works")
    return device


def run_sections(
    measures: Mapping[str, Callable[[], Any]], asked: argparse.Namespace, clock: DeviceClock
) -> Found:
    """Returns the figures of the sections asked for, printed and written after each; one may fail without the others.

    Ends the program for a section that there is not.
    """
    names = [name.strip() for name in (asked.sections or ",".join(measures)).split(",")]
    if unknown := set(names) - set(measures):
        raise SystemExit(f"--sections: there is no {min(unknown)}; choose from {', '.join(measures)}")
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    found: Found = {"seconds": {}}
    begun = time.perf_counter()
    for name in names:
        start = time.perf_counter()
        if start - begun > asked.limit_s:
            found[name] = {"error": f"not begun: {asked.limit_s:.0f} s had gone"}
            continue
        print(f"\n## {name}\n", flush=True)
        try:
            with torch.inference_mode():
                found[name] = measures[name]()
            print("\n".join(tables(found[name])), flush=True)
        except Exception as error:  # the sections after it still count
            traceback.print_exc()
            found[name] = {"error": f"{type(error).__name__}: {error}"}
        clock.tidy()
        found["seconds"][name] = time.perf_counter() - start
        print(f"\n{name}: {found['seconds'][name]:.1f} s", flush=True)
        asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def tables(found: Any) -> Iterator[str]:
    """Yields figures as Markdown: a row for what is beside each other, a table for rows of one form in a row."""
    rows: dict[str, dict[str, str]] = {}
    for path, value in _leaves(found):
        rows.setdefault(", ".join(path[:-1]), {})[path[-1]] = value
    for columns, together in groupby(rows.items(), key=lambda row: list(row[1])):
        yield f"| | {' | '.join(columns)} |"
        yield "|---" * (len(columns) + 1) + "|"
        yield from (f"| {name} | {' | '.join(row.values())} |" for name, row in together)
        yield ""


def _leaves(found: Any, path: Sequence[str] = ()) -> Iterator[tuple[Sequence[str], str]]:
    if isinstance(found, dict):
        for name, value in found.items():
            yield from _leaves(value, (*path, str(name)))
    elif isinstance(found, list) and found and isinstance(found[0], dict):
        for number, value in enumerate(found):
            yield from _leaves(value, (*path, str(number + 1)))
    else:
        yield path, f"{found:.4g}" if isinstance(found, float) else str(found)
