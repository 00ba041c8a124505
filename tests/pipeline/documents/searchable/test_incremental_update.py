"""Text that is appended to a signed PDF leaves every signed byte, and is found by readers."""

import hashlib
import io
import re
import shutil
import subprocess
from pathlib import Path

import pikepdf
import pymupdf
import pytest

from pipeline.documents.searchable.searchable_pdf import NotSearchableError, searchable
from tests.pipeline.documents.searchable.test_searchable_pdf import WORDS, a_page, a_scan

_HOLE = 64


def signed(**root: object) -> bytes:
    """A PDF of two pages that share resources, with a signature that holds the SHA-256 of all bytes but its own."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(a_scan())) as pdf:
        pdf.pages.append(pdf.pages[0])
        value = pikepdf.Dictionary(
            Type=pikepdf.Name.Sig, Contents=pikepdf.String("\0" * _HOLE), ByteRange=[0, 10**9, 10**9, 10**9]
        )
        field = pdf.make_indirect(pikepdf.Dictionary(FT=pikepdf.Name.Sig, V=pdf.make_indirect(value)))
        pdf.Root.AcroForm = pikepdf.Dictionary(SigFlags=3, Fields=[field])
        for key, item in root.items():
            pdf.Root[f"/{key}"] = item
        pdf.save(out, object_stream_mode=pikepdf.ObjectStreamMode.disable)
    data = out.getvalue()
    hole = re.search(rb"/Contents (\((?:\\000|\0)+\)|<0+>)", data)
    assert hole is not None
    start, end = hole.span(1)
    wanted = b"[ 0 %d %d %d ]" % (start, end, len(data) - end)
    place = b"[ 0 1000000000 1000000000 1000000000 ]"
    data = data.replace(place, wanted.ljust(len(place)))
    digest = hashlib.sha256(data[:start] + data[end:]).hexdigest().encode()
    return data[:start] + b"<" + digest.ljust(end - start - 2, b"0") + b">" + data[end:]


def is_valid(data: bytes) -> bool:
    found = re.search(rb"/ByteRange \[ (\d+) (\d+) (\d+) (\d+) \]", data)
    assert found is not None
    first, length, second, rest = map(int, found.groups())
    digest = hashlib.sha256(data[first : first + length] + data[second : second + rest]).hexdigest()
    return data[length + 1 :].startswith(digest.encode())


def test_a_signature_still_holds(tmp_path: Path) -> None:
    data = signed()
    assert is_valid(data)
    text, shown = a_page(400, 600)
    made = searchable(data, "PDF", [text])
    assert made.startswith(data)
    assert is_valid(made)
    with pymupdf.open("pdf", data) as before, pymupdf.open("pdf", made) as after:
        found = {word[4]: word[:4] for word in after[0].get_text("words")}
        for word, box in shown.items():
            assert found[word] == pytest.approx(box, abs=2), word
        assert after[1].get_text() == ""
        assert before[0].get_pixmap(dpi=50).samples == after[0].get_pixmap(dpi=50).samples
        assert after.get_toc() == [[1, "Chapter", 1]]
        assert not after.is_repaired
    if shutil.which("qpdf"):
        (tmp_path / "made.pdf").write_bytes(made)
        assert subprocess.run(["qpdf", "--check", tmp_path / "made.pdf"], check=False).returncode == 0


def test_a_document_with_a_cross_reference_stream_gets_another() -> None:
    with pikepdf.open(io.BytesIO(a_scan())) as pdf:
        pdf.Root.AcroForm = pikepdf.Dictionary(SigFlags=3, Fields=pikepdf.Array())
        pdf.save(out := io.BytesIO(), object_stream_mode=pikepdf.ObjectStreamMode.generate)
    data = out.getvalue()
    assert b"\ntrailer" not in data
    text, _ = a_page(400, 600)
    made = searchable(data, "PDF", [text])
    assert made.startswith(data)
    assert b"\ntrailer" not in made
    with pymupdf.open("pdf", made) as document, pikepdf.open(io.BytesIO(made)) as pdf:
        assert sorted(document[0].get_text().split()) == sorted(WORDS)
        assert not document.is_repaired
        assert pdf.check_pdf_syntax() == []


def test_what_was_certified_or_is_damaged_is_left_out() -> None:
    text, _ = a_page(400, 600)
    certified = signed(Perms=pikepdf.Dictionary(DocMDP=pikepdf.Dictionary()))
    with pytest.raises(NotSearchableError, match="may not be changed"):
        searchable(certified, "PDF", [text])
    cut = signed().rsplit(b"startxref", 1)[0]
    with pytest.raises(NotSearchableError, match="cross-reference table is damaged"):
        searchable(cut, "PDF", [text])
