"""Implements `ocrbatch bench encoder`: times the encoder's arms, each warmed up, in one process."""

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import torch

from encoders.graphs.capturing.capture import Capture
from encoders.graphs.errors import GraphSettingsError
from encoders.graphs.settings import GraphSettings
from encoders.views import PageViews
from ocr.families.family import NumberFormat
from pipeline.bench.bench_figures import Figures, known, told
from pipeline.bench.encoding.batch_sizes import batch_sizes, fitted_budgets
from pipeline.bench.encoding.encoder_arms import ARMS, Arm, build
from pipeline.bench.encoding.encoder_subject import EncoderSubject
from pipeline.bench.encoding.latency_table import ArmTimes, comparison, paths, table
from pipeline.bench.encoding.load_encoder import load_encoder
from pipeline.bench.encoding.parity import parity, relative_errors
from pipeline.bench.encoding.requests import (
    Request,
    Size,
    page_requests,
    random_requests,
    video_requests,
)
from pipeline.device.startup.loading import choose_device, choose_dtype
from pipeline.errors import ConfigError

# Of so many requests the arms' tokens are compared, at least one batch: a page's take up to 33 MB.
_COMPARED = 32
# The most graphs of a path whose sizes are fitted to the requests.
_FITTED = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings:
    """The settings of `ocrbatch bench encoder`. pages: a folder; None draws random images from the buckets.

    batch_size: requests that are encoded at once, with their views pooled; they share the time equally.
    max_items: most views in a batch. budgets: of the graphs; "auto" chooses from the requests by measured
    latencies, "fitted" the sizes that pad the requests' own batches least. frames: of a video, in
    place of an image; 0 for images. memory_limit: bytes for graphs and their buffers, None for no limit.
    """

    model: str = "small"
    device: str = "cpu"
    dtype: NumberFormat = "float32"
    arms: tuple[str, ...] = ARMS
    num_prompts: int = 32
    num_warmups: int = 3
    seed: int = 0
    max_tiles: int = 6
    batch_size: int = 1
    max_items: int = 32
    budgets: Literal["default", "auto", "fitted"] = "default"
    buckets: dict[Size, float]
    pages: str | None = None
    frames: int = 0
    memory_limit: int | None = None


def settings_of(*, device: str, dtype: str, arms: str, **settings: Any) -> BenchSettings:
    """Returns the settings that the options say, for the device that a run would choose. Raises: ConfigError."""
    chosen, names = choose_device(device), known("--arms", arms, ARMS)
    return BenchSettings(device=chosen, dtype=choose_dtype(dtype, chosen), arms=names, **settings)


def run(**options: Any) -> Figures:
    """Measures what the options of `ocrbatch bench encoder` say. Raises: CheckpointError, ConfigError."""
    values = bench(settings_of(**options))
    return Figures(values=values, lines=tuple(_lines(values)))


@torch.inference_mode()
def bench(
    settings: BenchSettings, subject: EncoderSubject | None = None, capture: Capture | None = None
) -> dict[str, Any]:
    """Measures every arm that the model has on the same requests; returns all figures as JSON values.

    relative_errors: of each arm relative to the first. parity: the largest relative differences between arms.
    missing_arms: those that the model lacks, with the reason. grids: (columns, rows) of the tiles of each request.
    subject: the model, where it is loaded already. capture: of graphs; by default the device's.
    Raises: CheckpointError, ConfigError.
    """
    device = torch.device(settings.device)
    if subject is None:
        subject = load_encoder(settings.model, device, settings.dtype)
    missing = {name: why for name, why in subject.missing().items() if name in settings.arms}
    chosen = [name for name in settings.arms if name not in missing]
    if not chosen:
        raise ConfigError(f"--arms {','.join(settings.arms)}: {'; '.join(missing.values())}; add eager")
    requests = requests_for(settings, subject)
    graphs = graph_settings_for(settings, subject, requests)
    measured: list[ArmTimes] = []
    outputs: dict[str, list[torch.Tensor]] = {}
    for names in _together(chosen):
        arms = [build(name, subject, graphs, capture) for name in names]
        measured += _measure(arms, requests, settings, device)
        for arm in arms:
            outputs[arm.name] = _outputs(arm, requests, settings)
            arm.close()
    return {
        "settings": asdict(settings) | {"buckets": str(settings.buckets)},
        "machine": machine_of(device),
        "relative_errors": relative_errors(outputs),
        "parity": parity(outputs),
        "missing_arms": missing,
        "grids": [list(request.views.grid) for request in requests],
        "arms": [arm.values() for arm in measured],
    }


