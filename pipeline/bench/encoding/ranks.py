"""Measures an encoder that ranks share, each a process with a GPU of its own, beside one of them alone.

They share the pages of a batch, as workers of a run share its pages.
"""

import hashlib
import math
import multiprocessing
import tempfile
from collections.abc import Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from pebble import ProcessPool
from torch import Tensor

from encoders.graphs.settings import GraphSettings
from encoders.views import PageViews
from ocr.model_files.locate import find_directory
from pipeline.bench.bench_figures import Figures
from pipeline.bench.encoding.encoder_arms import Arm, ManagedArm, build
from pipeline.bench.encoding.encoder_bench import (
    BenchSettings,
    compared,
    graph_settings_for,
    reported,
    requests_for,
    settings_of,
)
from pipeline.bench.encoding.published_sizes import published_size
from pipeline.bench.encoding.subjects import EncoderSubject, load_encoder
from pipeline.device.startup.loading import available_cpus
from pipeline.errors import ConfigError

# For the slowest rank to load its model, and for what the first one encodes alone.
_WAIT = timedelta(minutes=30)


class SharedArm(ManagedArm):
    """Our encoder, its work spread over the ranks of a process group: all have one of the same weights.

    It is a member of the group from prepare() to close(). store: where the ranks meet. Every rank is given the same
    pages, and has the tokens of all of them. shares: the first batch's pages on each rank.
    """

    def __init__(
        self, subject: EncoderSubject, settings: GraphSettings, rank: int, ranks: int, store: str
    ) -> None:
        super().__init__(subject, settings)
        self.name = f"{self.name}, {ranks} ranks"
        self.shares: Sequence[int] = ()
        self._rank, self._ranks, self._store = rank, ranks, store

    def prepare(self, batches: Sequence[Sequence[PageViews]]) -> None:
        super().prepare(batches)  # before NCCL starts threads, as it captures
        backend = "nccl" if self._encoder.device.type == "cuda" else "gloo"
        dist.init_process_group(backend, self._store, rank=self._rank, world_size=self._ranks, timeout=_WAIT)

    def close(self) -> None:
        dist.destroy_process_group()
        super().close()

    def meet(self) -> None:
        dist.barrier()

    def encode(self, pages: Sequence[PageViews]) -> list[Tensor]:
        shares = assign([page.num_bytes for page in pages], self._ranks)
        self.shares = self.shares or [len(share) for share in shares]
        mine = [pages[index] for index in shares[self._rank]]
        return gather(super().encode(mine) if mine else [], shares, self._encoder.device)


def assign(sizes: Sequence[int], ranks: int) -> list[list[int]]:
    """Returns the indices of each rank's pages, ascending: the largest first, to the rank with the least so far.

    With fewer pages than ranks some ranks get none.
    """
    loads = [0] * ranks
    shares: list[list[int]] = [[] for _ in range(ranks)]
    for index in sorted(range(len(sizes)), key=lambda index: (-sizes[index], index)):
        rank = min(range(ranks), key=lambda rank: (loads[rank], len(shares[rank]), rank))
        loads[rank] += sizes[index]
        shares[rank].append(index)
    return [sorted(share) for share in shares]


def gather(mine: Sequence[Tensor], shares: Sequence[Sequence[int]], device: torch.device) -> list[Tensor]:
    """Returns the tokens of all ranks' pages, in the order of the pages; every rank must call it, even without any.

    mine: this rank's, [T, D] each, in the order of its share. Sent as bytes: not every backend knows every dtype.
    device: for the results, one that the group's backend can send from.
    """
    layouts: list[Any] = [None] * len(shares)
    dist.all_gather_object(layouts, [(tokens.dtype, tokens.shape) for tokens in mine])
    lengths = [[dtype.itemsize * math.prod(shape) for dtype, shape in layout] for layout in layouts]
    sent = torch.zeros(max(map(sum, lengths)), dtype=torch.uint8, device=device)
    if mine:
        own = torch.cat([tokens.contiguous().view(-1).view(torch.uint8) for tokens in mine])
        sent[: len(own)] = own
    received = [torch.empty_like(sent) for _ in layouts]
    dist.all_gather(received, sent)
    found: dict[int, Tensor] = {}
    for share, layout, sizes, held in zip(shares, layouts, lengths, received, strict=True):
        parts = torch.split(held[: sum(sizes)], sizes)
        for index, part, (dtype, shape) in zip(share, parts, layout, strict=True):
            # Each in memory of its own, as it must lie on a multiple of its numbers' size.
            found[index] = part.clone().view(dtype).view(shape)
    return [found[index] for index in range(len(found))]


