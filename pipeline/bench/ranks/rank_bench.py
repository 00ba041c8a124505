"""Measures, on each rank, an encoder that the ranks share, and holds its results against one rank's."""

import hashlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from encoders.views import PageViews
from ocr.model_files.locate import find_directory
from pipeline.bench.encoding.encoder_arms import EagerArm, GraphArm, ManagedArm
from pipeline.bench.encoding.encoder_bench import (
    BenchSettings,
    batches_of,
    finish_device,
    graph_settings_for,
    machine_of,
    requests_for,
    views_of,
)
from pipeline.bench.encoding.encoder_subject import EncoderSubject
from pipeline.bench.encoding.published_sizes import published_size
from pipeline.bench.ranks.shared_encoder import SharedEncoder
from pipeline.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class RankResult:
    """The result of `ocrbatch bench encoder --ranks`. arm: the encoder that was shared, "graph" or "eager".

    machine: what each rank ran on. shares: pieces of the first batch's work on each rank. alone_ms, shared_ms: median
    milliseconds of a batch on the first rank, while the others wait, and on all, which is that of the slowest.
    num_pages, num_same_bits: pages that were compared, and those equal bit for bit to one rank's. largest_error: of a
    page's tokens, relative to one rank's (L2). is_same_everywhere: whether all ranks gathered the same bits.
    """

    ranks: int
    arm: str
    machine: dict[str, str]
    shares: list[int]
    alone_ms: float
    shared_ms: float
    num_pages: int
    num_same_bits: int
    largest_error: float
    is_same_everywhere: bool
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def speed_up(self) -> float:
        """How many times as fast all ranks are as one."""
        return self.alone_ms / self.shared_ms

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON values."""
        return asdict(self) | {"speed_up": self.speed_up, "efficiency": self.speed_up / self.ranks}


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
) -> RankResult:
    """Measures all batches; every rank of the group must call it. Only the first rank's result is whole."""
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
    return RankResult(
        ranks=ranks,
        arm=arm,
        machine=machine_of(device),
        shares=encoder.shares(batches[0], ranks),
        alone_ms=statistics.median(alone or [0.0]) * 1e3,
        shared_ms=statistics.median(shared) * 1e3,
        num_pages=len(pairs),
        num_same_bits=sum(torch.equal(each, expected) for each, expected in pairs),
        largest_error=max((_error(each, expected) for each, expected in pairs), default=0.0),
        is_same_everywhere=len(set(digests)) == 1,
    )


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
