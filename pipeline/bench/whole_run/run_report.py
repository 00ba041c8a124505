"""Prints the report of `ocrbatch bench pipeline`. Imports no torch."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipeline.device.startup.loading import threads_each
from pipeline.reports.listing import counted
from pipeline.reports.stage_lines import flow_lines

if TYPE_CHECKING:
    from pipeline.bench.whole_run.figures import Memory, Speed
    from pipeline.bench.whole_run.run_result import PipelineBenchResult

_FIRST, _WIDTH = 28, 12


def lines(result: "PipelineBenchResult") -> Iterator[str]:
    """Yields the report's lines: what was read on which machine, how fast, and where the time went."""
    yield from _head(result)
    yield _row("", "Pages read", "Failed", "Seconds", "Pages/s", "Tokens/s", "CPU s/page", "GPU busy")
    for speed in result.speeds:
        yield _speed(speed)
    if any(speed.gpu_busy is not None for speed in result.speeds):
        yield "GPU busy: the share of the time in which any kernel ran, however little of the GPU it filled"
    yield from _steady(result)
    yield from flow_lines(result.flow)
    if result.bottleneck is not None:
        yield f"bottleneck: {result.bottleneck}"
    start = result.start_up
    yield (
        f"first page stored {start.first_page_s:.1f} s after the command: it ran at {start.entered_s:.1f} s, torch was "
        f"imported at {start.imported_s:.1f} s, the model loaded at {start.loaded_s:.1f} s; encoder graphs took "
        f"{start.capture_s:.1f} s"
    )
    yield from _memory(result.memory, len(result.stored_s))
    yield from _bound(result)
    if (beside := result.beside) is not None:
        yield (
            f"{beside.name} beside it, decoding alone, {beside.num_pages} pages at once: {beside.tokens_s:,.0f} "
            f"tokens/s, {beside.pages_s:.2f} pages/s"
        )
    yield from result.notes


def _head(result: "PipelineBenchResult") -> Iterator[str]:
    machine = result.machine
    threads = result.config["threads"] or threads_each()
    where = machine.get("gpu") or f"{machine['cpu']}, threads of encoder and language model: {threads} each"
    yield f"{where}; torch {machine['versions'].get('torch')}"
    pages = counted(dict(sorted(result.statuses.items())))
    drafts = "with" if result.has_drafts else "without"
    yield (
        f"model {result.model}, {result.dtype}, {result.at_once} pages at once, {drafts} drafts; "
        f"{len(result.stored_s)} pages ({pages}), {result.num_tokens / result.num_read:,.0f} tokens a page read"
    )
    if result.stopped is not None:
        yield f"stopped before the end: {result.stopped}"


def _speed(speed: "Speed") -> str:
    return _row(
        speed.name,
        f"{speed.num_pages}",
        f"{speed.num_failed}",
        f"{speed.seconds:.2f}",
        f"{speed.pages_s:.2f}",
        f"{speed.tokens_s:,.0f}",
        f"{speed.cpu_s_a_page:.2f}",
        "" if speed.gpu_busy is None else f"{speed.gpu_busy:.1%}",
    )


def _steady(result: "PipelineBenchResult") -> Iterator[str]:
    if any(speed.name == "steady" for speed in result.speeds):
        yield f"steady: from when the first {result.at_once} pages were stored to the end, while slots fell empty"
    else:
        yield f"no steady part: it takes twice the pages that are read at once, {2 * result.at_once}"


def _memory(memory: "Memory", num_pages: int) -> Iterator[str]:
    line = f"host memory at most {_gib(memory.host_peak)} ({_gib(memory.main_peak)} and workers)"
    if memory.main_at and memory.workers_at is not None and num_pages > 100:
        before, after = memory.main_at + memory.workers_at, memory.main_end + memory.workers_end
        line += f"; at page 100 {_gib(before)}, at page {num_pages} {_gib(after)}, {after / before:.2f}x"
    yield line
    if memory.gpu_allocated is not None and memory.gpu_reserved is not None:
        line = f"GPU memory at most {_gib(memory.gpu_allocated)}, reserved {_gib(memory.gpu_reserved)}"
        yield line + (f", in use on the GPU {_gib(memory.gpu_used)}" if memory.gpu_used is not None else "")


def _bound(result: "PipelineBenchResult") -> Iterator[str]:
    rates, bound, work = result.rates, result.bound, result.work
    if rates is None or bound is None or work is None or result.bound_share is None:
        return
    yield (
        f"bound without drafts: {bound.page_s * 1e3:.1f} ms a page, {bound.pages_s:.1f} pages/s, of which "
        f"{result.bound_share:.0%} reached ({result.speeds[-1].name}): encoder {bound.encoder_s * 1e3:.1f} ms, prefill "
        f"{bound.prefill_s * 1e3:.1f}, weights {bound.weights_s * 1e3:.1f}, cache {bound.kv_s * 1e3:.1f}"
    )
    yield (
        f"at {rates.matrix_flops_s / 1e12:.0f} TFLOP/s and {rates.copy_bytes_s / 1e12:.2f} TB/s, measured here; "
        f"prompts of {work.prompt_tokens:.0f} tokens, {work.readings:.2f} readings and {work.tiles:.1f} tiles a page"
    )


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 2**30:.2f} GiB"


def _row(name: str, *cells: str) -> str:
    return f"{name:<{_FIRST}}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells)
