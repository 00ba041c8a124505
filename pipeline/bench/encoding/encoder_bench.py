"""Implements `ocrbatch bench encoder`: times the encoder's arms, each warmed up, in one process."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, combinations, product
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from encoders.attention.switch import SEQUENCES, one_backend
from encoders.graphs.axis_graphs import user_budgets
from encoders.graphs.capturing.capture import Capture
from encoders.graphs.errors import GraphSettingsError
from encoders.graphs.ranks import Rank
from encoders.graphs.settings import GraphSettings
from encoders.square_views import SquareViewPath
from encoders.views import PageViews
from ocr.families.family import NumberFormat
from pipeline.bench.bench_figures import Figures, known
from pipeline.bench.encoding.batch_sizes import batch_sizes, fitted_budgets
from pipeline.bench.encoding.encoder_arms import ARMS, Arm, build
from pipeline.bench.encoding.latency_table import ArmTimes, comparison, paths, table
from pipeline.bench.encoding.requests import EncoderRequest, grouped, page_requests, random_requests, serve
from pipeline.bench.encoding.subjects import EncoderSubject, load_encoder
from pipeline.bench.machine import describe, machine_line
from pipeline.device.startup.loading import choose_device, choose_dtype, rank_devices
from pipeline.device.threads.streams import quick_turns
from pipeline.errors import ConfigError

# Requests that are encoded at once, with their views pooled.
Batch = Sequence[EncoderRequest]
# Of so many requests the arms' tokens are compared, at least one batch: a page's take up to 33 MB.
_COMPARED = 32
# The most graphs of a path whose sizes are fitted to the requests.
_FITTED = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings:
    """The settings of `ocrbatch bench encoder`. pages: a folder; None draws random images from the buckets.

    batch_size: requests that are encoded at once, with their views pooled; they share the time equally.
    max_items, max_frames: most views, or frames of videos, in a batch. budgets: of the graphs; "auto" chooses from the
    requests by measured latencies, "fitted" the sizes that pad the requests' own batches least. frames: of a video, in
    place of an image; 0 for images. memory_limit: bytes for graphs and their buffers, None for no limit; of each rank.
    ranks: devices that each of our arms is measured on as well, shared out as in a run; on the CPU threads.
    items_per_request: least and most images, videos or pages of a request. request_rate: requests a second, on
    average; None for one batch after the other. attention: see encoders.attention.switch.one_backend; of our arms.
    """

    model: str = "random"
    device: str = "cpu"
    dtype: NumberFormat = "float32"
    arms: tuple[str, ...] = ARMS
    num_prompts: int = 32
    num_warmups: int = 3
    seed: int = 0
    max_tiles: int = 6
    batch_size: int = 1
    max_items: int = 32
    max_frames: int = 64
    budgets: Literal["default", "auto", "fitted"] | dict[str, list[int]] = "default"
    buckets: dict[tuple[int, int], float]
    pages: str | None = None
    frames: int = 0
    memory_limit: int | None = None
    ranks: int = 1
    items_per_request: tuple[int, int] = (1, 1)
    request_rate: float | None = None
    percentiles: tuple[float, ...] = (99.0,)
    attention: str | None = None


def run(*, device: str, dtype: str, arms: str, **options: Any) -> Figures:
    """Measures what the options of `ocrbatch bench encoder` say, on the device that a run would choose.

    Raises: CheckpointError, ConfigError.
    """
    if device == "auto" and options.get("ranks", 1) > 1:
        device = "cuda"  # refused where there is none
    chosen, names = choose_device(device), known("--arms", arms, ARMS)
    values = bench(BenchSettings(device=chosen, dtype=choose_dtype(dtype, chosen), arms=names, **options))
    return Figures(values=values, lines=tuple(_lines(values)))


@torch.inference_mode()
def bench(
    settings: BenchSettings, subject: EncoderSubject | None = None, capture: Capture | None = None
) -> dict[str, Any]:
    """Measures every arm that the model has on the same requests; returns all figures as JSON values.

    parity: the largest relative difference of each arm's tokens from those of each arm before it. grids: (columns,
    rows) of the tiles of each item. missing_arms: those that the model lacks, with the reason. speed_up: of each
    shared arm, by the median batch, next to the same arm on one device. subject: the model, where it is loaded already.
    capture: of graphs; by default the device's. Raises: CheckpointError, ConfigError.
    """
    device = torch.device(settings.device)
    if subject is None:
        subject = load_encoder(settings.model, device, settings.dtype)
    missing = {name: why for name, why in subject.missing().items() if name in settings.arms}
    chosen = [name for name in settings.arms if name not in missing]
    if not chosen:
        raise ConfigError(f"--arms {','.join(settings.arms)}: {'; '.join(missing.values())}; add eager")
    requests = requests_for(settings, subject)
    size = settings.batch_size
    batches = [requests[start : start + size] for start in range(0, len(requests), size)]
    own = [[request.prepared(subject.encoder) for request in batch] for batch in batches]
    graphs = graph_settings_for(settings, subject, own)
    if settings.attention is not None:
        try_attention(settings, subject, own[0][:1])
    # Ours take turns, batch by batch, so that drifting clocks slow each alike; transformers' classes are there alone,
    # as they take the memory.
    ours = [name for name in chosen if name != "reference"]
    shared = further_ranks(settings, subject)
    groups: list[list[tuple[str, Sequence[Rank]]]] = [[("reference", ())]] if "reference" in chosen else []
    groups.append([(name, others) for others in ([(), shared] if shared else [()]) for name in ours])
    measured: list[dict[str, Any]] = []
    outputs: dict[str, list[Tensor]] = {}
    with quick_turns(device):  # as in a run
        for group in groups:  # the memory of one is free before the next one is built
            arms = [build(name, subject, graphs, capture, others) for name, others in group]
            is_reference = group[0][0] == "reference"
            taken = batches if is_reference else own
            with one_backend(None if is_reference else settings.attention):  # making an arm changes it
                measured += _measured(arms, taken, settings, device)
                for arm in arms:
                    compared = map(_views, taken[: max(_COMPARED // size, 1)])
                    outputs[arm.name] = [tokens.cpu() for pages in compared for tokens in arm.encode(pages)]
                    arm.close()
            del arms, arm
    page_ms = {arm["arm"]: arm["page_ms"] for arm in measured}
    return {
        "settings": asdict(settings) | {"buckets": str(settings.buckets)},
        "machine": describe(device),
        "parity": {
            f"{later} to {earlier}": largest_error(outputs[later], outputs[earlier])
            for earlier, later in combinations(outputs, 2)
        },
        "grids": [list(item.grid) for request in requests for item in request.items],
        "arms": measured,
        "missing_arms": missing,
        "speed_up": {
            arm: page_ms[name] / milliseconds
            for arm, milliseconds in page_ms.items()
            for name in ours
            if arm.startswith(f"{name}, ")
        },
    }


def try_attention(settings: BenchSettings, subject: EncoderSubject, requests: Batch) -> None:
    """Encodes requests through the attention that was asked for. Raises: ConfigError where it does not run."""
    key = f"--attention {settings.attention}"
    paths = subject.encoder.paths
    if settings.attention == SEQUENCES and (not paths or isinstance(paths[0], SquareViewPath)):
        raise ConfigError(f"{key}: this model's encoder attends within no sequences; leave it out")
    arm = build("eager", subject, GraphSettings())
    try:
        with one_backend(settings.attention):
            arm.encode(_views(requests))
    except (RuntimeError, ImportError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"{key}: PyTorch {torch.__version__} does not run it for this model in {settings.dtype} on "
            f"{settings.device}; choose another, or leave it out: {reason}"
        ) from error
    finally:
        arm.close()


def further_ranks(settings: BenchSettings, subject: EncoderSubject) -> list[Rank]:
    """Returns the devices besides the first that --ranks asks for. Raises: ConfigError where they cannot be had."""
    key, encoder = f"--ranks {settings.ranks}", subject.encoder
    if settings.ranks == 1:
        return []
    if not encoder.paths:
        raise ConfigError(f"{key}: this model's encoder takes whole pages, one by one; leave it out")
    if settings.budgets in ("auto", "fitted"):
        raise ConfigError(
            f"{key}: --budgets {settings.budgets} looks at whole batches; give lists or leave it out"
        )
    devices = [encoder.device] * settings.ranks
    if encoder.device.type == "cuda":
        devices = rank_devices(encoder.device, settings.ranks)
    if len(devices) < settings.ranks:
        raise ConfigError(
            f"{key}: each takes a GPU of its own, and this machine has {len(devices)}; ask for at most that many, "
            "or for --device cpu to try it without"
        )
    return [encoder.rank_on(device) for device in devices[1:]]


def _lines(values: Mapping[str, Any]) -> Iterator[str]:
    """Yields the report's lines: a table for every arm, then the arms side by side, their graphs and differences."""
    arms = values["arms"]
    yield machine_line(values["machine"])
    if backend := values["settings"]["attention"]:
        yield f"Attention of our arms: {backend}"
    for arm in arms:
        yield from table(arm)
        yield ""
    yield from comparison(arms)
    yield from paths(arms)
    for pair, difference in values["parity"].items():
        yield f"Parity, {pair}: largest relative difference {difference:.1e}"
    for name, why in values["missing_arms"].items():
        yield f"No arm {name}: {why}"
    for name, speed_up in values["speed_up"].items():
        yield f"{name}: {speed_up:.2f} times as fast as one"


