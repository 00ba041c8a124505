"""Prints the report of `ocrbatch bench pipeline`. Imports no torch."""

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.bench.bench_figures import cells
from pipeline.device.startup.loading import threads_each
from pipeline.reports.listing import counted
from pipeline.reports.stage_lines import flow_lines

_WIDTHS = (28, 12)
Values = Mapping[str, Any]


def lines(values: Values) -> Iterator[str]:
    """Yields the report's lines: what was read on which machine, how fast, and where the time went.

    values: run_result.values_of.
    """
    yield from _head(values)
    speeds, at_once = values["speeds"], values["at_once"]
    yield cells(
        _WIDTHS, "", "Pages read", "Failed", "Seconds", "Pages/s", "Tokens/s", "CPU s/page", "GPU busy"
    )
    for speed in speeds:
        yield _speed(speed)
    if any(speed["gpu_busy"] is not None for speed in speeds):
        yield "GPU busy: the share of the time in which any kernel ran, however little of the GPU it filled"
    if any(speed["name"] == "steady" for speed in speeds):
        yield f"steady: from when the first {at_once} pages were stored to the end, while slots fell empty"
    else:
        yield f"no steady part: it takes twice the pages that are read at once, {2 * at_once}"
    yield from flow_lines(values["flow"])
    if values["bottleneck"] is not None:
        yield f"bottleneck: {values['bottleneck']}"
    start = values["start_up"]
    yield (
        f"first page stored {start['first_page_s']:.1f} s after the command: it ran at {start['entered_s']:.1f} s, "
        f"torch was imported at {start['imported_s']:.1f} s, the model loaded at {start['loaded_s']:.1f} s; encoder "
        f"graphs took {start['capture_s']:.1f} s"
    )
    yield from _memory(values["memory"], len(values["stored_s"]))
    if values["bound"] is not None:
        yield from _bound(values)
    if (beside := values["beside"]) is not None:
        yield (
            f"{beside['name']} beside it, decoding alone, {beside['num_pages']} pages at once: "
            f"{beside['tokens_s']:,.0f} tokens/s, {beside['pages_s']:.2f} pages/s"
        )
    yield from values["notes"]


def _head(values: Values) -> Iterator[str]:
    machine = values["machine"]
    threads = values["config"]["threads"] or threads_each()
    where = machine.get("gpu") or f"{machine['cpu']}, threads of encoder and language model: {threads} each"
    yield f"{where}; torch {machine['versions'].get('torch')}"
    pages = counted(dict(sorted(values["statuses"].items())))
    yield (
        f"model {values['model']}, {values['dtype']}, {values['at_once']} pages at once; "
        f"{len(values['stored_s'])} pages ({pages}), {values['num_tokens'] / values['num_read']:,.0f} tokens a page "
        "read"
    )
    if values["stopped"] is not None:
        yield f"stopped before the end: {values['stopped']}"


def _speed(speed: Values) -> str:
    busy = speed["gpu_busy"]
    return cells(
        _WIDTHS,
        speed["name"],
        f"{speed['num_pages']}",
        f"{speed['num_failed']}",
        f"{speed['seconds']:.2f}",
        f"{speed['pages_s']:.2f}",
        f"{speed['tokens_s']:,.0f}",
        f"{speed['cpu_s_a_page']:.2f}",
        "" if busy is None else f"{busy:.1%}",
    )


def _memory(memory: Values, num_pages: int) -> Iterator[str]:
    line = f"host memory at most {_gib(memory['host_peak'])} ({_gib(memory['main_peak'])} and workers)"
    if memory["main_at"] and memory["workers_at"] is not None and num_pages > 100:
        before, after = memory["main_at"] + memory["workers_at"], memory["main_end"] + memory["workers_end"]
        line += f"; at page 100 {_gib(before)}, at page {num_pages} {_gib(after)}, {after / before:.2f}x"
    yield line
    if memory["gpu_allocated"] is not None and memory["gpu_reserved"] is not None:
        line = f"GPU memory at most {_gib(memory['gpu_allocated'])}, reserved {_gib(memory['gpu_reserved'])}"
        used = memory["gpu_used"]
        yield line + (f", in use on the GPU {_gib(used)}" if used is not None else "")


def _bound(values: Values) -> Iterator[str]:
    from pipeline.bench.roofline.bound import PageWork  # imports torch

    rates, bound, work = values["rates"], values["bound"], values["work"]
    yield (
        f"bound: {bound['page_s'] * 1e3:.1f} ms a page, {bound['pages_s']:.1f} pages/s, of which "
        f"{values['bound_share']:.0%} reached ({values['speeds'][-1]['name']}): encoder "
        f"{bound['encoder_s'] * 1e3:.1f} ms, prefill {bound['prefill_s'] * 1e3:.1f}, weights "
        f"{bound['weights_s'] * 1e3:.1f}, cache {bound['kv_s'] * 1e3:.1f}"
    )
    yield (
        f"at {rates['matrix_flops_s'] / 1e12:.0f} TFLOP/s and {rates['copy_bytes_s'] / 1e12:.2f} TB/s, measured here; "
        f"prompts of {PageWork(**work).prompt_tokens:.0f} tokens, {work['readings']:.2f} readings and "
        f"{work['tiles']:.1f} tiles a page"
    )


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 2**30:.2f} GiB"
