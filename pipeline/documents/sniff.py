"""Recognises a file's format by its first bytes; its name is only a claim. Needs the standard library only."""

import re
from pathlib import PurePath
from typing import Literal

from pipeline.documents import file_access

HEAD_BYTES = 1024

# As Pillow calls the pictures; PPM are all portable maps but PAM. As FFmpeg calls the demuxers of videos.
Format = Literal["PDF", "PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "JPEG2000", "HEIF", "AVIF", "PPM", "PAM"]
Container = Literal["mov", "matroska", "avi", "mpegts", "mpeg", "asf", "flv", "ogg"]

_SUFFIXES: dict[str, Format] = {
    ".pdf": "PDF", ".png": "PNG", ".webp": "WEBP", ".gif": "GIF", ".avif": "AVIF", ".pam": "PAM",
    **dict.fromkeys((".jpg", ".jpeg", ".jpe", ".jfif"), "JPEG"), **dict.fromkeys((".tif", ".tiff"), "TIFF"),
    **dict.fromkeys((".bmp", ".dib"), "BMP"), **dict.fromkeys((".heic", ".heif", ".hif"), "HEIF"),
    **dict.fromkeys((".pbm", ".pgm", ".ppm", ".pnm"), "PPM"),
    **dict.fromkeys((".jp2", ".j2k", ".j2c", ".jpc", ".jpf", ".jpx"), "JPEG2000"),
}  # fmt: skip

# A portable map's header has numbers: prose may begin with "P1 ", but not with such after it.
_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (rb"\x89PNG\r\n\x1a\n", "PNG"),
    (rb"\xff\xd8\xff", "JPEG"),
    (rb"II[*+]\0|MM\0[*+]", "TIFF"),
    (rb"GIF8[79]a", "GIF"),
    (rb"\0\0\0\x0cjP  \r\n\x87\n|\xff\x4f\xff\x51", "JPEG2000"),
    (rb"RIFF.{4}WEBP", "WEBP"),
    (rb"BM.{12}[\x0c\x10\x28\x34\x38\x40\x6c\x7c]\0\0\0", "BMP"),
    (rb"P[1-6](?:\s+(?:#[^\n]*\n)*)\s*\d{1,9}\s+(?:#[^\n]*\n)*\d{1,9}\s", "PPM"),
    (rb"P7\n.*\nENDHDR\n", "PAM"),
)
# Brands of ISO media files that hold pictures; those of AVIF come first, as they are HEIF too.
_BRANDS: tuple[tuple[frozenset[bytes], Format], ...] = (
    (frozenset({b"avif", b"avis"}), "AVIF"),
    (frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}), "HEIF"),
)
_GZIPPED = ".gz"
_SQLITE_MAGIC = b"SQLite format 3\x00"
# PRAGMA application_id of this program's databases: "ocrb".
_APPLICATION_ID = b"ocrb"
_VIDEO_SUFFIXES: dict[str, Container] = {
    **dict.fromkeys((".mp4", ".m4v", ".mov", ".qt", ".3gp", ".3g2"), "mov"),
    **dict.fromkeys((".mkv", ".webm"), "matroska"),
    **dict.fromkeys((".avi",), "avi"),
    **dict.fromkeys((".m2ts", ".mts"), "mpegts"),  # .ts is also a program's source
    **dict.fromkeys((".mpg", ".mpeg", ".vob"), "mpeg"),
    **dict.fromkeys((".wmv",), "asf"),
    **dict.fromkeys((".flv",), "flv"),
    **dict.fromkeys((".ogv",), "ogg"),
}
_VIDEO_MAGIC: tuple[tuple[bytes, Container], ...] = (
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


def by_name(path: str) -> Format | None:
    """Returns the format that the file's name claims; None if that is not one we read."""
    ending = PurePath(path).suffix.lower()
    if ending == _GZIPPED:
        return "PDF" if PurePath(path).stem.lower().endswith(".pdf") else None
    return _SUFFIXES.get(ending)


def by_content(head: bytes, name: str) -> Format | None:
    """Returns the format that a file's first HEAD_BYTES show; None if it is not one we read.

    A PDF may begin with junk, but then only a file named .pdf is taken for one: texts quote "%PDF-" too. It may be
    gzipped.
    """
    for magic, kind in _MAGIC:
        if re.match(magic, head, re.DOTALL):
            return kind
    if head[4:8] == b"ftyp":
        brands = {head[at : at + 4] for at in range(8, min(int.from_bytes(head[:4]), len(head)), 4)}
        return next((kind for known, kind in _BRANDS if head[8:12] in known or known & brands), None)
    if head.startswith(file_access.GZIP_MAGIC):
        return (
            "PDF"
            if by_content(file_access.start_of_packed(head), name.removesuffix(_GZIPPED)) == "PDF"
            else None
        )
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"%PDF-") or (b"%PDF-" in head and by_name(name) == "PDF"):
        return "PDF"
    return None


def video_by_name(path: str) -> Container | None:
    """Returns the container of a video that the file's name claims, if any."""
    return _VIDEO_SUFFIXES.get(PurePath(path).suffix.lower())


def video_by_content(head: bytes) -> Container | None:
    """Returns the container of a video that a file's first HEAD_BYTES show, if any.

    Containers of sound alone are among them: only their streams tell.
    """
    for magic, container in _VIDEO_MAGIC:
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


def claimed(path: str, *, videos: bool) -> str | None:
    """Returns what a file's name claims: a format that we read, or "video". videos: whether these are read."""
    return "video" if videos and video_by_name(path) else by_name(path)


def found(head: bytes, name: str, *, videos: bool) -> Format | Container | None:
    """Returns what a file's first HEAD_BYTES show of what we read. videos: whether these are read."""
    return by_content(head, name) or (video_by_content(head) if videos else None)


def is_own_database(head: bytes) -> bool:
    """Returns whether these are the first 100 bytes of a database that this program wrote."""
    return head.startswith(_SQLITE_MAGIC) and head[68:72] == _APPLICATION_ID


def is_web_page(head: bytes) -> bool:
    """Returns whether a file begins as HTML does."""
    return head[:256].lstrip().lower().startswith((b"<!doctype html", b"<html"))


def describe(head: bytes) -> str:
    """Returns a few words on how a file begins whose content is not what its name claims."""
    if not head.strip(b"\x00"):
        return "nothing but zero bytes"
    if is_web_page(head):
        return "a web page (a failed download?)"
    return repr(head[:16])[1:]
