"""Distributed training on several GPUs: `torchrun --standalone --nproc-per-node 4 -m ocr.training.train ...`.

Gradients of all parameters are in one flat buffer, so that one all-reduce a step averages them, and every rank takes
part whatever views it has drawn. The first rank's clock travels in the same buffer: all ranks follow one schedule and
stop at the same step.
"""

import os
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import nn


class Ranks:
    """This process among those that train together; alone if torchrun did not start it."""

    def __init__(self) -> None:
        self.rank, self.world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        self.local = int(os.environ.get("LOCAL_RANK", "0"))
        if self.world > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def device(self, name: str) -> torch.device:
        """Returns this rank's own GPU if `name` is "cuda", and makes it the current one."""
        if name != "cuda":
            return torch.device(name)
        torch.cuda.set_device(self.local)
        return torch.device("cuda", self.local)

    def close(self) -> None:
        if dist.is_initialized():
            dist.destroy_process_group()


class Gradients:
    """The gradients of all parameters as views of one float32 buffer, whose last value is the first rank's clock."""

    def __init__(self, parameters: Iterable[nn.Parameter], ranks: Ranks) -> None:
        kept = [p for p in parameters if p.requires_grad]
        self.ranks = ranks
        self.flat = torch.zeros(sum(p.numel() for p in kept) + 1, device=kept[0].device)
        start = 0
        for p in kept:
            p.grad = self.flat[start : start + p.numel()].view_as(p)
            start += p.numel()

    def zero(self) -> None:
        self.flat.zero_()

    def average(self, clock: float) -> torch.Tensor:
        """Averages over the ranks, in place; returns the first rank's clock, a scalar on the device."""
        if self.ranks.world == 1:
            return torch.tensor(clock)
        self.flat[-1] = clock if self.ranks.is_first else 0.0
        dist.all_reduce(self.flat)
        told = self.flat[-1].clone()
        self.flat.div_(self.ranks.world)
        return told
