"""Two streams that run only when they must, on the CPU: what is not waited for happens as late as can be."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from encoders.graphs.staging import CudaTransfers


@dataclass(slots=True, eq=False)
class Stream:
    """work: what is to be done, in order. done: how much of it was."""

    work: list[Callable[[], None]] = field(default_factory=list)
    waits: dict[int, "Place"] = field(default_factory=dict)
    done: int = 0

    def run(self, until: int) -> None:
        """Runs so much of the work, and of other streams what it waits for."""
        while self.done < until:
            if self.done in self.waits:
                self.waits[self.done].synchronize()
            self.work[self.done]()
            self.done += 1

    def run_freely(self) -> None:
        """Runs this stream as far as it gets without another one."""
        while self.done < len(self.work):
            place = self.waits.get(self.done)
            if place is not None and not place.reached:
                return
            self.run(self.done + 1)


@dataclass(slots=True, eq=False)
class Place:
    """An event: behind the first `after` pieces of a stream's work."""

    stream: Stream
    after: int
    host_waits: int = 0

    @property
    def reached(self) -> bool:
        return self.stream.done >= self.after

    def synchronize(self) -> None:
        self.host_waits += 1
        self.stream.run(self.after)


class LazyTransfers(CudaTransfers):
    """Runs neither stream before it is waited for, or (eager_copies) the copy stream as early as it may.

    no_pinned: page-locked memory is refused. no_room: bytes from which on device memory is refused.
    """

    def __init__(
        self, *, eager_copies: bool = False, no_pinned: bool = False, no_room: int | None = None
    ) -> None:
        self.copies = Stream()
        self.compute = Stream()
        self.sent: list[int] = []
        self.pinned: list[int] = []
        self.no_pinned = no_pinned
        self.no_room = no_room
        self._eager_copies = eager_copies

    def host_memory(self, num_bytes: int) -> Tensor:
        if self.no_pinned:
            raise RuntimeError("no page-locked memory")
        self.pinned.append(num_bytes)
        return torch.full((num_bytes,), 255, dtype=torch.uint8)

    def device_memory(self, num_bytes: int) -> Tensor:
        if self.no_room is not None and num_bytes >= self.no_room:
            raise torch.OutOfMemoryError("no room")
        return torch.full((num_bytes,), 255, dtype=torch.uint8)

    def send(self, target: Tensor, source: Tensor) -> Any:
        self.sent.append(source.nbytes)
        self.copies.work.append(lambda: _copy(target, source))
        return Place(self.copies, len(self.copies.work))

    def lay(self, target: Tensor, source: Tensor) -> None:
        self.compute.work.append(lambda: _copy(target, source))
        if self._eager_copies:
            self.copies.run_freely()

    def mark(self) -> Any:
        return Place(self.compute, len(self.compute.work))

    def hold_copies(self, event: Any) -> None:
        _hold(self.copies, event)

    def hold_compute(self, event: Any) -> None:
        _hold(self.compute, event)

    def finish(self) -> None:
        """Runs all that is left."""
        for stream in (self.compute, self.copies):
            stream.run(len(stream.work))


def _copy(target: Tensor, source: Tensor) -> None:
    with torch.inference_mode():
        target.copy_(source)


def _hold(stream: Stream, place: Place) -> None:
    stream.waits[len(stream.work)] = place
    stream.work.append(lambda: None)