def graph_settings_for(
    settings: BenchSettings, subject: EncoderSubject, batches: Sequence[Batch]
) -> GraphSettings:
    """Returns the graphs' settings; "fitted" sizes are those of these batches. Raises: ConfigError."""
    graphs = GraphSettings(
        max_items=settings.max_items, max_frames=settings.max_frames, memory_limit=settings.memory_limit
    )
    if settings.budgets == "fitted":
        seen = batch_sizes(subject.encoder, list(map(_views, batches)), graphs)
        return replace(graphs, budgets=fitted_budgets(subject.encoder, seen, _FITTED))
    if settings.budgets != "default":
        graphs = replace(graphs, budgets=settings.budgets)
    try:
        user_budgets(subject.encoder.paths, graphs)
    except GraphSettingsError as error:
        raise ConfigError(f"--budgets: {error}") from error
    return graphs


def requests_for(settings: BenchSettings, subject: EncoderSubject) -> list[EncoderRequest]:
    """Returns the requests to measure, the same for equal settings. Raises: ConfigError."""
    least, most = sorted(settings.items_per_request)
    counts = (
        np.random.default_rng([settings.seed, 1]).integers(least, most + 1, settings.num_prompts).tolist()
    )
    count, tiles = sum(counts), settings.max_tiles
    if settings.pages is not None:
        if settings.frames:
            raise ConfigError("--frames and --pages exclude each other: pages are no videos")
        return grouped(page_requests(settings.pages, count, tiles, subject.view_maker), counts)
    if settings.frames and subject.video_maker is None:
        raise ConfigError(f"--frames {settings.frames}: {settings.model} takes no videos; leave it out")
    maker = subject.video_maker if settings.frames else subject.view_maker
    singles = random_requests(settings.buckets, count, settings.seed, tiles, maker, settings.frames)
    return grouped(singles, counts)


