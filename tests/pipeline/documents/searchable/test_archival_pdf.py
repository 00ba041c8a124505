"""A PDF/A has the words and the look of its document, and is none where that cannot be."""

import io
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pikepdf
import pymupdf
import pytest

from pipeline.documents.searchable.archival_pdf import NotArchivalError, archival
from pipeline.documents.searchable.searchable_pdf import NotSearchableError, searchable
from tests.pipeline.documents.searchable.test_searchable_pdf import WORDS, a_page, a_scan

pytest.importorskip("jsonschema", reason="needs the extra pdfa")


def test_a_scan_with_words_becomes_one(tmp_path: Path) -> None:
    text, _ = a_page(400, 600)
    scan = searchable(a_scan(), "PDF", [text])
    made = tmp_path / "made.pdf"
    made.write_bytes(archival(scan))
    with pymupdf.open("pdf", scan) as before, pymupdf.open(made) as after:
        assert sorted(after[0].get_text().split()) == sorted(WORDS)
        # The output intent's sRGB is rounded otherwise than MuPDF's own.
        drawn = [
            np.frombuffer(one[0].get_pixmap(dpi=72).samples, np.uint8).astype(int) for one in (before, after)
        ]
        assert np.abs(drawn[0] - drawn[1]).max() <= 2
        assert after.get_toc() == [[1, "Chapter", 1]]
    with pikepdf.open(made) as pdf:
        assert pdf.open_metadata().pdfa_status == "2B"
        assert pdf.Root.OutputIntents[0].S == "/GTS_PDFA1"
    if shutil.which("qpdf"):
        assert subprocess.run(["qpdf", "--check", made], capture_output=True, check=False).returncode == 0


def test_a_page_that_does_not_conform_is_named() -> None:
    """Helvetica is not within the file."""
    with pymupdf.open() as made:
        made.new_page().insert_text((72, 72), "not embedded")
        data = made.tobytes()
    for by_ghostscript in (False, True):
        with pytest.raises(NotArchivalError, match="is not embedded"):
            archival(data, by_ghostscript=by_ghostscript)


@pytest.mark.parametrize("change", ["needs a password", "is encrypted", "is signed", "is damaged"])
def test_what_must_not_be_changed_is_left_out(change: str) -> None:
    data = io.BytesIO()
    with pikepdf.open(io.BytesIO(a_scan())) as pdf:
        if change == "is signed":
            pdf.Root.AcroForm = pikepdf.Dictionary(SigFlags=3, Fields=pikepdf.Array())
        users = {"needs a password": "secret", "is encrypted": ""}
        locked = pikepdf.Encryption(user=users[change], owner="owner") if change in users else False
        pdf.save(data, encryption=locked)
    content = b"%PDF-1.7\n" + bytes(500) if change == "is damaged" else data.getvalue()
    with pytest.raises(NotSearchableError, match=change):
        archival(content)
