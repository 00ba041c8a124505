"""Documents of other kinds are named by their content, with what to do; prose and unknown archives are not."""

import io
import zipfile

import pytest

from pipeline.documents.other_documents import other_document
from pipeline.documents.settings import IngestSettings
from pipeline.stages.discover import probe
from tests.pipeline.conftest import Batch

MAIL = b"Received: from mx\r\nFrom: a@example.org\r\nTo: b@example.org\r\nSubject: berths\r\n\r\nGood morning"


def archive(*names: str, kind: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        if kind:
            packed.writestr(zipfile.ZipInfo("mimetype"), kind)
        for number in range(300):
            packed.writestr(f"media/image{number}.bin", bytes(400))
        for name in names:
            packed.writestr(name, "<x/>")
    return out.getvalue()


def compound(stream: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100_000) + stream.encode("utf-16-le") + bytes(900)


KINDS = {
    "DOCX": archive("[Content_Types].xml", "word/document.xml"),
    "PPTX": archive("[Content_Types].xml", "ppt/presentation.xml"),
    "XLSX": archive("[Content_Types].xml", "xl/workbook.xml"),
    "ODT": archive(kind="application/vnd.oasis.opendocument.text"),
    "ODS": archive(kind="application/vnd.oasis.opendocument.spreadsheet"),
    "EPUB": archive(kind="application/epub+zip"),
    "DOC": compound("WordDocument"),
    "XLS": compound("Workbook"),
    "MSG": compound("__substg1.0_"),
    "RTF": b"{\\rtf1\\ansi Good morning}",
    "HTML": b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- saved -->\n<html xmlns='x'><body>",
    "EML": MAIL,
}
# Those whose name tells nothing, or that are not converted to PDF alone.
OTHERS = {
    "ddjvu -format=pdf": b"AT&TFORM\0\0\x10\0DJVMDIRM",
    "ps2pdf": b"%!PS-Adobe-3.0\n",
    "ps2pdf -dEPSCrop": b"\x04%!PS-Adobe-3.0 EPSF-3.0\n",
    "Ghostscript": b"\x1b%-12345X@PJL JOB\n@PJL ENTER LANGUAGE=POSTSCRIPT\n%!PS\n",
    "rsvg-convert": b"<?xml version='1.0'?>\n<!-- drawn -->\n<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN'>\n<svg>",
    "from a browser": b"From: <Saved by Blink>\r\nSubject: x\r\nDate: x\r\nMIME-Version: 1.0\r\n",
    "(FB2)": b"<?xml version='1.0'?><FictionBook xmlns='x'>",
    "(MOBI)": b"A book".ljust(60, b"\0") + b"BOOKMOBI",
    "(CHM)": b"ITSF\3\0\0\0",
    "(PSD)": b"8BPS\0\1",
    "(JPEG XL)": b"\0\0\0\x0cJXL \r\n\x87\n",
    "jbig2dec": b"\x97JB2\r\n\x1a\n",
    "EMF": b"\1" + bytes(39) + b" EMF",
    "mutool convert": archive("FixedDocSeq.fdseq"),
    "(VSDX)": archive("visio/document.xml"),
    "(VSD)": compound("VisioDocument"),
    "Keynote": archive("Index/Document.iwa", "preview.jpg"),
    "unpack it first": archive("letters/May.PDF"),
}


@pytest.mark.parametrize("told", OTHERS)
def test_drawings_books_and_archives_are_named_with_what_to_do(tmp_path, told):
    (tmp_path / "a").write_bytes(OTHERS[told])
    document = probe(str(tmp_path / "a"), IngestSettings())
    assert (document.status, document.is_told) == ("skipped", True)
    assert told in str(document.reason)


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_named_whatever_their_name(tmp_path, kind):
    for name in ("a", "a.dat"):
        (tmp_path / name).write_bytes(KINDS[kind])
        document = probe(str(tmp_path / name), IngestSettings())
        assert (document.status, document.is_told, document.sha256) == ("skipped", True, None)
        assert f"({kind})" in str(document.reason)
        assert "to PDF first" in str(document.reason)
    if kind == "HTML":  # under a PDF's name a failed download
        return
    (tmp_path / "a.pdf").write_bytes(KINDS[kind])
    misnamed = probe(str(tmp_path / "a.pdf"), IngestSettings())
    assert (misnamed.status, misnamed.is_told) == ("broken", False)
    assert f"({kind})" in str(misnamed.reason)


@pytest.mark.parametrize(
    "content",
    [b"", b"From: me\nTo: you\nthe rest is prose", b"Note: From: To: Subject:", b"<p>html</p>", b"{rtf", b"%PS",
     archive("a.txt"), b"(%!PS is how PostScript begins)",
     b"P1 Introduction\n12 pages", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), b"import os\n"],
)  # fmt: skip
def test_nothing_else_is_named(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with open(tmp_path / "a", "rb") as file:
        assert other_document(file) == ""


def test_a_run_s_end_says_what_was_not_read_and_what_to_do(batch: Batch) -> None:
    for name in ("a.docx", "b.docx"):
        (batch.docs / name).write_bytes(KINDS["DOCX"])
    (batch.docs / "c.txt").write_text("prose")
    summary = batch.run()
    assert summary.exit_code == 0
    (line,) = [line for line in summary.lines() if "of them" in line]
    assert line.startswith(
        "  2 of them: a Word document (DOCX), which is not read here; convert it to PDF first"
    )


@pytest.mark.timeout(20)
def test_a_web_page_s_many_comments_take_no_time() -> None:
    """They may be parted in only one way: in several, thirty would take hours."""
    assert other_document(io.BytesIO(b"<!---->" * 5000 + b"no page")) == ""
    assert "HTML" in other_document(io.BytesIO(b"<!-- a --> <!-- > -->\n<html>"))
