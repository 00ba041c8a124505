"""Names documents that are not read here, by their content, and says what to do with them. Standard library only."""

import os
import re
from typing import BinaryIO

_EDGE_BYTES = 1 << 16
_BY_LIBREOFFICE = "convert it to PDF first, e.g. with LibreOffice: soffice --headless --convert-to pdf FILE"
_PRINTED = "print it to PDF first, from a browser"
_MAIL = "print it to PDF first, from a mail program, and save its attachments as files"
_BOOK = "convert it to PDF first, e.g. with calibre: ebook-convert FILE FILE.pdf"
# In archives: names of files in the list at their end, and the media type at the begin of those that have one.
_IN_ZIP: tuple[tuple[bytes, str, str], ...] = (
    (b"word/document", "a Word document (DOCX)", _BY_LIBREOFFICE),
    (b"ppt/presentation", "a PowerPoint presentation (PPTX)", _BY_LIBREOFFICE),
    (b"xl/workbook", "an Excel spreadsheet (XLSX)", _BY_LIBREOFFICE),
    (b"application/vnd.oasis.opendocument.text", "an OpenDocument text (ODT)", _BY_LIBREOFFICE),
    (b"application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet (ODS)", _BY_LIBREOFFICE),
    (b"application/vnd.oasis.opendocument.presentation", "an OpenDocument presentation (ODP)", _BY_LIBREOFFICE),
    (b"application/vnd.oasis.opendocument", "an OpenDocument file", _BY_LIBREOFFICE),
    (b"application/epub+zip", "an electronic book (EPUB)", _BOOK),
)  # fmt: skip
# In the compound files of old programs: names of streams, in UTF-16.
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IN_COMPOUND: tuple[tuple[bytes, str, str], ...] = (
    ("WordDocument".encode("utf-16-le"), "a Word document (DOC)", _BY_LIBREOFFICE),
    ("PowerPoint Document".encode("utf-16-le"), "a PowerPoint presentation (PPT)", _BY_LIBREOFFICE),
    ("Workbook".encode("utf-16-le"), "an Excel spreadsheet (XLS)", _BY_LIBREOFFICE),
    ("__substg1.0_".encode("utf-16-le"), "an Outlook message (MSG)", _MAIL),
)
_HTML = re.compile(
    rb"(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>])", re.IGNORECASE | re.DOTALL
)
_HEADER = re.compile(rb"(?:[A-Za-z][A-Za-z0-9-]*:[ \t]|From [^\s:]+ )")
_MAIL_HEADERS = re.compile(
    rb"^(?:From|To|Subject|Date|Received|Message-ID|Return-Path|MIME-Version|Delivered-To):[ \t]",
    re.IGNORECASE | re.MULTILINE,
)
_FEWEST_HEADERS = 3


def other_document(file: BinaryIO) -> str:
    """Returns what a file is, as in "a Word document (DOCX), ...", with what to do; "" where it is none of these.

    file: open for reading; its begin and its end are looked at.
    """
    file.seek(0)
    head = file.read(_EDGE_BYTES)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"PK\x03\x04", _COMPOUND)):
        file.seek(max(len(head), os.fstat(file.fileno()).st_size - _EDGE_BYTES))
        tail, table = file.read(), _IN_ZIP if head.startswith(b"PK") else _IN_COMPOUND
        return next((_told(what, todo) for mark, what, todo in table if mark in head or mark in tail), "")
    if start.startswith(b"{\\rtf"):
        return _told("a rich text document (RTF)", _BY_LIBREOFFICE)
    if _HTML.match(start):
        return _told("a web page (HTML)", _PRINTED)
    if (
        _HEADER.match(start)
        and len({name.lower() for name in _MAIL_HEADERS.findall(start)}) >= _FEWEST_HEADERS
    ):
        return _told("an e-mail (EML)", _MAIL)
    return ""


def _told(what: str, todo: str) -> str:
    return f"{what}, which is not read here; {todo}"
