"""Memory that workers share with the run: rendered pages come without a copy through a pipe.

A page's views are 10 MB. Through the pipe of a process pool they cost the run 14 ms of its interpreter's time, during
which its other threads, the decoder's above all, wait for their turn. Here a worker writes them into memory of the
run's that has no name in any file system, and is gone when the last process that holds it is, however that ended.
Torch-free.
"""

import contextlib
import itertools
import mmap
import os
import pickle
import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

_ALIGNMENT_BYTES = 64
# Addresses that are set aside; memory is used only for what is written. A value for which there is no slot is piped.
_MOST_BYTES, _MOST_SLOTS = 64 << 30, 1024


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in an arena. path: how another process opens it. offset, num_bytes: of the place."""

    path: str
    offset: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Shared:
    """A value of which some arrays stay where they are, for another process to look at.

    data: its pickle without its arrays. parts: of each array the bytes, or where in the memory at path they lie
    (offset, length). What is there counts only as long as the process that sent it keeps the value.
    """

    path: str
    data: bytes
    parts: tuple[bytearray | tuple[int, int], ...]

    def open(self) -> Any:
        """The value. Raises: OSError where the memory cannot be opened."""
        there = [part for part in self.parts if isinstance(part, tuple)]
        if not there:
            return pickle.loads(self.data, buffers=self.parts)
        start = min(offset for offset, _ in there) // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        end = max(offset + length for offset, length in there)
        with open(self.path, "rb", buffering=0) as file:
            # A copy on writing: nobody writes, but PyTorch complains of what cannot be written to.
            memory = memoryview(mmap.mmap(file.fileno(), end - start, offset=start, access=mmap.ACCESS_COPY))
        buffers = (
            memory[part[0] - start : part[0] - start + part[1]] if isinstance(part, tuple) else part
            for part in self.parts
        )
        return pickle.loads(self.data, buffers=buffers)


@dataclass(frozen=True, slots=True)
class Packed:
    """A value whose arrays lie in a slot. data: its pickle without them. spans: where they are, start and end."""

    data: bytes
    spans: tuple[tuple[int, int], ...]


class Arena:
    """Slots of equal size. slot_bytes: what a value's arrays may take. For any thread."""

    def __init__(self, slot_bytes: int) -> None:
        """Raises: OSError; AttributeError where Python has no memfd_create."""
        self._slot_bytes = -(-slot_bytes // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._num_slots = max(1, min(_MOST_SLOTS, _MOST_BYTES // self._slot_bytes))
        self._file = os.memfd_create("ocrbatch-pages", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self._file, self._num_slots * self._slot_bytes)
            # One for all slots: each mapping would hold a descriptor of its own.
            self._memory = mmap.mmap(self._file, self._num_slots * self._slot_bytes)
        except BaseException:
            os.close(self._file)
            raise
        self._path = f"/proc/{os.getpid()}/fd/{self._file}"
        self._fresh = itertools.count()
        self._free: deque[int] = deque()

    @classmethod
    def where_possible(cls, slot_bytes: int) -> "Arena | None":
        """None where the system has no such memory: values then go through the pipe."""
        with contextlib.suppress(OSError, AttributeError, ValueError):
            return cls(slot_bytes)
        return None

    def lend(self) -> Slot | None:
        """A slot that nobody uses, None where there is none.

        One that is not unpacked, because its worker died or was ended, is not lent again: it may still be written to.
        """
        try:
            index = self._free.popleft()
        except IndexError:
            index = next(self._fresh)
        if index >= self._num_slots:
            return None
        return Slot(self._path, index * self._slot_bytes, self._slot_bytes)

    def unpack(self, slot: Slot, value: Any) -> Any:
        """What a worker packed into a slot. The slot is free again when the last of its arrays is gone."""
        index = slot.offset // self._slot_bytes
        if not isinstance(value, Packed):
            self._free.append(index)
            return value
        length = max((end for _, end in value.spans), default=0)
        used = np.frombuffer(self._memory, dtype=np.uint8, count=length, offset=slot.offset)
        weakref.finalize(used, self._give_back, index).atexit = False
        whole = used.data
        return pickle.loads(value.data, buffers=[whole[start:end] for start, end in value.spans])

    def share(self, value: Any) -> Shared:
        """A value for another process, without a copy of those of its arrays that came from here."""
        base = np.frombuffer(self._memory, dtype=np.uint8).ctypes.data
        return share(value, self._path, base, self._num_slots * self._slot_bytes)

    def close(self) -> None:
        """No other process can open it any more; arrays that are in use stay. Closing twice is harmless."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _give_back(self, index: int) -> None:
        """Gives the memory back to the system. It may run in any thread, at any moment."""
        self._memory.madvise(mmap.MADV_REMOVE, index * self._slot_bytes, self._slot_bytes)
        self._free.append(index)


def share(value: Any, path: str = "", base: int = 0, num_bytes: int = 0) -> Shared:
    """A value for another process. base, num_bytes: the addresses of the memory that can be opened at path."""
    parts: list[bytearray | tuple[int, int]] = []

    def take(buffer: pickle.PickleBuffer) -> None:
        raw = buffer.raw()
        offset = np.frombuffer(raw, dtype=np.uint8).ctypes.data - base if raw.nbytes else -1
        lies_there = 0 <= offset <= num_bytes - raw.nbytes
        # An array of constant bytes could not be written to, of which PyTorch complains.
        parts.append((offset, raw.nbytes) if lies_there else bytearray(raw))

    return Shared(path, pickle.dumps(value, protocol=5, buffer_callback=take), tuple(parts))


def pack(value: Any, slot: Slot | None) -> Any:
    """In a worker: puts the arrays of a value into the slot, or returns it as it is where that cannot be."""
    if slot is None:
        return value
    buffers: list[memoryview] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=lambda buffer: buffers.append(buffer.raw()))
    spans, end = [], 0
    for buffer in buffers:
        start = -(-end // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        end = start + buffer.nbytes
        spans.append((start, end))
    if not 0 < end <= slot.num_bytes:
        return value
    try:
        with open(slot.path, "r+b", buffering=0) as file:
            memory = mmap.mmap(file.fileno(), end, offset=slot.offset)
    except (OSError, ValueError):  # another user's, or hidden
        return value
    with memory:
        for (start, stop), buffer in zip(spans, buffers, strict=True):
            memory[start:stop] = buffer
    return Packed(data, tuple(spans))
