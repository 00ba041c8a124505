"""What is under way on the device: numbers that come to the host, and points in time."""

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(slots=True)
class Pending:
    """Numbers on their way to the host."""

    host: Tensor
    event: Any = None

    @classmethod
    def of(cls, values: Tensor) -> "Pending":
        """On their way where the device's next results do not overwrite them."""
        if values.device.type == "cpu":
            return cls(values.clone())
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        return cls(host, event)

    def rows(self) -> list[list[float]]:
        """Waits for them."""
        if self.event is not None:
            self.event.synchronize()
        rows: list[list[float]] = self.host.tolist()
        return rows


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the device's work. at: seconds of the host's clock, where the device does not run beside it."""

    event: Any
    at: float

    @classmethod
    def now(cls, device: torch.device) -> "Moment":
        if device.type == "cpu":
            return cls(None, time.perf_counter())
        event: Any = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return cls(event, 0.0)

    def seconds_to(self, later: "Moment") -> float:
        """Both must be past."""
        if self.event is None:
            return later.at - self.at
        return float(self.event.elapsed_time(later.event)) / 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefilled:
    """logits_NV: of each prompt's first token. pending: those tokens and their log probabilities."""

    logits_NV: Tensor
    pending: Pending
    began: Moment
    ended: Moment

    def seconds(self) -> float:
        """What it took; after pending.rows()."""
        return self.began.seconds_to(self.ended)
