"""Copies inputs from pageable host memory to the device while the device is busy with the previous batch.

It uses the slots in turn: the host waits until the slot's last copy has left it and writes the inputs into its pinned
memory; the copy stream waits until the slot's device memory was read and copies all inputs at once; the compute
stream waits for that and copies them into the targets, in its own order, so that no running replay is disturbed.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

logger = logging.getLogger(__name__)

# Inputs start in a slot at multiples of this: CUDA's alignment of allocations, and a multiple of every dtype's size.
ALIGNMENT_BYTES = 256


class CudaTransfers:
    """A copy stream of one CUDA device, next to its current stream, which computes.

    Slot memory belongs to the compute stream, which waits for every copy.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def host_memory(self, num_bytes: int) -> Tensor:
        """Returns page-locked uint8 [num_bytes]. Raises RuntimeError if there is none."""
        return torch.empty(num_bytes, dtype=torch.uint8, pin_memory=True)

    def device_memory(self, num_bytes: int) -> Tensor:
        """Returns uint8 [num_bytes], which earlier work of the compute stream may still use."""
        return torch.empty(num_bytes, dtype=torch.uint8, device=self._device)

    def send(self, target: Tensor, source: Tensor) -> torch.cuda.Event:
        """Copies from the host on the copy stream, without waiting; returns an event after the copy."""
        with torch.cuda.stream(self._stream):
            target.copy_(source, non_blocking=True)
        return self._recorded(self._stream)

    def lay(self, target: Tensor, source: Tensor) -> None:
        """Copies within the device on the compute stream."""
        target.copy_(source)

    def mark(self) -> torch.cuda.Event:
        """Returns an event after all work given to the compute stream so far."""
        return self._recorded(torch.cuda.current_stream(self._device))

    def hold_copies(self, event: torch.cuda.Event) -> None:
        """Makes later work of the copy stream wait for the event."""
        self._stream.wait_event(event)

    def hold_compute(self, event: torch.cuda.Event) -> None:
        """Makes later work of the compute stream wait for the event."""
        torch.cuda.current_stream(self._device).wait_event(event)

    def _recorded(self, stream: torch.cuda.Stream) -> torch.cuda.Event:
        # Blocking, so that a waiting host leaves its core to others.
        event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        event.record(stream)
        return event


@dataclass(slots=True, eq=False)
class _Slot:
    """A slot of host and device memory. copied: the last copy out of host.

    read: the last read of device, or its making.
    """

    host: Tensor
    device: Tensor
    copied: torch.cuda.Event | None = None
    read: torch.cuda.Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """One input's place in a slot."""

    start: int
    num_bytes: int
    shape: tuple[int, ...]
    dtype: torch.dtype

    def of(self, memory: Tensor) -> Tensor:
        """Returns the input, as a view of a slot's bytes."""
        return memory[self.start : self.start + self.num_bytes].view(self.dtype).view(self.shape)


class Staging:
    """Staging slots that grow to the largest batch. For one thread and one current stream."""

    def __init__(self, transfers: CudaTransfers, num_slots: int = 2) -> None:
        self._transfers = transfers
        self._num_slots = num_slots
        self._slots: list[_Slot] = []
        self._next = 0
        self._pins = True

    @property
    def num_bytes(self) -> int:
        """Returns the bytes of device memory of all slots; the host holds as much."""
        return sum(slot.device.nbytes for slot in self._slots)

    def write(self, pieces: Mapping[str, Sequence[Tensor]], targets: Mapping[str, Tensor]) -> None:
        """Writes each input's pieces end to end to the front of its target, on the current stream.

        pieces: on the host, they may be changed or freed once this returns. Inputs with pieces on the device are copied
        from there one by one. Raises torch.OutOfMemoryError if the slots cannot grow.
        """
        hosted = {
            name: parts for name, parts in pieces.items() if all(part.device.type == "cpu" for part in parts)
        }
        with torch.inference_mode():
            for name in pieces.keys() - hosted.keys():
                lay(pieces[name], targets[name])
            spans, size = _layout(hosted)
            if size:
                self._send(hosted, spans, size, targets)

    def collate(self, pieces: Mapping[str, Sequence[Tensor]], device: torch.device) -> dict[str, Tensor]:
        """Returns each input's pieces end to end, in new memory on the device."""
        inputs = {
            name: torch.empty((num_rows(parts), *parts[0].shape[1:]), dtype=parts[0].dtype, device=device)
            for name, parts in pieces.items()
        }
        self.write(pieces, inputs)
        return inputs

    def close(self) -> None:
        """Frees the slots once their copies are done; a later write makes new ones."""
        for slot in self._slots:
            if slot.copied is not None:
                slot.copied.synchronize()
        self._slots = []
        self._next = 0

    def _send(
        self,
        pieces: Mapping[str, Sequence[Tensor]],
        spans: Mapping[str, _Span],
        size: int,
        targets: Mapping[str, Tensor],
    ) -> None:
        slot = self._free_slot(size)
        for name, span in spans.items():
            lay(pieces[name], span.of(slot.host))
        if slot.read is not None:
            self._transfers.hold_copies(slot.read)
        slot.copied = self._transfers.send(slot.device[:size], slot.host[:size])
        self._transfers.hold_compute(slot.copied)
        for name, span in spans.items():
            self._transfers.lay(targets[name][: span.shape[0]], span.of(slot.device))
        slot.read = self._transfers.mark()

    def _free_slot(self, size: int) -> _Slot:
        """Returns the next slot, whose host memory holds nothing still to be copied."""
        if not self._slots or any(slot.device.nbytes < size for slot in self._slots):
            self._grow(size)
        slot = self._slots[self._next]
        self._next = (self._next + 1) % len(self._slots)
        if slot.copied is not None:
            slot.copied.synchronize()
        return slot

    def _grow(self, size: int) -> None:
        """Grows all slots at once, so that no later batch of this size waits for memory."""
        self.close()
        slots = [
            _Slot(host=self._host_memory(size), device=self._transfers.device_memory(size))
            for _ in range(self._num_slots)
        ]
        allocated = self._transfers.mark()  # earlier work that used this memory may still run
        for slot in slots:
            slot.read = allocated
        self._slots = slots

    def _host_memory(self, size: int) -> Tensor:
        if self._pins:
            try:
                return self._transfers.host_memory(size)
            except RuntimeError as error:
                self._pins = False
                logger.warning("no pinned memory for input (%s): copies to the device are slower", error)
        return torch.empty(size, dtype=torch.uint8)


def lay(pieces: Sequence[Tensor], target: Tensor) -> None:
    """Copies the pieces end to end to the front of target."""
    used = 0
    for piece in pieces:
        target[used : used + piece.shape[0]].copy_(piece, non_blocking=True)
        used += piece.shape[0]


def num_rows(parts: Sequence[Tensor]) -> int:
    """Returns the rows of all parts together."""
    return sum(part.shape[0] for part in parts)


def _layout(pieces: Mapping[str, Sequence[Tensor]]) -> tuple[dict[str, _Span], int]:
    """Returns each input's place in a slot, and the bytes of all."""
    spans = {}
    end = 0
    for name, parts in pieces.items():
        shape = (num_rows(parts), *parts[0].shape[1:])
        start = -(-end // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        num_bytes = math.prod(shape) * parts[0].dtype.itemsize
        spans[name] = _Span(start=start, num_bytes=num_bytes, shape=shape, dtype=parts[0].dtype)
        end = start + num_bytes
    return spans, end
