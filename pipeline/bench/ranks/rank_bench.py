"""Measures, on each rank, an encoder that the ranks share, and holds its results against one rank's."""

import datetime
import hashlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.multiprocessing.spawn import ProcessRaisedException, spawn

from encoders.views import PageViews
from ocr.errors import CheckpointError
from ocr.model_files.locate import find_directory
from pipeline.bench.bench_figures import Figures, told
from pipeline.bench.encoding.encoder_arms import EagerArm, GraphArm, ManagedArm
from pipeline.bench.encoding.encoder_bench import (
    BenchSettings,
    batches_of,
    finish_device,
    graph_settings_for,
    machine_of,
    requests_for,
    settings_of,
    views_of,
)
from pipeline.bench.encoding.encoder_subject import EncoderSubject
from pipeline.bench.encoding.load_encoder import load_encoder
from pipeline.bench.encoding.published_sizes import published_size
from pipeline.bench.ranks.shared_encoder import SharedEncoder
from pipeline.device.startup.loading import available_cpus
from pipeline.errors import ConfigError

# For the slowest rank to load its model, and for what the first one encodes alone.
_WAIT = datetime.timedelta(minutes=30)


def run(*, ranks: int, device: str, **options: Any) -> Figures:
    """Measures with the options of `ocrbatch bench encoder`; on a CPU only where that is asked for.

    Raises: CheckpointError, ConfigError.
    """
    settings = settings_of(device=device, **options)
    if device == "auto" and settings.device == "cpu":
        settings = replace(settings, device="cuda")  # refused, as there is none
    values = bench(settings, ranks)
    return Figures(values=values, lines=tuple(_lines(values)))


def _lines(values: Mapping[str, Any]) -> Iterator[str]:
    """Yields the report's lines: the times, and whether the results are those of one rank."""
    ranks = values["ranks"]
    yield told(values["machine"])
    shares = ", ".join(map(str, values["shares"]))
    yield f"arm {values['arm']}, {ranks} ranks; the first batch's views, slices or pages on each: {shares}"
    yield (
        f"a batch, median: one rank {values['alone_ms']:.2f} ms, {ranks} ranks {values['shared_ms']:.2f} ms: "
        f"{values['speed_up']:.2f} times as fast"
    )
    yield (
        f"{values['num_same_bits']} of {values['num_pages']} pages have the bits of one rank's; the largest relative "
        f"difference of a page is {values['largest_error']:.1e}"
    )
    if not values["is_same_everywhere"]:
        yield "WRONG: the ranks did not gather the same tokens"


def bench(settings: BenchSettings, ranks: int) -> dict[str, Any]:
    """Measures on so many GPUs of this machine, or processes on the CPU: see measure.

    Raises: CheckpointError, ConfigError.
    """
    refuse(settings, ranks)
    with tempfile.TemporaryDirectory(prefix="ocrbatch-ranks-") as folder:
        try:
            spawn(_on_rank, (settings, ranks, folder), nprocs=ranks)  # type: ignore[no-untyped-call]
        except ProcessRaisedException:
            refusal = _refusal(Path(folder))
            if refusal is None:
                raise
            raise refusal from None
        found = json.loads(Path(folder, "result.json").read_text(encoding="utf-8"))
    return {**found, "settings": asdict(settings) | {"buckets": str(settings.buckets)}}


