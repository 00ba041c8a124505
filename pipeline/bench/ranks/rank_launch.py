"""Starts a process for each rank, and returns what the first of them measured."""

import datetime
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import ProcessRaisedException, spawn

from ocr.errors import CheckpointError
from pipeline.bench.encoding.encoder_bench import BenchSettings
from pipeline.bench.encoding.load_encoder import load_encoder
from pipeline.bench.ranks.rank_bench import RankResult, measure, prepared, refuse
from pipeline.bench.ranks.shared_encoder import SharedEncoder
from pipeline.device.startup.loading import available_cpus
from pipeline.errors import ConfigError

# For the slowest rank to load its model, and for what the first one encodes alone.
_WAIT = datetime.timedelta(minutes=30)


def bench(settings: BenchSettings, ranks: int) -> RankResult:
    """Measures on so many GPUs of this machine, or processes on the CPU. Raises: CheckpointError, ConfigError."""
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
    asked = asdict(settings) | {"buckets": str(settings.buckets)}
    return RankResult(**found, settings=asked)


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
            told: dict[str, Any] = asdict(found)
            del told["settings"]
            Path(folder, "result.json").write_text(json.dumps(told), encoding="utf-8")
    finally:
        dist.destroy_process_group()
        arm.close()


def _refusal(folder: Path) -> CheckpointError | ConfigError | None:
    """Returns what a rank refused to measure, None if it failed otherwise."""
    for path in sorted(folder.glob("refusal-*")):
        kind, _, message = path.read_text(encoding="utf-8").partition("\n")
        return ConfigError(message) if kind == "ConfigError" else CheckpointError(message)
    return None