def _lines(values: Mapping[str, Any]) -> Iterator[str]:
    """Yields the report's lines: a table for every arm, then the arms side by side, their graphs and differences."""
    arms = values["arms"]
    yield told(values["machine"])
    for arm in arms:
        yield from table(arm)
        yield ""
    yield from comparison(arms)
    yield from paths(arms)
    for name, error in values["relative_errors"].items():
        yield f"{name}: relative error to {arms[0]['arm']} {error:.1e}"
    for pair, difference in values["parity"].items():
        yield f"Parity, {pair}: largest relative difference {difference:.1e}"
    for name, why in values["missing_arms"].items():
        yield f"No arm {name}: {why}"


def graph_settings_for(
    settings: BenchSettings, subject: EncoderSubject, requests: Sequence[Request]
) -> GraphSettings:
    """Returns the graphs' settings; "fitted" sizes are those of these requests."""
    graphs = GraphSettings(max_items=settings.max_items, memory_limit=settings.memory_limit)
    if settings.budgets == "auto":
        return replace(graphs, budgets="auto")
    if settings.budgets == "fitted":
        batches = [views_of(batch) for batch in batches_of(requests, settings.batch_size)]
        seen = batch_sizes(subject.encoder, batches, settings.max_items)
        return replace(graphs, budgets=fitted_budgets(subject.encoder, seen, _FITTED))
    return graphs


def requests_for(settings: BenchSettings, subject: EncoderSubject) -> list[Request]:
    """Returns the requests to measure, the same for equal settings. Raises: ConfigError."""
    count, seed, tiles = settings.num_prompts, settings.seed, settings.max_tiles
    if not settings.frames:
        if settings.pages is None:
            return random_requests(settings.buckets, count, seed, tiles, subject.view_maker)
        return page_requests(settings.pages, count, tiles, subject.view_maker)
    if settings.pages is not None:
        raise ConfigError("--frames and --pages exclude each other: pages are no videos")
    if subject.video_maker is None:
        raise ConfigError(f"--frames {settings.frames}: {settings.model} takes no videos; leave it out")
    return video_requests(settings.buckets, count, seed, settings.frames, subject.video_maker)


def _together(names: Sequence[str]) -> list[list[str]]:
    """Returns the arms in groups that take turns, batch by batch, so that drifting clocks slow each alike.

    Our own do; transformers' classes are there alone, as they take the memory.
    """
    ours = [name for name in names if name != "reference"]
    return [[name] for name in names if name == "reference"] + ([ours] if ours else [])


def _measure(
    arms: Sequence[Arm], requests: Sequence[Request], settings: BenchSettings, device: torch.device
) -> list[ArmTimes]:
    all_times = [ArmTimes(name=arm.name) for arm in arms]
    batches = list(batches_of(requests, settings.batch_size))
    try:
        for arm in arms:
            arm.prepare([views_of(batch) for batch in batches])
    except GraphSettingsError as error:  # of sizes that the memory limit has no room for
        raise ConfigError(f"--memory-limit and --budgets: {error}") from error
    for arm in arms:
        for batch in batches[: settings.num_warmups]:
            arm.encode(views_of(batch))
        arm.start()
    for batch in batches:
        pages = views_of(batch)
        for arm, times in zip(arms, all_times, strict=True):
            finish_device(device)
            start = time.perf_counter()
            arm.encode(pages)
            finish_device(device)
            times.add_batch(time.perf_counter() - start, [request.seconds for request in batch])
    for arm, times in zip(arms, all_times, strict=True):
        times.calls, times.statistics = arm.calls, arm.statistics()
    return all_times


def _outputs(arm: Arm, requests: Sequence[Request], settings: BenchSettings) -> list[torch.Tensor]:
    """Returns the tokens of the first requests, in host memory."""
    compared = requests[: max(_COMPARED // settings.batch_size, 1) * settings.batch_size]
    return [
        tokens.cpu()
        for batch in batches_of(compared, settings.batch_size)
        for tokens in arm.encode(views_of(batch))
    ]


def views_of(batch: Sequence[Request]) -> list[PageViews]:
    """Returns the views of a batch."""
    return [request.views for request in batch]


def batches_of(requests: Sequence[Request], size: int) -> Iterator[Sequence[Request]]:
    """Yields the requests in batches; the last one may be smaller."""
    for start in range(0, len(requests), size):
        yield requests[start : start + size]


def finish_device(device: torch.device) -> None:
    """Waits for the device, so that measured times are of the work and not of its launch."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def machine_of(device: torch.device) -> dict[str, str]:
    """Returns what is measured on: the device and the versions."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        name = f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads"
    return {"device": name, "torch": torch.__version__, "python": platform.python_version()}
