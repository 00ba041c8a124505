"""Finds what is missing on a drawn PDF page because its file is damaged. Runs in workers.

MuPDF's warnings tell most of it; the pictures' data tells what no decoder reports
(pipeline.documents.damage.picture_data).
"""

from collections.abc import Iterator
from typing import Any

import pymupdf

from pipeline.documents.damage import complaints, picture_data

# A resource dictionary that a whole document shares says nothing about one page.
_MOST_PICTURES = 16
# Smaller pictures hold no text to speak of.
_MIN_PX = 100_000
_ERRORS = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError)


def missing_message(document: Any, index: int, *, from_pixels: bool = True) -> str:
    """Returns a sentence, with MuPDF's warnings, that says what is missing in a drawn page's pixels; "" for nothing.

    Call it right after drawing: it uses MuPDF's warnings since the document was handed out. from_pixels: False asks
    what is missing in the page's text layer, which has the letters even of a font that cannot be used.
    """
    lines = complaints.said()
    found = complaints.losses(lines)
    whole = _are_whole(document, index)
    if found.get("picture") == [complaints.SHORT_PICTURE] and whole is True:
        del found["picture"]  # it has fewer rows than it declares, but all that were written
    if whole is False and "picture" not in found:
        found["picture"] = []  # no warning mentions it
    if complaints.CUT_FLATE in lines and "content" not in found and _is_content_cut(document, index):
        found["content"] = [complaints.CUT_FLATE]
    if not from_pixels:
        found.pop("font", None)
    return complaints.sentence(found)


def blank_reason(document: Any, index: int) -> str:
    """Returns a sentence with the possible reason why a page looks blank; "" if there is none.

    Call it after `missing_message`.
    """
    suspicious = complaints.suspicions(complaints.said())
    if suspicious:
        return complaints.sentence({"content": suspicious})
    try:
        content = bytes(document.load_page(index).read_contents())
    except _ERRORS:
        return complaints.sentence({"content": complaints.suspicions(complaints.said())})
    # PDF treats zeros as white space, but no program writes them.
    return f"{complaints.WORDS['content']}: its content is zeros" if _is_zeros(content) else ""


def _is_zeros(content: bytes) -> bool:
    return b"\0" in content and not content.strip(b"\0 \t\r\n\f")


def _are_whole(document: Any, index: int) -> bool | None:
    """Returns False if a picture's data is damaged, True if all is whole, None if that cannot be told."""
    verdicts: set[bool | None] = set()
    try:
        for name, data in _pictures(document, index):
            verdicts.add(picture_data.is_whole(name, data))
    except _ERRORS:
        return None
    return False if False in verdicts else True if verdicts == {True} else None


def _pictures(document: Any, index: int) -> Iterator[tuple[str, bytes]]:
    """Yields filter and data of every larger picture of a page; the filter is "" or a list where there are several."""
    listed = {picture[0]: picture for picture in document.get_page_images(index, full=True)}
    if len(listed) > _MOST_PICTURES:
        return
    for xref, picture in listed.items():
        if xref and picture[2] * picture[3] >= _MIN_PX:
            kind, value = document.xref_get_key(xref, "Filter")
            name = value.strip("[] ") if kind in ("name", "array") else ""
            yield name, document.xref_stream_raw(xref) or b""


def _is_content_cut(document: Any, index: int) -> bool:
    try:
        page = document.load_page(index)
        streams = [*page.get_contents(), *(form[0] for form in page.get_xobjects())]
        return any(
            picture_data.is_cut(document.xref_stream_raw(xref) or b"")
            for xref in streams
            if document.xref_get_key(xref, "Filter")[1].strip("[] ") == "/FlateDecode"
        )
    except _ERRORS:
        return True
