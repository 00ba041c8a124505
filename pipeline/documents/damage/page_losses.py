"""Finds what is missing on a drawn PDF page because its file is damaged. Runs in workers.

MuPDF's warnings tell most of it; the pictures' data tells what no decoder reports
(pipeline.documents.damage.picture_data).
"""

from typing import Any

import pymupdf

from pipeline.documents import enclosed
from pipeline.documents.damage import complaints, picture_data

# A resource dictionary that a whole document shares says nothing about one page: it lists more pictures than this, of
# more pixels in all than a page that was scanned in strips.
_MOST_PICTURES, _MOST_PX = 16, 40_000_000
# Smaller pictures hold no text to speak of.
_MIN_PX = 20_000
_ERRORS = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError)


def missing_message(document: Any, index: int, *, from_pixels: bool = True) -> str:
    """Returns a sentence, with MuPDF's warnings, that says what is missing in a drawn page's pixels; "" for nothing.

    So is all that the document holds instead of its pages, as a portfolio does.

    Call it right after drawing: it uses MuPDF's warnings since the document was handed out. from_pixels: False asks
    what is missing in the page's text layer, which has the letters even of a font that cannot be used.
    """
    lines = complaints.said()
    found = complaints.losses(lines)
    if _is_damaged(document, index):
        found.setdefault("picture", [])  # no warning need mention it
    elif found.get("picture") == [complaints.SHORT_PICTURE] and not _lacks_rows(document, index):
        del found["picture"]  # a few rows less than it declares
    if complaints.CUT_FLATE in lines and "content" not in found and _is_content_cut(document, index):
        found["content"] = [complaints.CUT_FLATE]
    if not from_pixels:
        found.pop("font", None)
    return "; ".join(filter(None, (complaints.sentence(found), enclosed.instead_of_pages(document, index))))


def blank_reason(document: Any, index: int) -> str:
    """Returns a sentence with the possible reason why a page looks blank; "" if there is none.

    Call it after `missing_message`.
    """
    try:
        content = bytes(document.load_page(index).read_contents())
    except _ERRORS:
        return complaints.sentence({"content": complaints.suspicions(complaints.said())})
    suspicious = complaints.suspicions(complaints.said())
    if any(content or line != complaints.CUT_FLATE for line in suspicious):  # an empty stream ends too soon
        return complaints.sentence({"content": suspicious})
    # PDF treats zeros as white space, but no program writes them.
    is_zeros = b"\0" in content and not content.strip(b"\0 \t\r\n\f")
    return f"{complaints.WORDS['content']}: its content is zeros" if is_zeros else ""


def _is_damaged(document: Any, index: int) -> bool:
    """Returns whether a larger picture's data shows that some of it is lost."""
    try:
        for xref, _ in _larger(document, index):
            kind, value = document.xref_get_key(xref, "Filter")
            # "" or a list where there are several.
            name = value.strip("[] ") if kind in ("name", "array") else ""
            if picture_data.is_damaged(name, document.xref_stream_raw(xref) or b""):
                return True
    except _ERRORS:
        return False
    return False


def _larger(document: Any, index: int) -> list[tuple[int, Any]]:
    """Returns number and description (pymupdf.Document.get_page_images) of a page's larger pictures."""
    listed = {picture[0]: picture for picture in document.get_page_images(index, full=True) if picture[0]}
    sizes_px = {xref: picture[2] * picture[3] for xref, picture in listed.items()}
    if len(listed) > _MOST_PICTURES and sum(sizes_px.values()) > _MOST_PX:
        return []
    return [(xref, picture) for xref, picture in listed.items() if sizes_px[xref] >= _MIN_PX]


def _lacks_rows(document: Any, index: int) -> bool:
    """Returns whether the data of a larger picture unpacks to clearly fewer rows than it has, or none is there."""
    try:
        pictures = _larger(document, index)
        for xref, picture in pictures:
            pixmap = pymupdf.Pixmap(document, xref)
            channels = 1 if picture[5] == "Indexed" or pixmap.colorspace is None else pixmap.colorspace.n
            row_bytes = -(-picture[2] * (picture[4] or 1) * channels // 8)
            if picture_data.lacks_rows(len(document.xref_stream(xref) or b"") // row_bytes, picture[3]):
                return True
    except _ERRORS:
        return True
    return not pictures


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
