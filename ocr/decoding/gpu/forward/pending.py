"""Tracks work in flight on the device: results on their way to the host, and points in time."""

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

NUM_IN_FLIGHT = 4  # more steps than are ever in flight


@dataclass(slots=True)
class Pending:
    """Results on their way to the host."""

    host: Tensor
    event: Any = None

    @classmethod
    def of(cls, values: Tensor) -> "Pending":
        """Starts copying values to the host, where the device's next results do not overwrite them."""
        if values.device.type == "cpu":
            return cls(values.clone())
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        return cls(host, event)

    def numbers(self) -> npt.NDArray[np.float32]:
        """Waits for the results and returns them.

        Those of a Landing are valid until it has been used a few more times.
        """
        if self.event is not None:
            self.event.synchronize()
        numbers: npt.NDArray[np.float32] = self.host.numpy()
        return numbers

    def rows(self) -> list[list[float]]:
        """Waits for the results and returns them as lists."""
        rows: list[list[float]] = self.numbers().tolist()
        return rows


class Landing:
    """Host buffers that receive steps' results, used in turn, as pinning memory for each step takes long.

    most: the most rows of two numbers that a step has.
    """

    def __init__(self, most: int, device: torch.device) -> None:
        on_cuda = device.type == "cuda"
        self._places = deque(
            Pending(
                torch.zeros(most, 2, pin_memory=on_cuda),
                torch.cuda.Event() if on_cuda else None,  # type: ignore[no-untyped-call]
            )
            for _ in range(NUM_IN_FLIGHT)
        )

    def bring(self, values: Tensor) -> Pending:
        """Starts copying values to the next buffer; results of NUM_IN_FLIGHT calls before must no longer be needed."""
        place = self._places[0]
        self._places.rotate(-1)
        host = place.host[: len(values)]
        host.copy_(values, non_blocking=True)
        if place.event is not None:
            place.event.record()
        return Pending(host, place.event)


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the device's work. at: seconds of the host's clock, where the device is the CPU."""

    event: Any
    at: float

    @classmethod
    def now(cls, device: torch.device) -> "Moment":
        """Returns the point after all work launched so far."""
        if device.type == "cpu":
            return cls(None, time.perf_counter())
        event: Any = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return cls(event, 0.0)

    def seconds_to(self, later: "Moment") -> float:
        """Returns the seconds between two points, both of which must have passed."""
        if self.event is None:
            return later.at - self.at
        return float(self.event.elapsed_time(later.event)) / 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefilled:
    """Results of a prefill.

    logits_NV: of each prompt's first token. pending: those tokens and their log probabilities.
    """

    logits_NV: Tensor
    pending: Pending
    began: Moment
    ended: Moment

    def seconds(self) -> float:
        """Returns the seconds that the prefill took; only after pending.rows()."""
        return self.began.seconds_to(self.ended)
