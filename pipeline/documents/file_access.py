"""Opens files by names that may lead to something else by now, tells their state, and unpacks gzipped ones.

Standard library only.
"""

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import BinaryIO

from pipeline.documents.failures import DocumentError
from pipeline.types import FileStamp

GZIP_MAGIC = b"\x1f\x8b\x08"
# What a worker keeps in memory of one document.
_MOST_BYTES = 512 << 20


def open_at_once(path: str) -> BufferedReader:
    """Returns a file that is open for reading, without waiting: it may have become a pipe. Raises: OSError."""
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def stamp_of(found: os.stat_result) -> FileStamp | None:
    """Returns the stamp that changes with a file's content; None for what is no regular file.

    Device, inode, size in bytes, and both times in ns.
    """
    if not stat.S_ISREG(found.st_mode):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


@contextmanager
def utf8_name(path: str) -> Iterator[str]:
    """Yields a name to open a file by, within the block: its path, or its descriptor's where the path is not UTF-8.

    Libraries may know no names but UTF-8, which file systems do not ask for. Raises: OSError where the file cannot be
    opened.
    """
    with open(path, "rb") as file:
        is_utf8 = not any("\ud800" <= letter <= "\udfff" for letter in path)
        yield path if is_utf8 else f"/dev/fd/{file.fileno()}"


def unpacked(file: BinaryIO) -> bytes:
    """Returns what a gzipped file holds, checked against its checksum. Raises: DocumentError."""
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            data = packed.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError("broken", f"its gzip data cannot be unpacked: {error}") from None
    if len(data) > _MOST_BYTES:
        raise DocumentError(
            "broken",
            f"unpacks to more than {_MOST_BYTES >> 20} MiB; unpack it with gunzip if it can be trusted",
        )
    return data


def start_of_packed(head: bytes) -> bytes:
    """Returns the first bytes of what a gzipped file holds. head: its own first bytes."""
    try:
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(head, len(head))
    except zlib.error:
        return b""
