"""Computes a measured run's speed, startup times and memory."""

from dataclasses import dataclass

import torch

from pipeline.bench.whole_run.measured import Measured
from pipeline.bench.whole_run.track import Stretch

FLAT_FROM = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """The speed in one part of the run. name: of the part. num_pages: pages read; num_failed: pages not read.

    gpu_busy: share of its time in which at least one kernel ran, however little of the GPU it filled; None where that
    was not measured.
    """

    name: str
    num_pages: int
    num_failed: int
    seconds: float
    pages_s: float
    tokens_s: float
    cpu_s_a_page: float
    gpu_busy: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartUp:
    """The startup times in seconds since the command was given, without the benchmark's own preparation.

    entered_s: the command runs; imported_s: torch is imported; loaded_s: the model is on its device; first_page_s: the
    first page with text is stored. capture_s: how long capturing the encoder's graphs took, whenever that was.
    """

    entered_s: float
    imported_s: float
    loaded_s: float
    first_page_s: float
    capture_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The run's memory in bytes. host_peak, ...: peak resident memory of this process and its workers.

    *_at: when page number FLAT_FROM was stored. *_end: when the last one was. gpu_*: the peaks of torch's allocator,
    and of the whole GPU as its driver saw it.
    """

    host_peak: int
    main_peak: int
    main_at: int | None
    main_end: int
    workers_at: int | None
    workers_end: int
    gpu_allocated: int | None = None
    gpu_reserved: int | None = None
    gpu_used: int | None = None


def speeds_of(measured: Measured) -> tuple[Speed, ...]:
    """Returns the speeds of the whole run, of the run since the model was loaded, and of its steady part if any."""
    track = measured.track
    parts = [
        ("whole run", track.since(measured.started)),
        ("since the model was loaded", track.since(measured.loaded)),
        ("steady", track.steady(measured.at_once)),
    ]
    return tuple(_speed(name, part, measured) for name, part in parts if part is not None)


def start_up_of(measured: Measured) -> StartUp:
    """Returns the run's startup times."""

    def since_command(at_s: float) -> float:
        return measured.age_s + at_s - measured.started.at_s

    pages = measured.track.pages
    first = next((page for page in pages if page.num_tokens), pages[0])  # blank ones need no model
    return StartUp(
        entered_s=measured.age_s,
        imported_s=since_command(measured.loader.imported_at_s),
        loaded_s=since_command(measured.loader.loaded_at_s),
        first_page_s=since_command(first.at_s),
        capture_s=measured.summary.capture_s,
    )


def memory_of(measured: Measured) -> Memory:
    """Returns the run's memory. Call it before anything else takes GPU memory."""
    pages, peak, device = measured.track.pages, measured.host.peak, measured.model.device
    flat = pages[FLAT_FROM - 1].host if len(pages) >= FLAT_FROM else None
    on_cuda = device.type == "cuda" and measured.is_here
    gpu = measured.track.gpu.reading() if measured.track.gpu else None
    return Memory(
        host_peak=measured.host.peak_bytes,
        main_peak=peak.main_bytes,
        main_at=flat.main_bytes if flat else None,
        main_end=pages[-1].host.main_bytes,
        workers_at=flat.worker_bytes if flat else None,
        workers_end=pages[-1].host.worker_bytes,
        gpu_allocated=torch.cuda.max_memory_allocated(device) if on_cuda else None,
        gpu_reserved=torch.cuda.max_memory_reserved(device) if on_cuda else None,
        gpu_used=gpu.peak_memory_bytes if gpu else None,
    )


def _speed(name: str, part: Stretch, measured: Measured) -> Speed:
    gpu = measured.track.gpu
    reading = gpu.reading(part.start.gpu, part.end.gpu) if gpu else None
    return Speed(
        name=name,
        num_pages=part.num_pages,
        num_failed=part.num_failed,
        seconds=part.seconds,
        pages_s=part.pages_s,
        tokens_s=part.tokens_s,
        cpu_s_a_page=part.cpu_s_a_page,
        gpu_busy=None if reading is None else reading.busy_share,
    )
