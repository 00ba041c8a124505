"""Tells whether some of a picture's data is lost, by its structure and where it ends. Runs in workers.

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


def is_damaged(filter_name: str, data: bytes) -> bool:
    """Returns whether data of a PDF filter ("/DCTDecode", ...) shows by itself that some of it is lost."""
    match filter_name:
        case "/DCTDecode":
            return jpeg_data.is_damaged(data)
        case "/JBIG2Decode":
            return _lacks_jbig2(data)
        case "/FlateDecode":
            return _lacks_flate(data)
        case "/JPXDecode":
            # A white area may be packets of one zero byte each, but not this many.
            return bytes(_BLOCK_BYTES) in data
    return False


def is_cut(data: bytes) -> bool:
    """Returns whether a zlib stream ends before its last block does. One without its checksum, or empty, is not cut."""
    try:
        is_ended, num_bytes = _unpacked(data[2:], -zlib.MAX_WBITS)
    except zlib.error:
        return True
    return bool(data) and not is_ended and num_bytes <= _MOST_BYTES


def _unpacked(data: bytes, wbits: int = zlib.MAX_WBITS) -> tuple[bool, int]:
    """Returns whether a stream comes to its end, and how many bytes it gives until then or the limit is passed.

    wbits: as zlib has it. Raises: zlib.error.
    """
    unpacker, num_bytes = zlib.decompressobj(wbits), 0
    while data and not unpacker.eof and num_bytes <= _MOST_BYTES:
        num_bytes += len(unpacker.decompress(data, _CHUNK_BYTES))
        data = unpacker.unconsumed_tail
    return unpacker.eof, num_bytes


def _lacks_jbig2(data: bytes) -> bool:
    """Returns whether JBIG2 data ends within a segment, or with fewer lines than one has. Source: ITU-T T.88, 7.2."""
    at = 0
    try:
        while data[at:].strip(b"\0"):
            number, flags, referred = struct.unpack_from(">IBB", data, at)
            count, at = referred >> 5, at + 6
            if count == 7:  # the long form
                count = struct.unpack_from(">I", data, at - 1)[0] & 0x1FFFFFFF
                at += 3 + (count + 8) // 8
            at += count * (1 if number <= 256 else 2 if number <= 65536 else 4) + (4 if flags & 0x40 else 1)
            (length,) = struct.unpack_from(">I", data, at)
            if length == 0xFFFFFFFF:  # not known
                return False
            at += 4 + length
            if at > len(data) or (flags & 0x3F in _REGIONS and _lacks_lines(data[at - length : at])):
                return True
    except struct.error:
        return True
    return False


def _lacks_lines(region: bytes) -> bool:
    """Returns whether a generic region coded as group 4 holds fewer lines than it has. Source: ITU-T T.88, 7.4.6."""
    if len(region) < _REGION_BYTES or not region[_REGION_BYTES - 1] & 1:
        return False
    width_px, height_px = struct.unpack_from(">II", region)
    try:
        return lacks_rows(fax_rows(region[_REGION_BYTES:], width_px), height_px)
    except ValueError:
        return True


def _lacks_flate(data: bytes) -> bool:
    try:
        is_ended, num_bytes = _unpacked(data)
    except zlib.error as error:
        return "incorrect data check" in str(error)
    # Zeros in place of a block that was never written decode as pixels for ever; compressed data has no such run.
    return not is_ended and num_bytes <= _MOST_BYTES and data.endswith(_NEVER_WRITTEN)


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
