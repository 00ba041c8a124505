"""The line reader's networks as processes that read lines use them: another process runs them, on the GPU.

Images and outputs lie in memory that both have open, so that only a few numbers go through a socket. Torch-free.
"""

import contextlib
import functools
import json
import math
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ocr.line_reader.found_lines import Floats, Shades
from ocr.line_reader.networks import Frames, OnnxNetworks, ReaderSizes, read_sizes
from ocr.line_reader.stacks import Axis, Outputs, Stack, StackedNetworks, output_kinds

_ALIGNMENT_BYTES = 64
_LEAST_BYTES = 8 << 20


class NotServedError(Exception):
    """The process with the networks is gone, or could not run these images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Images in shared memory. stacks: path, number of images and axis of each."""

    stacks: tuple[tuple[str, int, Axis], ...]

    @classmethod
    def parsed(cls, message: bytes) -> "Request | int":
        """Returns what a process asks for, that many bytes of memory if a number.

        It works on files that nobody vouches for, so nothing it sends is taken for more than numbers and names.
        Raises: ValueError, TypeError for anything else.
        """
        asked = json.loads(message)
        if isinstance(asked, int):
            return asked
        return cls(stacks=tuple((str(path), int(number), (int(h), int(w))) for path, number, (h, w) in asked))

    def message(self) -> bytes:
        return json.dumps(self.stacks).encode()

    def places(self, sizes: ReaderSizes) -> tuple[list[dict[str, tuple[int, tuple[int, ...], type]]], int]:
        """Returns offset, shape and kind of all arrays of each stack, and the bytes that all take."""
        places: list[dict[str, tuple[int, tuple[int, ...], type]]] = []
        end = 0
        for path, number, axis in self.stacks:
            kinds = {"pixels": (axis, np.uint8), "sizes": ((2,), np.int32), **output_kinds(sizes, path, axis)}
            places.append({})
            for name, (shape, kind) in kinds.items():
                places[-1][name] = end, (number, *shape), kind
                used = number * math.prod(shape) * np.dtype(kind).itemsize
                end += -(-used // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        return places, end

    def arrays(self, memory: mmap.mmap | None, sizes: ReaderSizes) -> list[dict[str, npt.NDArray[Any]]]:
        """Returns the arrays of each stack: what is sent, pixels and sizes, and the outputs. They share the memory."""
        return [
            {name: np.ndarray(shape, kind, memory, start) for name, (start, shape, kind) in own.items()}
            for own in self.places(sizes)[0]
        ]


class ServedNetworks(StackedNetworks):
    """The networks of a folder, in the process that listens at an address; in this one once that cannot run them.

    They are the same wherever they run, but for rounding.
    """

    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(*read_sizes(folder))
        self._folder, self._address = folder, address
        self._connection: Connection | None = None
        self._memory: mmap.mmap | None = None

    def cells(self, pages: Sequence[Shades]) -> list[Floats]:
        """Returns [3, h, w] for each page [H, W]; see Networks."""
        with contextlib.suppress(NotServedError):
            return super().cells(pages)
        return self._own.cells(pages)

    def frames(self, images: Sequence[Floats]) -> list[Frames]:
        """Returns what each frame of line images [HEIGHT_PX, W] shows; see Networks."""
        with contextlib.suppress(NotServedError):
            return super().frames(images)
        return self._own.frames(images)

    def run(self, stacks: Sequence[Stack]) -> list[Outputs]:
        """Returns each stack's outputs. Raises: NotServedError."""
        if not stacks:
            return []
        asked = tuple((stack.path, len(stack.pixels), stack.axis) for stack in stacks)
        request = Request(stacks=asked)
        try:
            if self._connection is None:
                self._connection = Client(self._address)
            arrays = request.arrays(self._room(request.places(self.sizes)[1], self._connection), self.sizes)
            for own, stack in zip(arrays, stacks, strict=True):
                own["pixels"][:], own["sizes"][:] = stack.pixels, stack.sizes
            self._connection.send_bytes(request.message())
            refusal = self._connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise NotServedError(str(error)) from error
        if refusal:
            raise NotServedError(refusal.decode())
        return list(arrays)

    def _room(self, num_bytes: int, connection: Connection) -> mmap.mmap:
        """Returns memory of at least so many bytes, which is the other process's: this one may write no files."""
        if self._memory is None or len(self._memory) < num_bytes:
            num_bytes = max(_LEAST_BYTES, 2 * num_bytes)
            connection.send_bytes(json.dumps(num_bytes).encode())
            with open(connection.recv_bytes(), "r+b", buffering=0) as file:
                self._memory = mmap.mmap(file.fileno(), num_bytes)
            connection.send_bytes(b"")
        return self._memory

    @functools.cached_property
    def _own(self) -> OnnxNetworks:
        return OnnxNetworks(self._folder)
