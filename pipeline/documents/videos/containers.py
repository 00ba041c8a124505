"""Recognises video files by their first bytes; a name is only a claim. Uses the standard library only."""

from pathlib import PurePath
from typing import Literal

# As FFmpeg calls the demuxers.
Container = Literal["mov", "matroska", "avi", "mpegts", "mpeg", "asf", "flv", "ogg"]

_SUFFIXES: dict[str, Container] = {
    **dict.fromkeys((".mp4", ".m4v", ".mov", ".qt", ".3gp", ".3g2"), "mov"),
    **dict.fromkeys((".mkv", ".webm"), "matroska"),
    **dict.fromkeys((".avi",), "avi"),
    **dict.fromkeys((".m2ts", ".mts"), "mpegts"),  # .ts is also a program's source
    **dict.fromkeys((".mpg", ".mpeg", ".vob"), "mpeg"),
    **dict.fromkeys((".wmv",), "asf"),
    **dict.fromkeys((".flv",), "flv"),
    **dict.fromkeys((".ogv",), "ogg"),
}
_MAGIC: tuple[tuple[bytes, Container], ...] = (
    (b"\x1a\x45\xdf\xa3", "matroska"),
    (b"\x00\x00\x01\xba", "mpeg"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "asf"),
    (b"FLV\x01", "flv"),
    (b"OggS", "ogg"),
)
# The types of the first box of a QuickTime or MP4 file, and brands of files with the same boxes that hold no video.
_BOXES = frozenset({b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"})
_NO_VIDEO = frozenset(
    {b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif", b"avis", b"M4A ", b"M4B ", b"M4P "}
)
_SYNC = 0x47
# The first byte of a box's size, below that of any letter: of boxes up to 512 MiB, or with a longer size.
_MOST_SIZE = 0x20
# MPEG-TS packets, plain and with the time code of a disk.
_PACKET_BYTES, _TIME_CODE_BYTES = 188, 4


def by_name(path: str) -> Container | None:
    """Returns the container that the file's name claims; None if that is not one of a video."""
    return _SUFFIXES.get(PurePath(path).suffix.lower())


def by_content(head: bytes) -> Container | None:
    """Returns the container that a file's first bytes (pipeline.documents.sniff.HEAD_BYTES) show, if any.

    Containers of sound alone are among them: only their streams tell.
    """
    for magic, container in _MAGIC:
        if head.startswith(magic):
            return container
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return "avi"
    if head[4:8] in _BOXES and head[0] < _MOST_SIZE:
        return None if head[4:8] == b"ftyp" and head[8:12] in _NO_VIDEO else "mov"
    return "mpegts" if _has_packets(head, 0) or _has_packets(head, _TIME_CODE_BYTES) else None


def _has_packets(head: bytes, lead: int) -> bool:
    marks = head[lead :: _PACKET_BYTES + lead]
    return len(marks) > 3 and all(mark == _SYNC for mark in marks)