def _measured(
    arms: Sequence[Arm], batches: Sequence[Batch], settings: BenchSettings, device: torch.device
) -> list[dict[str, Any]]:
    """Returns the figures of arms, of each batch one after the other, once they are prepared and warm.

    With a request rate batches are those that each arm makes of what has arrived. Raises: ConfigError for graphs that
    the memory limit has no room for.
    """
    all_times = [ArmTimes(name=arm.name, percentiles=settings.percentiles) for arm in arms]
    requests, rate = [*chain.from_iterable(batches)], settings.request_rate
    for arm in arms:
        try:
            arm.prepare(list(map(_views, batches)))
        except GraphSettingsError as error:
            raise ConfigError(f"--memory-limit and --budgets: {error}") from error
        for batch in batches[: settings.num_warmups]:
            arm.encode(_views(batch))
        for num in range(1, settings.batch_size if rate and settings.num_warmups else 1):
            arm.encode(_views(requests[:num]))
        arm.start()
    pairs = [*zip(arms, all_times, strict=True)]
    if rate is None:
        for batch, (arm, times) in product(batches, pairs):
            times.add_batch(_seconds(arm, device, batch), batch)
    else:
        random = np.random.default_rng([settings.seed, 2])  # a Poisson process
        arrived = random.exponential(1 / rate, len(requests)).cumsum().tolist()
        for arm, times in pairs:
            encode = partial(_seconds, arm, device, requests)
            for some, seconds, waits in serve(arrived, settings.batch_size, encode):
                times.add_batch(seconds, requests[some], waits)
    return [times.values(arm.calls, arm.statistics()) for arm, times in pairs]


def _seconds(arm: Arm, device: torch.device, requests: Batch, some: slice = slice(None)) -> float:
    """Returns how long an arm takes for some requests."""
    pages = _views(requests[some])
    _finish(device)
    start = time.perf_counter()
    arm.encode(pages)
    _finish(device)
    return time.perf_counter() - start


def _views(batch: Batch) -> list[PageViews]:
    return [item for request in batch for item in request.items]


def largest_error(found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    """Returns the largest difference of a page's tokens from those expected, relative to these (L2)."""
    pairs = zip(found, expected, strict=True)
    return max(float((mine.float() - its.float()).norm() / its.float().norm()) for mine, its in pairs)


def _finish(device: torch.device) -> None:
    """Waits for the device, so that measured times are of the work and not of its launch."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
