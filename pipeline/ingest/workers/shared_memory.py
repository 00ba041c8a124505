"""Shares memory between workers and the run, so that rendered pages are not copied through a pipe.

A page's views are 10 MB. Through a process pool's pipe they cost the run 14 ms of its interpreter's time, during which
its other threads, above all the decoder's, wait. Here a worker writes them into the run's memory, which has no name in
any file system and is freed with the last process that has it open, however that ends. Torch-free.
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

from pipeline.ingest.workers import plain_pickle

_ALIGNMENT_BYTES = 64
# Reserved addresses; memory is used only for what is written. A value without a slot goes through the pipe.
_MOST_BYTES, _MOST_SLOTS = 64 << 30, 4096


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in an arena. path: where another process opens the arena. offset, num_bytes: of the place in it."""

    path: str
    offset: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Shared:
    """A value for another process, some of whose arrays stay in shared memory.

    data: its pickle without its arrays. parts: each array's bytes, or their (offset, length) in the memory at path,
    which are valid only as long as the sending process keeps the value.
    """

    path: str
    data: bytes
    parts: tuple[bytearray | tuple[int, int], ...]

    def open(self) -> Any:
        """Returns the value. Raises: OSError where the memory cannot be opened."""
        there = [part for part in self.parts if isinstance(part, tuple)]
        if not there:
            return pickle.loads(self.data, buffers=self.parts)
        start = min(offset for offset, _ in there) // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        end = max(offset + length for offset, length in there)
        with open(self.path, "rb", buffering=0) as file:
            # Mapped copy-on-write: nothing writes to it, but PyTorch warns about arrays that are not writable.
            memory = memoryview(mmap.mmap(file.fileno(), end - start, offset=start, access=mmap.ACCESS_COPY))
        buffers = (
            memory[part[0] - start : part[0] - start + part[1]] if isinstance(part, tuple) else part
            for part in self.parts
        )
        return pickle.loads(self.data, buffers=buffers)


@dataclass(frozen=True, slots=True)
class Packed:
    """A value whose arrays lie in a slot. data: its pickle without them. spans: their (start, end) in the slot."""

    data: bytes
    spans: tuple[tuple[int, int], ...]


class Arena:
    """Shared memory in slots of equal size. slot_bytes: what a value's arrays may take. For any thread."""

    def __init__(self, slot_bytes: int) -> None:
        """Reserves the memory. Raises: OSError; AttributeError where Python has no memfd_create."""
        self._slot_bytes = -(-slot_bytes // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._num_slots = max(1, min(_MOST_SLOTS, _MOST_BYTES // self._slot_bytes))
        self._file = os.memfd_create("ocrbatch-pages", os.MFD_CLOEXEC)
        try:
            os.ftruncate(self._file, self._num_slots * self._slot_bytes)
            # One mapping for all slots: each would hold a descriptor of its own.
            self._memory = mmap.mmap(self._file, self._num_slots * self._slot_bytes)
        except BaseException:
            os.close(self._file)
            raise
        self._path = f"/proc/{os.getpid()}/fd/{self._file}"
        self._fresh = itertools.count()
        self._free: deque[int] = deque()

    @classmethod
    def where_possible(cls, slot_bytes: int) -> "Arena | None":
        """Returns an arena, or None where the system has no such memory: values then go through the pipe."""
        with contextlib.suppress(OSError, AttributeError, ValueError):
            return cls(slot_bytes)
        return None

    def lend(self) -> Slot | None:
        """Returns a free slot, None where there is none.

        A slot that is never unpacked, because its worker died or was killed, is not lent again: it may still be written
        to.
        """
        try:
            index = self._free.popleft()
        except IndexError:
            index = next(self._fresh)
        if index >= self._num_slots:
            return None
        return Slot(self._path, index * self._slot_bytes, self._slot_bytes)

    def unpack(self, slot: Slot, value: Any) -> Any:
        """Returns the value that a worker packed into a slot. The slot is free again once all its arrays are gone."""
        index = slot.offset // self._slot_bytes
        if not isinstance(value, Packed):
            self._free.append(index)
            return value
        length = max((end for _, end in value.spans), default=0)
        used = np.frombuffer(self._memory, dtype=np.uint8, count=length, offset=slot.offset)
        weakref.finalize(used, self._give_back, index).atexit = False
        whole = used.data
        return plain_pickle.loads(value.data, [whole[start:end] for start, end in value.spans])

    def share(self, value: Any) -> Shared:
        """Returns a value prepared for another process, without copying those of its arrays that lie in this arena."""
        base = np.frombuffer(self._memory, dtype=np.uint8).ctypes.data
        return share(value, self._path, base, self._num_slots * self._slot_bytes)

    def close(self) -> None:
        """Closes the arena to other processes; arrays in use stay valid. Closing twice is harmless."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def _give_back(self, index: int) -> None:
        """Returns a slot's memory to the system. May run in any thread, at any moment."""
        self._memory.madvise(mmap.MADV_REMOVE, index * self._slot_bytes, self._slot_bytes)
        self._free.append(index)


def share(value: Any, path: str = "", base: int = 0, num_bytes: int = 0) -> Shared:
    """Returns a value prepared for another process. base, num_bytes: the address range of the memory at path."""
    parts: list[bytearray | tuple[int, int]] = []

    def take(buffer: pickle.PickleBuffer) -> None:
        raw = buffer.raw()
        offset = np.frombuffer(raw, dtype=np.uint8).ctypes.data - base if raw.nbytes else -1
        lies_there = 0 <= offset <= num_bytes - raw.nbytes
        # A bytearray, as PyTorch warns about arrays over constant bytes, which are not writable.
        parts.append((offset, raw.nbytes) if lies_there else bytearray(raw))

    return Shared(path, pickle.dumps(value, protocol=5, buffer_callback=take), tuple(parts))


def pack(value: Any, slot: Slot | None) -> Any:
    """Puts a value's arrays into the slot, in a worker; returns the value as it is where that is not possible."""
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
    except (OSError, ValueError):  # /proc of another user, or hidden
        return value
    with memory:
        for (start, stop), buffer in zip(spans, buffers, strict=True):
            memory[start:stop] = buffer
    return Packed(data, tuple(spans))
