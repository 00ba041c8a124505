"""What is under way on the device: numbers that come to the host, and points in time."""

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

NUM_UNDER_WAY = 4  # more than steps are ever under way


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

    def numbers(self) -> npt.NDArray[np.float32]:
        """Waits for them. Of a Landing they are there until it was used for a few more."""
        if self.event is not None:
            self.event.synchronize()
        numbers: npt.NDArray[np.float32] = self.host.numpy()
        return numbers

    def rows(self) -> list[list[float]]:
        """Waits for them."""
        rows: list[list[float]] = self.numbers().tolist()
        return rows


class Landing:
    """Memory of the host that steps' numbers come to, used in turn: to pin some for each step takes long.

    most: rows of two numbers that a step has.
    """

    def __init__(self, most: int, device: torch.device) -> None:
        on_cuda = device.type == "cuda"
        self._places = deque(
            Pending(
                torch.zeros(most, 2, pin_memory=on_cuda),
                torch.cuda.Event() if on_cuda else None,  # type: ignore[no-untyped-call]
            )
            for _ in range(NUM_UNDER_WAY)
        )

    def bring(self, values: Tensor) -> Pending:
        """As Pending.of(). Numbers of NUM_UNDER_WAY calls before must have been looked at, or be wanted no more."""
        place = self._places[0]
        self._places.rotate(-1)
        host = place.host[: len(values)]
        host.copy_(values, non_blocking=True)
        if place.event is not None:
            place.event.record()
        return Pending(host, place.event)


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
