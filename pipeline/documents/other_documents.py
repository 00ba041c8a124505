"""Names documents that are not read here, by their content, and says what to do with them. Standard library only."""

import os
import re
from typing import BinaryIO

_EDGE_BYTES = 1 << 16
_TO_PDF = "convert it to PDF first, e.g. with"
_BY_LIBREOFFICE = f"{_TO_PDF} LibreOffice: soffice --headless --convert-to pdf FILE"
_PRINTED = "print it to PDF first, from a browser"
_MAIL = "print it to PDF first, from a mail program, and save its attachments as files"
_BOOK = f"{_TO_PDF} calibre: ebook-convert FILE FILE.pdf"
_PICTURE = f"{_TO_PDF} ImageMagick: magick FILE FILE.pdf"
_OPENDOCUMENT = rb"application/vnd\.oasis\.opendocument"
# Of a file's begin, in which XML may say something ahead of its first element, and PostScript to its printer.
_XML = rb"(?i)(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+)?"
_AT_START: tuple[tuple[bytes, str, str], ...] = (
    (rb"AT&TFORM....DJV", "a DjVu document", f"{_TO_PDF} DjVuLibre: ddjvu -format=pdf FILE FILE.pdf"),
    (rb"\x04?(?:\x1b%-12345X(?:@PJL[^\n]*\n)+)?%!PS|\xc5\xd0\xd3\xc6", "a PostScript document (PS, EPS)",
     f"{_TO_PDF} Ghostscript: ps2pdf -dEPSCrop FILE FILE.pdf"),
    (_XML + rb"html\b|From: <Saved by ", "a web page (HTML)", _PRINTED),
    (_XML + rb"svg\b", "a drawing (SVG)", f"{_TO_PDF} librsvg: rsvg-convert -f pdf -o FILE.pdf FILE"),
    (_XML + rb"FictionBook\b", "an electronic book (FB2)", _BOOK),
    (rb".{60}BOOKMOBI", "an electronic book (MOBI)", _BOOK),
    (rb"ITSF[\x02\x03]\0\0\0", "a help file (CHM)", _BOOK),
    (rb"{\\rtf", "a rich text document (RTF)", _BY_LIBREOFFICE),
    (rb"\xd7\xcd\xc6\x9a|\x01\0\0\0.{36} EMF", "a drawing (WMF, EMF)", _BY_LIBREOFFICE),
    (rb"8BPS\0[\x01\x02]", "a Photoshop picture (PSD)", _PICTURE),
    (rb"\0\0\0\x0cJXL \r\n\x87\n", "a picture (JPEG XL)", _PICTURE),
    (rb"\x97JB2\r\n", "a picture (JBIG2)", "convert it first, e.g. with jbig2dec: jbig2dec -o FILE.png FILE"),
)  # fmt: skip
# In archives: names of files in the list at their end, and the media type at the begin of those that have one.
_IN_ZIP: tuple[tuple[bytes, str, str], ...] = (
    (rb"word/document", "a Word document (DOCX)", _BY_LIBREOFFICE),
    (rb"ppt/presentation", "a PowerPoint presentation (PPTX)", _BY_LIBREOFFICE),
    (rb"xl/workbook", "an Excel spreadsheet (XLSX)", _BY_LIBREOFFICE),
    (rb"visio/document", "a Visio drawing (VSDX)", _BY_LIBREOFFICE),
    (_OPENDOCUMENT + rb"\.text", "an OpenDocument text (ODT)", _BY_LIBREOFFICE),
    (_OPENDOCUMENT + rb"\.spreadsheet", "an OpenDocument spreadsheet (ODS)", _BY_LIBREOFFICE),
    (_OPENDOCUMENT + rb"\.presentation", "an OpenDocument presentation (ODP)", _BY_LIBREOFFICE),
    (_OPENDOCUMENT, "an OpenDocument file", _BY_LIBREOFFICE),
    (rb"application/epub\+zip", "an electronic book (EPUB)", _BOOK),
    (rb"Index/Document\.iwa", "a document of Pages, Numbers or Keynote", "export it to PDF first, on a Mac"),
    (rb"FixedDoc", "an XPS document", f"{_TO_PDF} MuPDF: mutool convert -o FILE.pdf FILE"),
    (rb"(?i)PK\x01\x02.{42}[^\0]{1,250}?\.(?:pdf|tiff?|jpe?g)", "an archive (ZIP) of PDFs or pictures",
     "unpack it first"),
)  # fmt: skip
# In the compound files of old programs: names of streams, in UTF-16.
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IN_COMPOUND: tuple[tuple[bytes, str, str], ...] = (
    ("WordDocument".encode("utf-16-le"), "a Word document (DOC)", _BY_LIBREOFFICE),
    ("PowerPoint Document".encode("utf-16-le"), "a PowerPoint presentation (PPT)", _BY_LIBREOFFICE),
    ("Workbook".encode("utf-16-le"), "an Excel spreadsheet (XLS)", _BY_LIBREOFFICE),
    ("VisioDocument".encode("utf-16-le"), "a Visio drawing (VSD)", _BY_LIBREOFFICE),
    ("__substg1.0_".encode("utf-16-le"), "an Outlook message (MSG)", _MAIL),
)
_HEADER = re.compile(rb"(?:[A-Za-z][A-Za-z0-9-]*:[ \t]|From [^\s:]+ )")
_MAIL_HEADERS = re.compile(
    rb"^(?:From|To|Subject|Date|Received|Message-ID|Return-Path|MIME-Version|Delivered-To):[ \t]",
    re.IGNORECASE | re.MULTILINE,
)
_TOLD = "{}, which is not read here; {}"


def other_document(file: BinaryIO) -> str:
    """Returns what a file is, as in "a Word document (DOCX), ...", with what to do; "" where it is none of these.

    file: open for reading; its begin and its end are looked at.
    """
    file.seek(0)
    head = file.read(_EDGE_BYTES)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    table, places = _AT_START, [start]
    if head.startswith((b"PK\x03\x04", _COMPOUND)):
        file.seek(max(len(head), os.fstat(file.fileno()).st_size - _EDGE_BYTES))
        table, places = _IN_ZIP if head.startswith(b"PK") else _IN_COMPOUND, [head, file.read()]
    found = re.match if table is _AT_START else re.search
    for mark, what, todo in table:
        if any(found(mark, place, re.DOTALL) for place in places):
            return _TOLD.format(what, todo)
    if _HEADER.match(start) and len({name.lower() for name in _MAIL_HEADERS.findall(start)}) >= 3:
        return _TOLD.format("an e-mail (EML)", _MAIL)
    return ""
