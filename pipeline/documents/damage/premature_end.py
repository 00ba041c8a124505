"""Tells by decoding whether a picture's data ends before its pixels do, where its decoder fills in the rest silently.

Runs in workers.
"""

import io
import re
import struct
import zlib

import pymupdf
from PIL import Image

# Within a JPEG's scan, 0xFF may be followed by a zero, a filler byte or a restart marker; anything else is a marker.
MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
_END, _SCAN = 0xD9, 0xDA
_PROGRESSIVE, _ARITHMETIC = (0xC2, 0xCA), (0xC9, 0xCA)
_FRAMES = (0xC0, 0xC1, *_PROGRESSIVE, *_ARITHMETIC)
_BANDS = 64
# Bytes without a marker that decode as pixels for a while. Arithmetic coding drops zeros at its end, and so many more
# cannot hold half a picture, of whose scans progressive coding needs the longer tail.
_MORE = bytes(number * 37 % 251 + 1 for number in range(512))
_ZEROS, _ZEROS_PROGRESSIVE = bytes(64), bytes(1024)
# Fewer rows than this, or than this share, hide no line of text; fax machines claim a few too many.
_FEWEST_ROWS, _LEAST_SHARE = 4, 0.01
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# The first column and row of each pass of an interlaced PNG, and the steps to the next.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_CHUNK_BYTES = 1 << 20
_ERRORS = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError)


def lacks_rows(found: int, claimed: int) -> bool:
    """Returns whether so many rows are missing that a line of text may be."""
    return claimed - found >= max(_FEWEST_ROWS, _LEAST_SHARE * claimed)


def jpeg_ends_early(data: bytes, may_be_filled: bool = True) -> bool:
    """Returns whether JPEG data ends, with or without an end marker, before its picture does.

    may_be_filled: whether the last pixels are alike, as far as is known, as are all that a decoder fills in. A decoder
    that has all it needs ignores what comes before the next marker: where more bytes there change the picture, it
    wanted more. Source: ITU-T T.81, B.2, D.1.8, G.1.
    """
    ends, frame, is_covered = _scans(data)
    if not ends:
        return False
    if not is_covered:
        return True
    if not may_be_filled and len(ends) == 1 and frame not in (*_PROGRESSIVE, *_ARITHMETIC):
        return False
    if ends[-1] == len(data):
        data += b"\xff\xd9"
    more = _MORE
    if frame in _ARITHMETIC:
        more = (_ZEROS_PROGRESSIVE if frame in _PROGRESSIVE else _ZEROS) + _MORE
    longer = data
    for end in reversed(ends):
        longer = longer[:end] + more + longer[end:]
    try:
        if frame in _ARITHMETIC:
            return bool(pymupdf.Pixmap(data).samples != pymupdf.Pixmap(longer).samples)
        # Eighths show the mean of each block, the first number of its code; later scans give the others.
        scale = 2 if frame in _PROGRESSIVE else 8
        pixels = _decoded(data, scale)
        is_filled = frame in _PROGRESSIVE or len(ends) > 1 or _ends_evenly(pixels)
        return is_filled and pixels.tobytes() != _decoded(longer, scale).tobytes()
    except (OSError, SyntaxError, *_ERRORS):
        return False


def _scans(data: bytes) -> tuple[list[int], int, bool]:
    """Returns where each scan of a JPEG ends, the type of its frame, and whether the scans give all of it.

    No ends where its frame is of none of the usual types.
    """
    at, in_scan, frame, wanted = data.find(b"\xff\xd8") + 2, False, 0, 0
    ends: list[int] = []
    given: set[tuple[int, int]] = set()
    while at + 4 <= len(data):
        if in_scan:
            found = MARKER.search(data, at)
            at = found.start() if found else len(data)
            ends.append(at)
            in_scan = False
        elif data[at + 1] == 0xFF:
            at += 1
        elif data[at + 1] == _END:
            break
        else:
            kind, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4])
            if kind in _FRAMES and at + 10 <= len(data):
                frame = kind
                wanted = data[at + 9] * (_BANDS if frame in _PROGRESSIVE else 1)
            in_scan = kind == _SCAN
            if in_scan and wanted:
                given |= _given(data[at + 4 : at + 2 + length], frame)
            at += 2 + length
    return (ends if wanted else []), frame, len(given) >= wanted


def _given(header: bytes, frame: int) -> set[tuple[int, int]]:
    """Returns (component, band) of all that a scan gives the last bit of. header: its header after the length."""
    if not header or len(header) < 4 + 2 * header[0]:
        return set()
    first, last, bits = header[-3:] if frame in _PROGRESSIVE else (0, 0, 0)
    components = header[1 : 1 + 2 * header[0] : 2]
    return set() if bits & 15 else {(part, band) for part in components for band in range(first, last + 1)}


def _decoded(data: bytes, scale: int) -> Image.Image:
    image = Image.open(io.BytesIO(data), formats=("JPEG",))
    image.draft(image.mode, (max(1, image.width // scale), max(1, image.height // scale)))
    image.load()
    return image


def _ends_evenly(pixels: Image.Image) -> bool:
    """Returns whether the last two pixels are the same, as all are that were filled in."""
    if pixels.width < 2:
        return True
    foot = pixels.height - 1
    return pixels.getpixel((pixels.width - 1, foot)) == pixels.getpixel((pixels.width - 2, foot))


def fax_rows(data: bytes, width_px: int) -> int:
    """Returns how many rows CCITT group 4 data holds up to its end, or to its first damage. Raises: ValueError."""
    try:
        with pymupdf.open() as scratch:
            xref = scratch.get_new_xref()
            scratch.update_object(xref, "<< >>")
            scratch.update_stream(xref, data, compress=False)
            scratch.xref_set_key(xref, "Filter", "/CCITTFaxDecode")
            scratch.xref_set_key(xref, "DecodeParms", f"<< /K -1 /Columns {width_px} >>")
            return len(scratch.xref_stream(xref) or b"") // -(-width_px // 8)
    except _ERRORS as error:
        raise ValueError(str(error)) from None


def png_ends_early(data: bytes) -> bool:
    """Returns whether the compressed rows of a PNG hold fewer than it has. Source: W3C PNG, 7 and 11.2."""
    at, wanted, num_bytes = 8, 0, 0
    unpacker = zlib.decompressobj()
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        part = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            wanted = _png_bytes(part)
        for start in range(0, len(part) if kind == b"IDAT" else 0, _CHUNK_BYTES):
            rest = part[start : start + _CHUNK_BYTES]
            while rest and num_bytes < wanted:
                num_bytes += len(unpacker.decompress(rest, _CHUNK_BYTES))
                rest = unpacker.unconsumed_tail
        at += 12 + length
    return num_bytes < wanted


def _png_bytes(header: bytes) -> int:
    """Returns how many bytes the rows of a PNG have when unpacked, each with the byte that names its filter."""
    width, height, depth, colour, _, _, is_interlaced = struct.unpack(">IIBBBBB", header)
    bits = depth * _PNG_CHANNELS[colour]
    passes = _PASSES if is_interlaced else ((0, 0, 1, 1),)
    sizes = [
        (-(-(width - left) // right), -(-(height - top) // down))
        for left, top, right, down in passes
        if width > left and height > top
    ]
    return sum(rows * (1 + -(-columns * bits // 8)) for columns, rows in sizes)
