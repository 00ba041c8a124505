"""Unpacks gzipped PDFs, to a limit. Standard library only."""

import gzip
import zlib
from typing import BinaryIO

from pipeline.documents.damage.failures import DocumentError

MAGIC = b"\x1f\x8b\x08"
# What a worker keeps in memory of one document.
_MOST_BYTES = 512 << 20


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


def start_of(head: bytes) -> bytes:
    """Returns the first bytes of what a gzipped file holds. head: its own first bytes."""
    try:
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(head, len(head))
    except zlib.error:
        return b""
