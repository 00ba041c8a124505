"""Streams weights from safetensors files to a GPU without holding them in the process's memory.

Several threads read chunks into page-locked buffers and have each copied to its place in the model while they read
the next. A mapped file would be copied page by page, twice, by one thread that waits for every copy.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import torch
from torch import Tensor

DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
NUM_THREADS = 6
BUFFER_BYTES = 8 << 20
# A thread fills one while the other is copied.
_BUFFERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A tensor in a safetensors file, contiguous: its first byte's offset in the file, and its bytes."""

    file: Path
    dtype: torch.dtype
    offset: int
    num_bytes: int


def stored_tensors(file: Path) -> dict[str, Stored]:
    """Returns a file's tensors of a dtype that only needs copying, by name.

    Safetensors must be able to open the file.
    """
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header: dict[str, Any] = json.loads(opened.read(length))
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in DTYPES:
            begin, end = entry["data_offsets"]
            found[name] = Stored(
                file=file, dtype=DTYPES[entry["dtype"]], offset=8 + length + begin, num_bytes=end - begin
            )
    return found


def send(
    pairs: Iterable[tuple[Stored, Tensor]], device: torch.device, buffer_bytes: int = BUFFER_BYTES
) -> None:
    """Fills each tensor with its stored one, and returns when all are filled.

    pairs: the tensors are contiguous, on the device and as large as their stored ones, of any dtype.
    Raises: OSError where a file cannot be read, EOFError where it is too short.
    """
    jobs: SimpleQueue[tuple[Stored, Tensor]] = SimpleQueue()
    num_bytes = 0
    for pair in sorted(pairs, key=lambda pair: (str(pair[0].file), pair[0].offset)):
        jobs.put(pair)
        num_bytes += pair[0].num_bytes
    buffer_bytes = max(1, min(buffer_bytes, num_bytes))
    num_threads = min(NUM_THREADS, -(-num_bytes // buffer_bytes))
    if not num_threads:
        return
    if device.type == "cuda":
        torch.cuda.current_stream(device).synchronize()  # earlier work may still use the targets' memory
    with ThreadPoolExecutor(num_threads, thread_name_prefix="weights") as threads:
        for done in [threads.submit(_stream, jobs, device, buffer_bytes) for _ in range(num_threads)]:
            done.result()


def _stream(jobs: "SimpleQueue[tuple[Stored, Tensor]]", device: torch.device, buffer_bytes: int) -> None:
    with ExitStack() as stack:
        streamer = stack.enter_context(closing(_Streamer(device, buffer_bytes)))
        stack.enter_context(torch.inference_mode())
        stack.enter_context(nullcontext() if streamer.stream is None else torch.cuda.stream(streamer.stream))
        while True:
            try:
                stored, target = jobs.get_nowait()
            except Empty:
                break
            streamer.fill(stored, target)


class _Streamer:
    """One thread's buffers, open files and stream. stream: None on a CPU."""

    def __init__(self, device: torch.device, buffer_bytes: int) -> None:
        on_cuda = device.type == "cuda"
        self.stream = torch.cuda.Stream(device) if on_cuda else None  # type: ignore[no-untyped-call]
        self._device = device
        self._buffers = [
            torch.empty(buffer_bytes, dtype=torch.uint8, pin_memory=on_cuda) for _ in range(_BUFFERS)
        ]
        self._copied: list[torch.cuda.Event | None] = [None] * _BUFFERS
        self._next = 0
        self._files: dict[Path, int] = {}

    def fill(self, stored: Stored, target: Tensor) -> None:
        """Starts filling a tensor; the copies are complete after close()."""
        same = stored.dtype == target.dtype
        landing = target if same else torch.empty(target.shape, dtype=stored.dtype, device=self._device)
        landing_bytes = landing.view(-1).view(torch.uint8)
        for start, end in _spans(stored.num_bytes, self._buffers[0].numel()):
            buffer = self._free_buffer()[: end - start]
            self._read(stored, start, buffer)
            landing_bytes[start:end].copy_(buffer, non_blocking=True)
            self._mark()
        if not same:
            target.copy_(landing)

    def close(self) -> None:
        """Closes the files and waits for the copies."""
        for file in self._files.values():
            os.close(file)
        if self.stream is not None:
            self.stream.synchronize()

    def _free_buffer(self) -> Tensor:
        copied = self._copied[self._next]
        if copied is not None:
            copied.synchronize()
        return self._buffers[self._next]

    def _mark(self) -> None:
        if self.stream is not None:
            self._copied[self._next] = self.stream.record_event()
        self._next = (self._next + 1) % _BUFFERS

    def _read(self, stored: Stored, start: int, buffer: Tensor) -> None:
        if stored.file not in self._files:
            self._files[stored.file] = os.open(stored.file, os.O_RDONLY)
        room = buffer.numpy().data
        while len(room):
            count = os.preadv(self._files[stored.file], [room], stored.offset + start)
            if not count:
                raise EOFError(f"{stored.file} ends before its tensors do")
            room, start = room[count:], start + count


def _spans(length: int, most: int) -> Iterator[tuple[int, int]]:
    for start in range(0, length, most):
        yield start, min(start + most, length)


def all_stored(files: Sequence[Path]) -> dict[str, Stored]:
    """Returns the stored tensors of several files, by name."""
    return {name: stored for file in files for name, stored in stored_tensors(file).items()}
