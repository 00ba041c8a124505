"""Tells whether a picture's data is whole, by its structure and where it ends. Runs in workers.

It finds what no decoder reports: libjpeg fills in grey where the data breaks off, jbig2dec leaves out a truncated
segment, inflating stops at the last pixel, before the checksum, and zeros in place of a block that was never written
decode as grey for ever.
"""

import struct
import zlib

import pymupdf

from pipeline.documents.damage import jpeg_data

# The most bytes to inflate for checking a checksum, some 0.3 s.
_MOST_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20
_NEVER_WRITTEN = bytes(64)
_BLOCK_BYTES = 4096
# JBIG2's generic regions: the types of their segments, and the bytes before their data.
_REGIONS, _REGION_BYTES = (36, 38, 39), 18
# Fewer rows than this, or than this share, hide no line of text; fax machines claim a few too many.
_FEWEST_ROWS, _LEAST_SHARE = 4, 0.01
_ERRORS = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError)


def is_whole(filter_name: str, data: bytes) -> bool | None:
    """Returns whether data of a PDF filter ("/DCTDecode", ...) has its proper end; None if that cannot be told."""
    if filter_name == "/DCTDecode":
        return jpeg_data.is_whole(data)
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


def lacks_rows(found: int, claimed: int) -> bool:
    """Returns whether so many rows are missing that a line of text may be."""
    return claimed - found >= max(_FEWEST_ROWS, _LEAST_SHARE * claimed)


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
