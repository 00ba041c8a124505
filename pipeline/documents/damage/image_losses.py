"""Finds what is missing in an image file although a decoder returned a picture. Runs in workers.

Of a TIFF it also tells which strips or tiles are missing or short (TIFF 6.0, 3 and 15).

Truncated files and wrong checksums raise errors (pipeline.documents.images). This finds what decoders fill in silently:
blocks of a file that were never written, JPEG data that breaks off, and fax lines that libtiff cannot decode. Pixels
that were replaced by others, in a bitmap or in well-formed WebP, JPEG and JPEG 2000 data, cannot be told from a
picture: these formats have no checksums.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pymupdf

from encoders.views import UInt8Array
from ocr.imaging.profiles import stretches
from pipeline.documents import images
from pipeline.documents.damage import complaints, jpeg_data
from pipeline.documents.damage.picture_data import fax_rows, lacks_rows

# File systems allocate blocks of this many bytes, and leave zeros where a block was not written.
_BLOCK_BYTES = 4096
_CHUNK_BYTES = 256 * _BLOCK_BYTES
# JPEG data is searched up to this size; a page of 100 megapixels has some 50 MB.
_MOST_BYTES = 64 << 20
# Fewer fax lines than this, each lost on its own, hide no line of text: even small letters are twice as high.
_FEWEST_LINES = 4
_BAD_LINE = re.compile(r"^Fax(\d)\w*: Bad code word at line (\d+) of strip (\d+)", re.MULTILINE)
# As much as a pipe holds.
_PIPE_BYTES = 1 << 16
_FAXES = ("group3", "group4", "tiff_ccitt")
_HOLE = "parts of the file were never written: blocks of zeros in it"
_JPEG = "its JPEG data is damaged"
_FAX = "lines of the fax cannot be decoded"
_STRIPS = "strips of it were never written, or not all of their pixels"
_ROWS = "its data ends before its last row"
# Tags of a TIFF: what its JPEG strips share, and where a whole JPEG begins.
_JPEG_TABLES, _OLD_JPEG = 347, 513

Extents = Sequence[tuple[int, int]]


def drawn(
    path: str, image: Any, index: int, max_px: int, most_frames: int = 0
) -> tuple[UInt8Array, float | None, UInt8Array | None, str]:
    """Returns a frame's pixels and dots per inch, all frames where these are one page, and what is missing of them.

    Pixels and dots per inch as `images.read_frame` does. image: Pillow's. most_frames: the most that are one page, 0
    where each is one of its own. Missing is a sentence, "" where nothing is. Raises: DocumentError, PageRenderError,
    OSError.
    """
    with libtiff_words(image) as words:
        frames = images.read_frames(image, max_px, most_frames) if most_frames else None
        pixels, dpi = images.read_frame(image, index, max_px) if frames is None else (frames[0], None)
    return pixels, dpi, frames, missing_message(path, image, words)


@contextmanager
def libtiff_words(image: Any) -> Iterator[list[str]]:
    """Yields a list that, after the block, holds what libtiff printed in it; only for faxes, else it stays empty.

    It reads what libtiff prints, as Pillow passes on only the errors that end decoding. Output that a pipe does not
    hold is dropped.
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
        with suppress(BlockingIOError):  # where nothing was printed
            said.append(os.read(reading, _PIPE_BYTES).decode("utf-8", "replace"))
    finally:
        for descriptor in (reading, writing, before):
            os.close(descriptor)


def missing_message(path: str, image: Any, words: Sequence[str]) -> str:
    """Returns a sentence that says what is wrong with the data of an image's current frame; "" where nothing is found.

    words: from libtiff_words. Raises: OSError.
    """
    tags = image.tag_v2 if image.format == "TIFF" else {}
    found_at = extents(tags)
    found = []
    with open(path, "rb") as file:
        if has_hole(file, found_at):
            found.append(_HOLE)
        may_be_filled = image.format != "JPEG" or _has_even_corner(image)
        jpegs = _jpegs(image, file, found_at)
        if any(jpeg_data.is_damaged(data, may_be_filled) for data in jpegs):
            found.append(_JPEG)
        if _has_lost_lines("".join(words)) or lacks_fax_lines(file, tags):
            found.append(_FAX)
        if are_missing(tags, os.fstat(file.fileno()).st_size):
            found.append(_STRIPS)
        # Pillow leaves zeros for rows or columns at an edge that no data came for, in interlaced pictures in between.
        if image.format == "PNG" and (image.info.get("interlace") or image.getbbox() != (0, 0, *image.size)):
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
    if not empty.any():
        return False
    for begin, end in stretches(empty):
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


