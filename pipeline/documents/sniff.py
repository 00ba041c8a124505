"""Recognises a file's format by its first bytes; its name is only a claim. Uses the standard library only."""

from pathlib import PurePath
from typing import Literal

HEAD_BYTES = 1024

Format = Literal["PDF", "PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "JPEG2000"]

_SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((".pdf",), "PDF"),
    **dict.fromkeys((".png",), "PNG"),
    **dict.fromkeys((".jpg", ".jpeg", ".jpe", ".jfif"), "JPEG"),
    **dict.fromkeys((".tif", ".tiff"), "TIFF"),
    **dict.fromkeys((".webp",), "WEBP"),
    **dict.fromkeys((".bmp", ".dib"), "BMP"),
    **dict.fromkeys((".gif",), "GIF"),
    **dict.fromkeys((".jp2", ".j2k", ".j2c", ".jpc", ".jpf", ".jpx"), "JPEG2000"),
}

_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"II+\x00", "TIFF"),
    (b"MM\x00+", "TIFF"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "JPEG2000"),
    (b"\xff\x4f\xff\x51", "JPEG2000"),
)
_BMP_HEADER_SIZES = (12, 16, 40, 52, 56, 64, 108, 124)
_SQLITE_MAGIC = b"SQLite format 3\x00"
# PRAGMA application_id of this program's databases: "ocrb".
_APPLICATION_ID = b"ocrb"


def by_name(path: str) -> Format | None:
    """Returns the format that the file's name claims; None if that is not one we read."""
    return _SUFFIXES.get(PurePath(path).suffix.lower())


def by_content(head: bytes, name: str) -> Format | None:
    """Returns the format that a file's first HEAD_BYTES show; None if it is not one we read.

    A PDF may begin with junk, but then only a file named .pdf is taken for one: texts quote "%PDF-" too.
    """
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "WEBP"
    if head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in _BMP_HEADER_SIZES:
        return "BMP"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"%PDF-") or (b"%PDF-" in head and by_name(name) == "PDF"):
        return "PDF"
    return None


def is_own_database(head: bytes) -> bool:
    """Returns whether these are the first 100 bytes of a database that this program wrote."""
    return head.startswith(_SQLITE_MAGIC) and head[68:72] == _APPLICATION_ID


def describe(head: bytes) -> str:
    """Returns a few words on how a file begins whose content is not what its name claims."""
    if not head.strip(b"\x00"):
        return "nothing but zero bytes"
    lowered = head[:256].lstrip().lower()
    if lowered.startswith((b"<!doctype html", b"<html")):
        return "a web page (a failed download?)"
    return repr(head[:16])[1:]
