"""Works out the figures of `ocrbatch bench pipeline` from a measured run: speed, start, memory and bound."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

import torch

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.imaging.tiling import MODES
from ocr.model.prompt import encode_prompt
from pipeline.bench.machine import describe
from pipeline.bench.roofline.bound import PageWork, page_bound
from pipeline.bench.roofline.rates import measure_rates
from pipeline.bench.whole_run.generate_beside import generate_beside
from pipeline.bench.whole_run.measured import Measured, PipelineBenchSettings
from pipeline.bench.whole_run.track import Stretch
from pipeline.config.schema import tile_settings
from pipeline.device.startup.loading import choose_dtype
from pipeline.meter import bottleneck
from storage.database import open_for_reading
from storage.queries import statistics

_FLAT_FROM = 100
Values = dict[str, Any]


def values_of(settings: PipelineBenchSettings, measured: Measured, paths: Sequence[str]) -> Values:
    """Returns all figures as JSON values, measuring what is left for after the run.

    at_once: pages decoded at once. num_read: pages that did not fail. flow: as in the database (RunSummary.flow).
    stopped: why the run ended early. wall_s: until its workers had ended. stored_s: when each page was stored, since
    the run began. rates, bound, work: None where the device's rates are not known, or the work of the model's family.
    bound_share: the last of the speeds as a share of the bound. notes: what is left out or otherwise for the model's
    family, and why. Raises: CheckpointError, ConfigError.
    """
    model, track, summary, config = measured.model, measured.track, measured.summary, measured.config
    memory = _memory(measured)  # before anything else takes memory
    speeds = _speeds(measured)
    slowest = bottleneck(summary.stages)
    return {
        "settings": asdict(settings),
        "machine": describe(model.device),
        "model": settings.model,
        "dtype": choose_dtype(config.dtype, model.device.type),
        "device": model.device.type,
        "at_once": measured.at_once,
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
        **_bound(measured, speeds[-1]["pages_s"]),
        "beside": _beside(settings, measured, paths),
        "notes": list(_notes(settings, measured)),
    }


def _speeds(measured: Measured) -> list[Values]:
    """Returns the speeds of the whole run, of the run since the model was loaded, and of its steady part if any.

    num_pages: pages read; num_failed: pages not read. gpu_busy: share of the time in which at least one kernel ran,
    however little of the GPU it filled; None where that was not measured.
    """
    track = measured.track
    parts = {
        "whole run": track.since(measured.started),
        "since the model was loaded": track.since(measured.loaded),
        "steady": track.steady(measured.at_once),
    }
    return [{"name": name, **_speed(part, measured)} for name, part in parts.items() if part is not None]


def _speed(part: Stretch, measured: Measured) -> Values:
    gpu = measured.track.gpu
    reading = gpu.reading(part.start.gpu, part.end.gpu) if gpu else None
    names = ("num_pages", "num_failed", "seconds", "pages_s", "tokens_s", "cpu_s_a_page")
    return {name: getattr(part, name) for name in names} | {
        "gpu_busy": None if reading is None else reading.busy_share
    }


def _start_up(measured: Measured) -> Values:
    """Returns seconds since the command was given, without the benchmark's own preparation.

    entered_s: the command runs; imported_s: torch is imported; loaded_s: the model is on its device; first_page_s: the
    first page with text is stored. capture_s: how long capturing the encoder's graphs took, whenever that was.
    """
    pages, before = measured.track.pages, measured.age_s - measured.started.at_s
    first = next((page for page in pages if page.num_tokens), pages[0])  # blank ones need no model
    return {
        "entered_s": measured.age_s,
        "imported_s": before + measured.loader.imported_at_s,
        "loaded_s": before + measured.loader.loaded_at_s,
        "first_page_s": before + first.at_s,
        "capture_s": measured.summary.capture_s,
    }


def _memory(measured: Measured) -> Values:
    """Returns bytes: the peak resident memory of this process and its workers. Call it before GPU memory is taken.

    *_at: when page number 100 was stored. *_end: when the last one was. gpu_*: the peaks of torch's allocator, and of
    the whole GPU as its driver saw it.
    """
    pages, peak, device = measured.track.pages, measured.host.peak, measured.model.device
    flat = pages[_FLAT_FROM - 1].host if len(pages) >= _FLAT_FROM else None
    on_cuda = device.type == "cuda" and measured.is_here
    gpu = measured.track.gpu.reading() if measured.track.gpu else None
    return {
        "host_peak": measured.host.peak_bytes,
        "main_peak": peak.main_bytes,
        "main_at": flat.main_bytes if flat else None,
        "main_end": pages[-1].host.main_bytes,
        "workers_at": flat.worker_bytes if flat else None,
        "workers_end": pages[-1].host.worker_bytes,
        "gpu_allocated": torch.cuda.max_memory_allocated(device) if on_cuda else None,
        "gpu_reserved": torch.cuda.max_memory_reserved(device) if on_cuda else None,
        "gpu_used": gpu.peak_memory_bytes if gpu else None,
    }


def _bound(measured: Measured, pages_s: float) -> Values:
    """Returns the device's rates, an average page's work, the bound, and the share of it that a speed reaches."""
    model = measured.model
    found: Values = {"rates": None, "work": None, "bound": None, "bound_share": None}
    if not isinstance(model, LoadedModel):
        return found
    rates, work = measure_rates(model.device, model.model.dtype), _work(measured, model)
    found |= {"rates": asdict(rates) if rates else None, "work": asdict(work) if work else None}
    if rates and work:
        bound = page_bound(model.model.config, work, rates, model.model.dtype.itemsize)
        found["bound"] = asdict(bound) | {"page_s": bound.page_s, "pages_s": bound.pages_s}
        found["bound_share"] = pages_s / bound.pages_s
    return found


def _notes(settings: PipelineBenchSettings, measured: Measured) -> Iterator[str]:
    if isinstance(measured.model, LoadedModel):
        return
    yield "no bound: the work of a page is counted for models of DeepSeek-OCR's shape alone"
    if settings.output_tokens is not None:
        yield (
            f"at most {settings.output_tokens} tokens a page, fewer where the model ends it or decode.max_tokens does, "
            "which counts the prompt too"
        )
    if settings.generate_pages:
        yield "no generate beside it: the run itself writes this model's texts with transformers' generate"


def _work(measured: Measured, loaded: LoadedModel) -> PageWork | None:
    """Returns the average page's work from the encoder's stored counts; None where there are none."""
    config, num_pages = measured.config, measured.track.num_read
    with closing(open_for_reading(config.store.database)) as db:
        encoder = statistics.runs(db)[-1].encoder
    if encoder is None:
        return None
    units = {name: int(stats["units"]) for name, stats in encoder.items()}
    prompt = config.decode.prompt or loaded.prompt
    return PageWork(
        readings=units.get("global", 0) / num_pages,
        tiles=units.get("local", 0) / num_pages,
        view_px=MODES[config.tile.mode].base_px,
        words=len(encode_prompt(loaded.tokenizer, prompt, bos_id=loaded.bos_id)),
        output_tokens=sum(page.num_tokens for page in measured.track.pages) / num_pages,
        rows=min(measured.at_once, num_pages),
    )


def _beside(settings: PipelineBenchSettings, measured: Measured, paths: Sequence[str]) -> Values | None:
    if not settings.generate_pages or not isinstance(measured.model, LoadedModel):
        return None
    if measured.model.device.type == "cuda":
        torch.cuda.empty_cache()
    tokens = max(page.num_tokens for page in measured.track.pages)
    layout = tile_settings(measured.config)
    return generate_beside(measured.model, paths, layout, settings.generate_pages, tokens)
