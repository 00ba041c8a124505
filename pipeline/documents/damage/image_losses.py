"""Finds what is missing in an image file although a decoder returned a picture. Runs in workers.

Truncated files and wrong checksums raise errors (pipeline.documents.images). This finds what decoders fill in silently:
blocks of a file that were never written, JPEG data that breaks off, and fax lines that libtiff cannot decode. Pixels
that were replaced by others, in a bitmap or in well-formed WebP, JPEG and JPEG 2000 data, cannot be told from a
picture: these formats have no checksums.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pipeline.documents.damage import picture_data, tiff_strips
from pipeline.documents.damage.premature_end import png_ends_early

# File systems allocate blocks of this many bytes, and leave zeros where a block was not written.
_BLOCK_BYTES = 4096
_CHUNK_BYTES = 256 * _BLOCK_BYTES
# JPEG data is searched up to this size; a page of 100 megapixels has some 50 MB.
_MOST_BYTES = 64 << 20
# Fewer fax lines than this, each lost on its own, hide no line of text: even small letters are twice as high.
_FEWEST_LINES = 4
_BAD_LINE = re.compile(r"^Fax(\d)\w*: Bad code word at line (\d+) of strip (\d+)", re.MULTILINE)
_FAXES = ("group3", "group4", "tiff_ccitt")
_HOLE = "parts of the file were never written: blocks of zeros in it"
_JPEG = "its JPEG data is damaged"
_FAX = "lines of the fax cannot be decoded"
_STRIPS = "strips of it were never written, or not all of their pixels"
_ROWS = "its data ends before its last row"
# Tags of a TIFF: what its JPEG strips share, and where a whole JPEG begins.
_JPEG_TABLES, _OLD_JPEG = 347, 513

Extents = Sequence[tuple[int, int]]


@contextmanager
def libtiff_words(image: Any) -> Iterator[list[str]]:
    """Yields a list that, after the block, holds what libtiff printed in it; only for faxes, else it stays empty.

    It reads what libtiff prints, as Pillow passes on only the errors that end decoding. Output beyond a pipe's 64 KiB
    is dropped.
    """
    said: list[str] = []
    if image.format != "TIFF" or image.info.get("compression") not in _FAXES:
        yield said
        return
    reading, writing = os.pipe()
    before = os.dup(2)
    try:
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        os.dup2(writing, 2)
        try:
            yield said
        finally:
            os.dup2(before, 2)
        said.append(_read_all(reading))
    finally:
        for descriptor in (reading, writing, before):
            os.close(descriptor)


def missing_message(path: str, image: Any, words: Sequence[str]) -> str:
    """Returns a sentence that says what is wrong with the data of an image's current frame; "" where nothing is found.

    words: from libtiff_words. Raises: OSError.
    """
    tags = image.tag_v2 if image.format == "TIFF" else {}
    extents = tiff_strips.extents(tags)
    found = []
    with open(path, "rb") as file:
        if has_hole(file, extents):
            found.append(_HOLE)
        if any(picture_data.is_whole("/DCTDecode", data) is False for data in _jpegs(image, file, extents)):
            found.append(_JPEG)
        if _has_lost_lines("".join(words)) or tiff_strips.lacks_fax_lines(file, tags):
            found.append(_FAX)
        if tiff_strips.are_missing(tags, os.fstat(file.fileno()).st_size):
            found.append(_STRIPS)
        if image.format == "PNG" and _may_be_unfilled(image):
            file.seek(0)
            if png_ends_early(file.read()):
                found.append(_ROWS)
    return f"not all of the picture can be decoded: {'; '.join(found)}" if found else ""


def has_hole(file: Any, extents: Extents = ()) -> bool:
    """Returns whether whole blocks of a file are zeros, from one block boundary to another or to the file's end.

    file: open for reading bytes. extents: (start, end) in bytes of the data that counts, () for all of it. Zeros that
    belong to a picture, its black or its white, start on a boundary by chance in one of 4,096 files, and also end on
    one in one of 4,096 of those.
    """
    lowest = min((start for start, _ in extents), default=0) // _BLOCK_BYTES
    lowest = max(0, lowest - 1)  # the byte before a hole tells that it begins with its block
    highest = max((end for _, end in extents), default=None)
    file.seek(lowest * _BLOCK_BYTES)
    empty, first, last, num_bytes = _blocks(file, highest)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], empty, [False])).astype(np.int8)))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        is_whole_block = min(end * _BLOCK_BYTES, num_bytes) - begin * _BLOCK_BYTES >= _BLOCK_BYTES
        begins = begin > 0 and last[begin - 1]
        ends = end == len(empty) or first[end]
        if is_whole_block and begins and ends:
            place = (lowest + begin) * _BLOCK_BYTES, (lowest + end) * _BLOCK_BYTES
            if not extents or any(start < place[1] and place[0] < stop for start, stop in extents):
                return True
    return False


def _blocks(file: Any, end: int | None) -> tuple[Any, Any, Any, int]:
    """Returns for each block from the file's position on whether it is zeros, its first and last byte; and the bytes.

    end: stops after the block behind this position; None for all. The missing rest of the last block counts as zeros.
    """
    parts: list[tuple[Any, Any, Any]] = []
    num_bytes = 0
    while end is None or file.tell() < end + _BLOCK_BYTES:
        chunk = file.read(_CHUNK_BYTES)
        if not chunk:
            break
        num_bytes += len(chunk)
        padded = chunk + bytes(-len(chunk) % _BLOCK_BYTES)
        blocks = np.frombuffer(padded, np.uint8).reshape(-1, _BLOCK_BYTES)
        parts.append((~blocks.any(axis=1), blocks[:, 0] > 0, blocks[:, -1] > 0))
    if not parts:
        none = np.zeros(0, np.bool_)
        return none, none, none, 0
    empty, first, last = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return empty, first, last, num_bytes


def _jpegs(image: Any, file: Any, found: Extents) -> Iterator[bytes]:
    """Yields the JPEG streams of an image's current frame, those of a TIFF with the tables that its strips share."""
    if image.format in ("JPEG", "MPO"):
        file.seek(0)
        yield file.read(_MOST_BYTES)
    elif image.format == "TIFF" and image.info.get("compression") == "jpeg":
        tables = bytes(image.tag_v2.get(_JPEG_TABLES, b""))
        for start, end in found:
            file.seek(start)
            strip = file.read(min(end - start, _MOST_BYTES))
            # Tables end with an end mark, and the strip begins with a start mark.
            yield tables[:-2] + strip[2:] if len(tables) > 4 else strip
    elif image.format == "TIFF" and (start := int(image.tag_v2.get(_OLD_JPEG, 0))):
        file.seek(start)
        yield file.read(_MOST_BYTES)


def _may_be_unfilled(image: Any) -> bool:
    """Returns whether rows or columns at an edge are zeros, as Pillow leaves those that no data came for.

    Of an interlaced picture it leaves some in between.
    """
    return bool(image.info.get("interlace")) or image.getbbox() != (0, 0, *image.size)


def _has_lost_lines(words: str) -> bool:
    """Returns whether lines of text may be lost: in group 4 a lost line takes the rest of its strip with it."""
    lines = set(_BAD_LINE.findall(words))
    return any(kind == "4" for kind, _, _ in lines) or len(lines) >= _FEWEST_LINES


def _read_all(descriptor: int) -> str:
    words = b""
    try:
        while chunk := os.read(descriptor, 1 << 16):
            words += chunk
    except BlockingIOError:
        pass
    return words.decode("utf-8", "replace")
