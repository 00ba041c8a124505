"""Tells whether JPEG data is whole: by its markers, and by decoding, as decoders fill in silently what is missing.

Runs in workers.
"""

import io
import re
from collections.abc import Iterator

from PIL import Image

# Within a JPEG's scan, 0xFF may be followed by a zero, a filler byte or a restart marker; anything else is a marker.
_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
_END, _SCAN, _CODES = 0xD9, 0xDA, 0xC4
_CODED, _NONE = -1, -2
_PROGRESSIVE, _ARITHMETIC = (0xC2, 0xCA), (0xC9, 0xCA)
_USUAL_FRAMES = (0xC0, 0xC1, *_PROGRESSIVE, *_ARITHMETIC)
# Frame types whose scans consist of Huffman codes only: in progressive ones whole scans are plain bits.
_SEQUENTIAL = frozenset({0xC0, 0xC1})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_NEVER_WRITTEN = bytes(64)
_END_OF_BLOCK = 0
# Markers allowed after a scan: tables, restart interval, number of lines, comment, application data, scan, end.
_AFTER_SCANS = frozenset({0xC4, 0xCC, 0xDB, 0xDC, 0xDD, 0xFE, *range(0xE0, 0xF0), _SCAN, _END})
_BANDS = 64
# Bytes without a marker that decode as pixels for a while. Arithmetic coding drops zeros at its end, and so many more
# cannot hold half a picture, of whose scans progressive coding needs the longer tail.
_MORE = bytes(number * 37 % 251 + 1 for number in range(512))
_ZEROS, _ZEROS_PROGRESSIVE = bytes(64), bytes(1024)


def is_damaged(data: bytes, may_be_filled: bool = True) -> bool:
    """Returns whether some of JPEG data is lost, as far as it shows that. may_be_filled: see ends_early."""
    return _is_broken(data) or ends_early(data, may_be_filled)


def _is_broken(data: bytes) -> bool:
    """Returns whether what follows within JPEG data is not what must; data that only ends is not broken."""
    after_scan = zeros_are_codes = False
    for marker, start, end in _segments(data):
        if marker == _CODED and not zeros_are_codes and data.find(_NEVER_WRITTEN, start, end) >= 0:
            return True
        if marker == _NONE or (after_scan and marker not in _AFTER_SCANS):
            return True
        after_scan = marker == _CODED
        zeros_are_codes |= marker in _FRAMES and marker not in _SEQUENTIAL
        zeros_are_codes |= marker == _CODES and _has_zeros_for_white(data[start:end])
    return False


def _segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yields each marker up to the end mark, with where its segment's content starts and ends.

    _CODED stands for a scan's codes, which follow its header, _NONE for bytes where a marker is due; they end the walk.
    Source: ITU-T T.81, B.1 and B.2.
    """
    at, marker = data.find(b"\xff\xd8") + 2, 0
    if at < 2:
        yield _NONE, 0, 0
    while 2 <= at <= len(data) - 4:
        if marker == _SCAN:
            found = _MARKER.search(data, at)
            marker, start, end = _CODED, at, found.start() if found else len(data)
        elif data[at] != 0xFF:
            yield _NONE, at, at
            return
        elif data[at + 1] == 0xFF:  # a filler byte
            at += 1
            continue
        else:
            marker, start, end = data[at + 1], at + 4, at + 2 + int.from_bytes(data[at + 2 : at + 4])
        yield marker, start, end
        if marker == _END:
            return
        at = end


def _has_zeros_for_white(tables: bytes) -> bool:
    """Returns whether a code of zeros may mean a block without detail, as in tables optimised for one picture.

    The code of only zeros belongs to a table's first symbol. Source: ITU-T T.81, B.2.4.2 and C.2.
    """
    at = 0
    while at + 17 < len(tables):
        is_of_detail, first = tables[at] >> 4, tables[at + 17]
        if is_of_detail and first == _END_OF_BLOCK:
            return True
        at += 17 + sum(tables[at + 1 : at + 17])
    return False


def ends_early(data: bytes, may_be_filled: bool = True) -> bool:
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
    is_coarse = frame not in (*_PROGRESSIVE, *_ARITHMETIC)
    if not may_be_filled and len(ends) == 1 and is_coarse:
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
        # Eighths show the mean of each block, the first number of its code; later scans give the others.
        scale = 8 if is_coarse else 1 if frame in _ARITHMETIC else 2
        pixels = _decoded(data, scale)
        is_filled = not is_coarse or len(ends) > 1 or _ends_evenly(pixels)
        return is_filled and pixels.tobytes() != _decoded(longer, scale).tobytes()
    except (OSError, SyntaxError, ValueError):
        return False


def _scans(data: bytes) -> tuple[list[int], int, bool]:
    """Returns where each scan of a JPEG ends, the type of its frame, and whether the scans give all of it.

    No ends where its frame is of none of the usual types.
    """
    frame, wanted = 0, 0
    ends: list[int] = []
    given: set[tuple[int, int]] = set()
    for marker, start, end in _segments(data):
        if marker == _CODED:
            ends.append(end)
        elif marker in _USUAL_FRAMES and start + 6 <= len(data):
            frame, wanted = marker, data[start + 5] * (_BANDS if marker in _PROGRESSIVE else 1)
        elif marker == _SCAN and wanted:
            given |= _given(data[start:end], frame)
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