def _on_rank(rank: int, settings: BenchSettings, ranks: int, folder: str) -> None:
    """Measures on one rank; the first one writes the result into the folder, any its refusal."""
    try:
        device = torch.device(settings.device)
        if device.type == "cuda":
            device = torch.device("cuda", rank)
            torch.cuda.set_device(device)
        else:
            torch.set_num_threads(max(1, available_cpus() // ranks))
        subject = load_encoder(settings.model, device, settings.dtype)
        arm, batches = prepared(settings, subject, device)  # before NCCL starts threads, as it captures
    except (CheckpointError, ConfigError) as error:
        part = Path(folder, f"part-{rank}")
        part.write_text(f"{type(error).__name__}\n{error}", encoding="utf-8")
        part.rename(
            Path(folder, f"refusal-{rank}")
        )  # whole, as the other rank's refusal may end this process
        raise
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        f"file://{folder}/store",
        rank=rank,
        world_size=ranks,
        timeout=_WAIT,
    )
    try:
        found = measure(settings, SharedEncoder(subject.encoder, arm), batches, arm.name, device)
        if rank == 0:
            Path(folder, "result.json").write_text(json.dumps(found), encoding="utf-8")
    finally:
        dist.destroy_process_group()
        arm.close()


def _refusal(folder: Path) -> CheckpointError | ConfigError | None:
    """Returns what a rank refused to measure, None if it failed otherwise."""
    for path in sorted(folder.glob("refusal-*")):
        kind, _, message = path.read_text(encoding="utf-8").partition("\n")
        return ConfigError(message) if kind == "ConfigError" else CheckpointError(message)
    return None


@torch.inference_mode()
def prepared(
    settings: BenchSettings, subject: EncoderSubject, device: torch.device
) -> tuple[ManagedArm, list[list[PageViews]]]:
    """Returns the arm to share, its graphs captured, and the batches to encode. Call it before ranks are joined.

    Raises: ConfigError.
    """
    requests = requests_for(settings, subject)
    batches = [views_of(batch) for batch in batches_of(requests, settings.batch_size)]
    graphs = graph_settings_for(settings, subject, requests)
    kind = GraphArm if "graph" in settings.arms and subject.encoder.paths else EagerArm
    arm = kind(subject, graphs)
    arm.prepare(batches)
    finish_device(device)
    return arm, batches


@torch.inference_mode()
def measure(
    settings: BenchSettings,
    encoder: SharedEncoder,
    batches: Sequence[Sequence[PageViews]],
    arm: str,
    device: torch.device,
) -> dict[str, Any]:
    """Measures all batches; every rank of the group must call it. Only the first rank's figures are whole.

    arm: the encoder that was shared, "graph" or "eager". machine: what each rank ran on. shares: pieces of the first
    batch's work on each rank. alone_ms, shared_ms: median milliseconds of a batch on the first rank, while the others
    wait, and on all, which is that of the slowest. num_pages, num_same_bits: pages that were compared, and those equal
    bit for bit to one rank's. largest_error: of a page's tokens, relative to one rank's (L2). is_same_everywhere:
    whether all ranks gathered the same bits.
    """
    ranks, rank = dist.get_world_size(), dist.get_rank()
    for pages in batches[: settings.num_warmups]:
        encoder.alone(pages)
        encoder.shared(pages)
    alone: list[float] = []
    shared: list[float] = []
    own: list[Tensor] = []
    ours: list[Tensor] = []
    for pages in batches:
        if rank == 0:
            seconds, found = _timed(encoder.alone, pages, device)
            alone.append(seconds)
            own += [tokens.cpu() for tokens in found]
        dist.barrier()
        seconds, found = _timed(encoder.shared, pages, device)
        shared.append(max(_from_all(seconds)))
        ours += [tokens.cpu() for tokens in found]
    digests = _from_all(_digest(ours))
    pairs = list(zip(ours, own, strict=False))
    alone_ms, shared_ms = (statistics.median(times or [0.0]) * 1e3 for times in (alone, shared))
    return {
        "ranks": ranks,
        "arm": arm,
        "machine": machine_of(device),
        "shares": encoder.shares(batches[0], ranks),
        "alone_ms": alone_ms,
        "shared_ms": shared_ms,
        "num_pages": len(pairs),
        "num_same_bits": sum(torch.equal(each, expected) for each, expected in pairs),
        "largest_error": max((_error(each, expected) for each, expected in pairs), default=0.0),
        "is_same_everywhere": len(set(digests)) == 1,
        "speed_up": alone_ms / shared_ms,
        "efficiency": alone_ms / shared_ms / ranks,
    }


def refuse(settings: BenchSettings, ranks: int) -> None:
    """Raises: CheckpointError, ConfigError for settings that ranks cannot be measured with, before any is started."""
    if published_size(settings.model) is None:
        find_directory(settings.model)
    if settings.budgets != "default":
        raise ConfigError(
            f"--budgets {settings.budgets}: with --ranks graphs have the default sizes; leave it out"
        )
    if settings.device == "cuda" and (there := torch.cuda.device_count()) < ranks:
        raise ConfigError(
            f"--ranks {ranks}: each takes a GPU of its own, and this machine has {there}; ask for at most that many, "
            "or for --device cpu to try it without"
        )


def _timed(
    encode: Callable[[Sequence[PageViews]], list[Tensor]], pages: Sequence[PageViews], device: torch.device
) -> tuple[float, list[Tensor]]:
    finish_device(device)
    start = time.perf_counter()
    found = encode(pages)
    finish_device(device)
    return time.perf_counter() - start, found


def _from_all(value: Any) -> list[Any]:
    found: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(found, value)
    return found


def _error(ours: Tensor, own: Tensor) -> float:
    return float((ours.double() - own.double()).norm() / own.double().norm())


def _digest(tokens: Sequence[Tensor]) -> str:
    whole = hashlib.sha256()
    for page in tokens:
        whole.update(page.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()
