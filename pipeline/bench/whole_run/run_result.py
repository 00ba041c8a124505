"""Works out the figures of `ocrbatch bench pipeline` from a measured run, and prints them."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any

import torch

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.imaging.tiling import MODES
from ocr.model.prompt import encode_prompt
from pipeline.bench.bench_figures import cells
from pipeline.bench.machine import describe
from pipeline.bench.roofline.bound import AveragePage, page_bound
from pipeline.bench.roofline.rates import measure_rates
from pipeline.bench.whole_run.track import Measured
from pipeline.device.sizes import decode_slots
from pipeline.device.startup.loading import choose_dtype, threads_each
from pipeline.meter import bottleneck
from pipeline.reports.listing import counted
from pipeline.reports.run_figures import run_lines
from storage.database import open_for_reading
from storage.queries import statistics

_WIDTHS = (28, 12)
Values = dict[str, Any]


def values_of(measured: Measured) -> Values:
    """Returns all figures as JSON values, measuring what is left for after the run.

    at_once: pages decoded at once. num_read: pages that did not fail. flow: as in the database (RunSummary.flow).
    stopped: why the run ended early. wall_s: until its workers had ended. stored_s: when each page was stored, since
    the run began. rates, bound, work: None where the device's rates are not known, or the work of the model's family.
    bound_share: the last of the speeds as a share of the bound. notes: what is left out or otherwise for the model's
    family, and why. Raises: CheckpointError, ConfigError.
    """
    model, track, summary, config = measured.model, measured.track, measured.summary, measured.config
    memory = _memory(measured)  # before anything else takes memory
    at_once = decode_slots(config, model.device.type)
    speeds = _speeds(measured, at_once)
    slowest = bottleneck(summary.stages)
    return {
        "machine": describe(model.device),
        "dtype": choose_dtype(config.dtype, model.device.type),
        "device": model.device.type,
        "at_once": at_once,
        "num_tokens": sum(page.num_tokens for page in track.pages),
        "num_read": track.num_read,
        "statuses": dict(track.statuses),
        "speeds": speeds,
        "start_up": _start_up(measured),
        "memory": memory,
        "flow": summary.flow(),
        "bottleneck": slowest.name if slowest else None,
        "stopped": summary.stopped,
        "wall_s": measured.wall_s,
        "stored_s": [round(page.at_s - measured.started.at_s, 3) for page in track.pages],
        "config": config.model_dump(mode="json"),
        **_bound(measured, at_once, speeds[-1]["pages_s"]),
        "notes": list(_notes(measured)),
    }


def _speeds(measured: Measured, at_once: int) -> list[Values]:
    """Returns the speeds of the whole run, of the run since the model was loaded, and of its steady part if any."""
    track = measured.track
    parts = {
        "whole run": track.since(measured.started),
        "since the model was loaded": track.since(measured.loaded),
        "steady": track.steady(at_once),
    }
    return [{"name": name, **part} for name, part in parts.items() if part is not None]


def _start_up(measured: Measured) -> Values:
    """Returns seconds since the command was given, without the benchmark's own preparation.

    entered_s: the command runs; imported_s: torch is imported; loaded_s: the model is on its device; first_page_s: the
    first page with text is stored. capture_s: how long capturing the encoder's graphs took, whenever that was.
    """
    pages, before = measured.track.pages, measured.age_s - measured.started.at_s
    first = next((page for page in pages if page.num_tokens), pages[0])  # blank ones need no model
    return {
        "entered_s": measured.age_s,
        "imported_s": before + measured.subject.imported_at_s,
        "loaded_s": before + measured.subject.loaded_at_s,
        "first_page_s": before + first.at_s,
        "capture_s": measured.summary.did.capture_s,
    }


def _memory(measured: Measured) -> Values:
    """Returns bytes: the peak resident memory of this process and its workers. Call it before GPU memory is taken.

    gpu_*: the peaks of torch's allocator, and of the whole GPU as its driver saw it.
    """
    device = measured.model.device
    on_cuda = device.type == "cuda" and measured.is_here
    gpu = measured.track.gpu.reading() if measured.track.gpu else None
    return {
        "host_peak": measured.host.peak_bytes,
        "main_peak": measured.host.peak_main_bytes,
        "gpu_allocated": torch.cuda.max_memory_allocated(device) if on_cuda else None,
        "gpu_reserved": torch.cuda.max_memory_reserved(device) if on_cuda else None,
        "gpu_used": gpu.peak_memory_bytes if gpu else None,
    }


def _bound(measured: Measured, at_once: int, pages_s: float) -> Values:
    """Returns the device's rates, an average page's work, the bound, and the share of it that a speed reaches."""
    model = measured.model
    found: Values = {"rates": None, "work": None, "bound": None, "bound_share": None}
    if not isinstance(model, LoadedModel):
        return found
    rates, work = measure_rates(model.device, model.model.dtype), _work(measured, model, at_once)
    found |= {"rates": asdict(rates) if rates else None, "work": asdict(work) if work else None}
    if rates and work:
        bound = page_bound(model.model.config, work, rates, model.model.dtype.itemsize)
        found |= {"bound": bound, "bound_share": pages_s / bound["pages_s"]}
    return found


def _notes(measured: Measured) -> Iterator[str]:
    if isinstance(measured.model, LoadedModel):
        return
    yield "no bound: the work of a page is counted for models of DeepSeek-OCR's shape alone"
    if measured.output_tokens is not None:
        yield (
            f"at most {measured.output_tokens} tokens a page, fewer where the model ends it or decode.max_tokens does, "
            "which counts the prompt too"
        )


def _work(measured: Measured, loaded: LoadedModel, at_once: int) -> AveragePage | None:
    """Returns the average page's work from the encoder's stored counts; None where there are none."""
    config, num_pages = measured.config, measured.track.num_read
    with closing(open_for_reading(config.store.database)) as db:
        encoder = statistics.runs(db)[-1].encoder
    if encoder is None:
        return None
    units = {name: int(stats["units"]) for name, stats in encoder.items()}
    prompt = config.decode.prompt or loaded.prompt
    return AveragePage(
        readings=units.get("global", 0) / num_pages,
        tiles=units.get("local", 0) / num_pages,
        view_px=MODES[config.tile.mode].base_px,
        words=len(encode_prompt(loaded.tokenizer, prompt, bos_id=loaded.bos_id)),
        output_tokens=sum(page.num_tokens for page in measured.track.pages) / num_pages,
        rows=min(at_once, num_pages),
    )


def lines(values: Values) -> Iterator[str]:
    """Yields the report's lines: what was read on which machine, how fast, and where the time went.

    values: values_of().
    """
    yield from _head(values)
    speeds, at_once = values["speeds"], values["at_once"]
    yield cells(
        _WIDTHS, "", "Pages read", "Failed", "Seconds", "Pages/s", "Tokens/s", "CPU s/page", "GPU busy"
    )
    for speed in speeds:
        yield cells(
            _WIDTHS,
            speed["name"],
            f"{speed['num_pages']}",
            f"{speed['num_failed']}",
            f"{speed['seconds']:.2f}",
            f"{speed['pages_s']:.2f}",
            f"{speed['tokens_s']:,.0f}",
            f"{speed['cpu_s_a_page']:.2f}",
            "" if speed["gpu_busy"] is None else f"{speed['gpu_busy']:.1%}",
        )
    if any(speed["gpu_busy"] is not None for speed in speeds):
        yield "GPU busy: the share of the time in which any kernel ran, however little of the GPU it filled"
    if any(speed["name"] == "steady" for speed in speeds):
        yield f"steady: from when the first {at_once} pages were stored to the end, while slots fell empty"
    else:
        yield f"no steady part: it takes twice the pages that are read at once, {2 * at_once}"
    yield from run_lines(values["flow"])
    if values["bottleneck"] is not None:
        yield f"bottleneck: {values['bottleneck']}"
    start = values["start_up"]
    yield (
        f"first page stored {start['first_page_s']:.1f} s after the command: it ran at {start['entered_s']:.1f} s, "
        f"torch was imported at {start['imported_s']:.1f} s, the model loaded at {start['loaded_s']:.1f} s; encoder "
        f"graphs took {start['capture_s']:.1f} s"
    )
    memory = values["memory"]
    yield f"host memory at most {_gib(memory['host_peak'])} ({_gib(memory['main_peak'])} and workers)"
    if memory["gpu_allocated"] is not None and memory["gpu_reserved"] is not None:
        line = f"GPU memory at most {_gib(memory['gpu_allocated'])}, reserved {_gib(memory['gpu_reserved'])}"
        used = memory["gpu_used"]
        yield line + (f", in use on the GPU {_gib(used)}" if used is not None else "")
    if values["bound"] is not None:
        yield from _bound_lines(values)
    yield from values["notes"]


def _head(values: Values) -> Iterator[str]:
    machine = values["machine"]
    threads = values["config"]["threads"] or threads_each()
    where = machine.get("gpu") or f"{machine['cpu']}, threads of encoder and language model: {threads} each"
    yield f"{where}; torch {machine['versions'].get('torch')}"
    pages = counted(dict(sorted(values["statuses"].items())))
    yield (
        f"model {values['settings']['model']}, {values['dtype']}, {values['at_once']} pages at once; "
        f"{len(values['stored_s'])} pages ({pages}), {values['num_tokens'] / values['num_read']:,.0f} tokens a page "
        "read"
    )
    if values["stopped"] is not None:
        yield f"stopped before the end: {values['stopped']}"


def _bound_lines(values: Values) -> Iterator[str]:
    rates, bound, work = values["rates"], values["bound"], values["work"]
    yield (
        f"bound: {bound['page_s'] * 1e3:.1f} ms a page, {bound['pages_s']:.1f} pages/s, of which "
        f"{values['bound_share']:.0%} reached ({values['speeds'][-1]['name']}): encoder "
        f"{bound['encoder_s'] * 1e3:.1f} ms, prefill {bound['prefill_s'] * 1e3:.1f}, weights "
        f"{bound['weights_s'] * 1e3:.1f}, cache {bound['kv_s'] * 1e3:.1f}"
    )
    yield (
        f"at {rates['matrix_flops_s'] / 1e12:.0f} TFLOP/s and {rates['copy_bytes_s'] / 1e12:.2f} TB/s, measured here; "
        f"prompts of {AveragePage(**work).prompt_tokens:.0f} tokens, {work['readings']:.2f} readings and "
        f"{work['tiles']:.1f} tiles a page"
    )


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / 2**30:.2f} GiB"