def run(*, ranks: int, device: str, **options: Any) -> Figures:
    """Measures with the options of `ocrbatch bench encoder`; on a CPU only where that is asked for.

    Raises: CheckpointError, ConfigError.
    """
    settings = settings_of(device=device, **options)
    if device == "auto":
        settings = replace(settings, device="cuda")  # refused where there is none
    return reported(bench_ranks(settings, ranks))


def bench_ranks(settings: BenchSettings, ranks: int) -> dict[str, Any]:
    """Measures on so many GPUs of this machine, or processes on the CPU; returns the figures of encoder_bench.bench.

    ranks: their number; shares: the first batch's pages on each; num_pages, num_same_bits: pages that were
    compared, and those equal bit for bit to one rank's; is_same_everywhere: whether all ranks gathered the same bits;
    speed_up: by the median batch, whose time is until the slowest rank's tokens have come; efficiency: of a rank.
    Raises: CheckpointError, ConfigError.
    """
    refuse(settings, ranks)
    context = multiprocessing.get_context("spawn")
    pools = [ProcessPool(max_workers=1, context=context) for _ in range(ranks)]
    try:
        with tempfile.TemporaryDirectory(prefix="ocrbatch-ranks-") as folder:
            futures = [
                pool.schedule(_on_rank, args=(rank, settings, ranks, folder))
                for rank, pool in enumerate(pools)
            ]
            for future in as_completed(futures):
                future.result()  # what one rank refuses ends all of them
            (values, _), *_ = found = [future.result() for future in futures]
    finally:
        for pool in pools:
            pool.stop()
            pool.join()
    values["ranks"]["is_same_everywhere"] = len({digest for _, digest in found}) == 1
    return dict(values)


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


def _on_rank(rank: int, settings: BenchSettings, ranks: int, folder: str) -> tuple[dict[str, Any], str]:
    device = torch.device(settings.device)
    if device.type == "cuda":
        device = torch.device("cuda", rank)
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(max(1, available_cpus() // ranks))
    subject = load_encoder(settings.model, device, settings.dtype)
    return measured(settings, subject, device, rank, ranks, f"file://{folder}/store")


@torch.inference_mode()
def measured(
    settings: BenchSettings, subject: EncoderSubject, device: torch.device, rank: int, ranks: int, store: str
) -> tuple[dict[str, Any], str]:
    """Measures one rank's part; returns its figures, of which only the first rank's are whole, and its tokens' hash."""
    requests = requests_for(settings, subject)
    name = "graph" if "graph" in settings.arms and subject.encoder.paths else "eager"
    alone = build(name, subject, graph_settings_for(settings, subject, requests))
    assert isinstance(alone, ManagedArm), "an arm of our own"
    shared = SharedArm(subject, alone.settings, rank, ranks, store)
    # The other ranks wait while the first one encodes alone.
    arms: list[Arm] = [alone, shared] if rank == 0 else [shared]
    values, outputs = compared([arms], settings, device, requests)
    digest = hashlib.sha256()
    for page in outputs[shared.name]:
        digest.update(page.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    pairs = list(zip(outputs[shared.name], outputs[arms[0].name], strict=True))
    speed_up = values["arms"][0]["page_ms"] / values["arms"][-1]["page_ms"]
    of_ranks = {
        "ranks": ranks,
        "shares": shared.shares,
        "num_pages": len(pairs),
        "num_same_bits": sum(torch.equal(ours, own) for ours, own in pairs),
        "speed_up": speed_up,
        "efficiency": speed_up / ranks,
    }
    return values | {"missing_arms": {}, "ranks": of_ranks}, digest.hexdigest()
