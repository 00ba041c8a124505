"""The streams, events and memory of input copies that staging needs of a device."""

from typing import Protocol

import torch
from torch import Tensor


class Event(Protocol):
    """A point in a stream's work."""

    def synchronize(self) -> None:
        """Makes the host wait until the stream has reached this point."""


class Transfers(Protocol):
    """A copy stream next to the current stream, which computes."""

    def host_memory(self, num_bytes: int) -> Tensor:
        """Returns page-locked uint8 [num_bytes]. Raises RuntimeError if there is none."""

    def device_memory(self, num_bytes: int) -> Tensor:
        """Returns uint8 [num_bytes], which earlier work of the compute stream may still use."""

    def send(self, target: Tensor, source: Tensor) -> Event:
        """Copies from the host on the copy stream, without waiting; returns an event after the copy."""

    def lay(self, target: Tensor, source: Tensor) -> None:
        """Copies within the device on the compute stream."""

    def mark(self) -> Event:
        """Returns an event after all work given to the compute stream so far."""

    def hold_copies(self, event: Event) -> None:
        """Makes later work of the copy stream wait for the event."""

    def hold_compute(self, event: Event) -> None:
        """Makes later work of the compute stream wait for the event."""


class CudaTransfers:
    """A copy stream of one CUDA device. Slot memory belongs to the compute stream, which waits for every copy."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def host_memory(self, num_bytes: int) -> Tensor:
        return torch.empty(num_bytes, dtype=torch.uint8, pin_memory=True)

    def device_memory(self, num_bytes: int) -> Tensor:
        return torch.empty(num_bytes, dtype=torch.uint8, device=self._device)

    def send(self, target: Tensor, source: Tensor) -> Event:
        with torch.cuda.stream(self._stream):
            target.copy_(source, non_blocking=True)
        return self._recorded(self._stream)

    def lay(self, target: Tensor, source: Tensor) -> None:
        target.copy_(source)

    def mark(self) -> Event:
        return self._recorded(torch.cuda.current_stream(self._device))

    def hold_copies(self, event: Event) -> None:
        self._stream.wait_event(_of_cuda(event))

    def hold_compute(self, event: Event) -> None:
        torch.cuda.current_stream(self._device).wait_event(_of_cuda(event))

    def _recorded(self, stream: torch.cuda.Stream) -> Event:
        # Blocking, so that a waiting host leaves its core to others.
        event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        event.record(stream)
        return event


def _of_cuda(event: Event) -> torch.cuda.Event:
    assert isinstance(event, torch.cuda.Event), "an event of other transfers"
    return event
