"""Which files of some folders are opened, by any process and in any way: as the kernel (inotify) says. Linux only."""

import ctypes
import os
import select
import struct
from pathlib import Path
from types import TracebackType

# sys/inotify.h
_IN_OPEN, _IN_NONBLOCK, _IN_ISDIR = 0x20, 0o4000, 0x40000000
_HEADER = struct.Struct("iIII")


class Opened:
    """Watches folders (not what lies in folders below them) from entering the block to its end.

    Python's audit hooks would not do: weights and tokenizers are opened by libraries in other languages.
    """

    def __init__(self, *folders: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._folders = folders
        self.files: set[Path] = set()

    def __enter__(self) -> "Opened":
        self._descriptor = self._libc.inotify_init1(_IN_NONBLOCK)
        assert self._descriptor >= 0, os.strerror(ctypes.get_errno())
        self._watched = {
            self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), _IN_OPEN): folder
            for folder in self._folders
        }
        assert min(self._watched) >= 0, os.strerror(ctypes.get_errno())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while select.select([self._descriptor], [], [], 0)[0]:
            self._take(os.read(self._descriptor, 1 << 20))
        os.close(self._descriptor)

    def _take(self, events: bytes) -> None:
        at = 0
        while at < len(events):
            watch, mask, _, length = _HEADER.unpack_from(events, at)
            name = events[at + _HEADER.size : at + _HEADER.size + length].rstrip(b"\0")
            assert watch in self._watched, "the kernel's queue was full: events are lost"
            if name and not mask & _IN_ISDIR:
                self.files.add(self._watched[watch] / os.fsdecode(name))
            at += _HEADER.size + length
