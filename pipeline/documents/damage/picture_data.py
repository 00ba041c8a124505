"""Tells whether a picture's data is whole, by its structure and where it ends. Runs in workers.

It finds what no decoder reports: libjpeg fills in grey where the data breaks off, jbig2dec leaves out a truncated
segment, inflating stops at the last pixel, before the checksum, and zeros in place of a block that was never written
decode as grey for ever.
"""

import struct
import zlib

from pipeline.documents.damage.premature_end import MARKER, fax_rows, jpeg_ends_early, lacks_rows

# The most bytes to inflate for checking a checksum, some 0.3 s.
_MOST_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20
_NEVER_WRITTEN = bytes(64)
_BLOCK_BYTES = 4096
_END, _SCAN, _CODES = 0xD9, 0xDA, 0xC4
# Frame types whose scans consist of Huffman codes only: in progressive ones whole scans are plain bits.
_SEQUENTIAL = frozenset({0xC0, 0xC1})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_END_OF_BLOCK = 0
# JBIG2's generic regions: the types of their segments, and the bytes before their data.
_REGIONS, _REGION_BYTES = (36, 38, 39), 18
# Markers allowed between scans: tables, restart interval, number of lines, comment, application data.
_BETWEEN = frozenset({0xC4, 0xCC, 0xDB, 0xDC, 0xDD, 0xFE, *range(0xE0, 0xF0)})


def is_whole(filter_name: str, data: bytes, may_be_filled: bool = True) -> bool | None:
    """Returns whether data of a PDF filter ("/DCTDecode", ...) has its proper end; None if that cannot be told.

    may_be_filled: see jpeg_ends_early.
    """
    if filter_name == "/DCTDecode":
        whole = _whole_jpeg(data)
        return False if whole is not False and jpeg_ends_early(data, may_be_filled) else whole
    if filter_name == "/JBIG2Decode":
        return _whole_jbig2(data)
    if filter_name == "/FlateDecode":
        return _whole_flate(data)
    if filter_name == "/JPXDecode":
        # A white area may be packets of one zero byte each, but not this many.
        return False if bytes(_BLOCK_BYTES) in data else None
    return _ends_as_fax(data) or None if filter_name == "/CCITTFaxDecode" else None


def is_cut(data: bytes) -> bool:
    """Returns whether a zlib stream ends before its last block does; one that lacks only its checksum is not cut."""
    try:
        is_ended, num_bytes = _unpacked(data[2:], -zlib.MAX_WBITS)
    except zlib.error:
        return True
    return not is_ended and num_bytes <= _MOST_BYTES


def _unpacked(data: bytes, wbits: int = zlib.MAX_WBITS) -> tuple[bool, int]:
    """Returns whether a stream comes to its end, and how many bytes it gives until then or the limit is passed.

    wbits: as zlib has it. Raises: zlib.error.
    """
    unpacker, num_bytes = zlib.decompressobj(wbits), 0
    while data and not unpacker.eof and num_bytes <= _MOST_BYTES:
        num_bytes += len(unpacker.decompress(data, _CHUNK_BYTES))
        data = unpacker.unconsumed_tail
    return unpacker.eof, num_bytes


def _whole_jpeg(data: bytes) -> bool | None:
    """Returns whether JPEG data is whole, None if that cannot be told. Source: ITU-T T.81, B.1 and B.2."""
    at = data.find(b"\xff\xd8") + 2
    if at < 2:
        return False
    in_scan = False
    zeros_are_codes = False
    while at + 4 <= len(data):
        if in_scan:
            found = MARKER.search(data, at)
            if not zeros_are_codes and data.find(_NEVER_WRITTEN, at, found.start() if found else None) >= 0:
                return False
            if found is None:
                return None  # the end marker is missing; a decoder reports it if it needs more data
            at = found.start()
        elif data[at] != 0xFF:
            return False
        marker = data[at + 1]
        if marker == 0xFF:  # a filler byte
            at += 1
            continue
        if marker == _END:
            return True
        if in_scan and marker != _SCAN and marker not in _BETWEEN:
            return False
        if at + 4 > len(data):
            return None
        length = int.from_bytes(data[at + 2 : at + 4])
        zeros_are_codes |= marker in _FRAMES and marker not in _SEQUENTIAL
        zeros_are_codes |= marker == _CODES and _has_zeros_for_white(data[at + 4 : at + 2 + length])
        at += 2 + length
        in_scan = marker == _SCAN or (in_scan and marker == 0xDC)
    return data.endswith(b"\xff\xd9") or None


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


def _whole_jbig2(data: bytes) -> bool | None:
    """Returns whether JBIG2 data is whole, by its segments' headers; None if unknown. Source: ITU-T T.88, 7.2."""
    at = 0
    while data[at:].strip(b"\0"):
        if len(data) < at + 6:
            return False
        number, flags, referred = struct.unpack_from(">IBB", data, at)
        count, at = referred >> 5, at + 6
        if count == 7:  # the long form
            if len(data) < at + 3:
                return False
            count = int.from_bytes(data[at - 1 : at + 3]) & 0x1FFFFFFF
            at += 3 + (count + 8) // 8
        at += count * (1 if number <= 256 else 2 if number <= 65536 else 4) + (4 if flags & 0x40 else 1)
        if len(data) < at + 4:
            return False
        length = int.from_bytes(data[at : at + 4])
        if length == 0xFFFFFFFF:
            return None
        at += 4 + length
        if at > len(data) or (flags & 0x3F in _REGIONS and _lacks_lines(data[at - length : at])):
            return False
    return True


def _lacks_lines(region: bytes) -> bool:
    """Returns whether a generic region coded as group 4 holds fewer lines than it has. Source: ITU-T T.88, 7.4.6."""
    if len(region) < _REGION_BYTES or not region[_REGION_BYTES - 1] & 1:
        return False
    width_px, height_px = struct.unpack_from(">II", region)
    try:
        return lacks_rows(fax_rows(region[_REGION_BYTES:], width_px), height_px)
    except ValueError:
        return True


def _whole_flate(data: bytes) -> bool | None:
    try:
        is_ended, num_bytes = _unpacked(data)
    except zlib.error as error:
        return False if "incorrect data check" in str(error) else None
    if num_bytes > _MOST_BYTES:
        return None
    # Zeros in place of a block that was never written decode as pixels for ever; compressed data has no such run.
    return is_ended or (False if data.endswith(_NEVER_WRITTEN) else None)


def _ends_as_fax(data: bytes) -> bool:
    """Returns whether the last bytes hold a group 4 picture's end mark, at any bit. Source: ITU-T T.6, 2.4."""
    tail = int.from_bytes(data[-12:])
    return any(tail >> shift & 0xFFFFFF == 0x001001 for shift in range(8 * len(data[-12:]) - 23))