def png_ends_early(data: bytes) -> bool:
    """Returns whether MuPDF finds fewer rows in a PNG that can be decoded than it has."""
    return any("png image" in line for line in complaints.told(lambda: pymupdf.Pixmap(data)))


def _has_even_corner(image: Any) -> bool:
    """Returns whether the pixels in a corner are alike; the last ones are in any, as the picture may be turned."""
    width, height = image.size
    corners = (image.crop((x, y, x + 2, y + 2)) for x in (0, width - 2) for y in (0, height - 2))
    return min(width, height) < 2 or any(
        np.ptp(np.asarray(corner), axis=(0, 1)).max() == 0 for corner in corners
    )


def _has_lost_lines(words: str) -> bool:
    """Returns whether lines of text may be lost: in group 4 a lost line takes the rest of its strip with it."""
    lines = set(_BAD_LINE.findall(words))
    return any(kind == "4" for kind, _, _ in lines) or len(lines) >= _FEWEST_LINES


# Strips of raw pixels whose size follows from the picture's: bilevel, grey, RGB, palette and CMYK ones.
_PLAIN = (0, 1, 2, 3, 5)
_UNPACKED, _GROUP4 = 1, 4
# The fill order in which a byte's lowest bit comes first, and the bytes turned round.
_LOWEST_FIRST = 2
_TURNED = bytes(int(f"{number:08b}"[::-1], 2) for number in range(256))


def extents(tags: Any) -> Extents:
    """Returns where the frame's data is, (start, end) in bytes of each strip or tile."""
    starts, counts = (tags.get(strips, tags.get(tiles, ())) for strips, tiles in ((273, 324), (279, 325)))
    try:
        return [(int(start), int(start) + int(count)) for start, count in zip(starts, counts, strict=False)]
    except (TypeError, ValueError):
        return []


def are_missing(tags: Any, num_bytes: int) -> bool:
    """Returns whether strips or tiles were never written, or raw ones are shorter than their pixels.

    num_bytes: the file's. Strips may share their data, and a count that is wrong costs nothing where the data is there.
    """
    found = extents(tags)
    if not found:
        return False
    if any(start == 0 or start >= num_bytes for start, _ in found):
        return True
    empty = [start == end for start, end in found]
    if any(empty) and not all(empty):
        return True
    sizes = list(_sizes(tags))
    if len(found) < len(sizes):
        return True
    bits = tags.get(258, (1,))
    if tags.get(259, _UNPACKED) != _UNPACKED or tags.get(262) not in _PLAIN:
        return False
    depth = bits[0] if tags.get(284, 1) == 2 else sum(bits)
    begins = sorted({start for start, _ in found} | {num_bytes})
    for (start, end), (width, height) in zip(found, sizes, strict=False):
        room = next(begin for begin in begins if begin > start) - start
        if max(end - start, room) < -(-width * depth // 8) * height:
            return True
    return False


def lacks_fax_lines(file: Any, tags: Any) -> bool:
    """Returns whether group 4 data ends before its strip does. file: open for reading bytes."""
    if tags.get(259) != _GROUP4 or 324 in tags:
        return False
    for (start, end), (width, height) in zip(extents(tags), _sizes(tags), strict=False):
        file.seek(start)
        data = file.read(end - start)
        try:
            rows = fax_rows(data.translate(_TURNED) if tags.get(266) == _LOWEST_FIRST else data, width)
        except ValueError:
            continue
        if lacks_rows(rows, height):
            return True
    return False


def _sizes(tags: Any) -> Iterator[tuple[int, int]]:
    """Yields width and height of each strip or tile that the frame should have."""
    width, height = int(tags.get(256, 0)), int(tags.get(257, 0))
    planes = int(tags.get(277, 1)) if tags.get(284, 1) == 2 else 1
    for _ in range(planes):
        if 324 in tags:
            across, down = int(tags[322]), int(tags[323])
            yield from [(across, down)] * (-(-width // across) * -(-height // down))
            continue
        rows = min(int(tags.get(278, height)), height) or height
        for top in range(0, height, rows):
            yield width, min(rows, height - top)
