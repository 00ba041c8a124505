"""Words stand where they were read, on pages of any rotation and crop; everything else of the document stays."""

import io
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pikepdf
import pymupdf
import pytest
from PIL import Image

from pipeline.documents.searchable.invisible_text import TextPage
from pipeline.documents.searchable.searchable_pdf import (
    NotArchivalError,
    NotSearchableError,
    archival,
    searchable,
)

SAMPLES = Path(__file__).parents[3] / "samples"
DPI = 150
WORDS = ["Größe", "naïve", "“quoted”", "Łódź", "Ελλάδα", "end."]


def a_scan(rotation: int = 0, crop: tuple[float, ...] | None = None) -> bytes:
    """A page with a drawing, a bookmark and no text."""
    with pymupdf.open() as made:
        page = made.new_page(width=400, height=600)
        page.draw_rect((50, 60, 350, 500), color=(1, 0, 0))
        if crop:
            page.set_cropbox(crop)
        page.set_rotation(rotation)
        made.set_toc([[1, "Chapter", 1]])
        content: bytes = made.tobytes()
        return content


def a_page(
    width_pt: float, height_pt: float, turned: int = 0
) -> tuple[TextPage, dict[str, tuple[float, ...]]]:
    """Words on a page that is shown so large, read after it was turned; and where they are shown, in points."""
    width, height = round(width_pt * DPI / 72), round(height_pt * DPI / 72)
    wide, high = (height, width) if turned in (90, 270) else (width, height)
    boxes = [(40 + 70 * k, 60 + 45 * k, 40 + 70 * k + 60, 60 + 45 * k + 22) for k in range(len(WORDS))]
    back = {
        0: lambda x, y: (x, y), 90: lambda x, y: (y, height - x), 180: lambda x, y: (width - x, height - y),
        270: lambda x, y: (width - y, x),
    }[turned]  # fmt: skip
    shown = {}
    for word, (x0, y0, x1, y1) in zip(WORDS, boxes, strict=True):
        corners = [back(x0, y0), back(x1, y1)]
        xs, ys = zip(*((x * 72 / DPI, y * 72 / DPI) for x, y in corners), strict=True)
        shown[word] = (min(xs), min(ys), max(xs), max(ys))
    words = list(zip(WORDS, boxes, strict=True))
    return TextPage(page_index=0, width_px=wide, height_px=high, rotation_deg=turned, words=words), shown


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (30, 40, 380, 560)])
def test_words_are_found_where_they_were_read(
    rotation: int, turned: int, crop: tuple[float, ...] | None
) -> None:
    scan = a_scan(rotation, crop)
    with pymupdf.open("pdf", scan) as document:
        text, shown = a_page(document[0].rect.width, document[0].rect.height, turned)
    made = searchable(scan, "PDF", [text])
    with pymupdf.open("pdf", made) as document:
        # PyMuPDF's places are those of the page before it is turned.
        turn = document[0].rotation_matrix
        found = {word[4]: tuple(pymupdf.Rect(word[:4]) * turn) for word in document[0].get_text("words")}
    assert set(found) == set(WORDS)
    for word, box in shown.items():
        assert found[word] == pytest.approx(box, abs=2), word


def test_the_page_and_the_bookmarks_stay() -> None:
    scan = a_scan()
    text, _ = a_page(400, 600)
    made = searchable(scan, "PDF", [text])
    with pymupdf.open("pdf", scan) as before, pymupdf.open("pdf", made) as after:
        assert before[0].get_drawings() == after[0].get_drawings()
        assert before[0].get_pixmap(dpi=72).samples == after[0].get_pixmap(dpi=72).samples
        assert after.get_toc() == [[1, "Chapter", 1]]
        assert after.page_count == 1


@pytest.mark.parametrize("times", [1, 2])
def test_pages_that_share_their_resources_have_their_own_words(times: int) -> None:
    """And a document that was made searchable before is made so again, with the words of the last time."""
    with pikepdf.open(io.BytesIO(a_scan())) as pdf:
        pdf.pages[0].obj.Resources = pdf.make_indirect(pikepdf.Dictionary())
        pdf.pages.append(pdf.pages[0])
        pdf.save(out := io.BytesIO())
    text, _ = a_page(400, 600)
    data = out.getvalue()
    for _ in range(times):
        data = searchable(data, "PDF", [replace(text, page_index=index) for index in (0, 1)])
    with pymupdf.open("pdf", data) as document:
        assert [sorted(page.get_text().split()) for page in document] == [sorted(WORDS)] * 2


def test_what_the_owner_allows_stays() -> None:
    locked = io.BytesIO()
    with pikepdf.open(io.BytesIO(a_scan())) as pdf:
        allowed = pikepdf.Permissions(modify_other=False)
        pdf.save(locked, encryption=pikepdf.Encryption(user="", owner="owner", allow=allowed))
    text, _ = a_page(400, 600)
    made = searchable(locked.getvalue(), "PDF", [text])
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert pdf.is_encrypted
        assert not pdf.allow.modify_other
    with pymupdf.open("pdf", made) as document:
        assert sorted(document[0].get_text().split()) == sorted(WORDS)


def test_a_document_without_words_to_add_is_the_same_to_the_byte() -> None:
    scan = a_scan()
    assert (
        searchable(scan, "PDF", [TextPage(page_index=0, width_px=1, height_px=1, rotation_deg=0, words=[])])
        == scan
    )


LINES = [["Turn", "a", "page", "in", "a", "night"], ["I", "&", "5", "or", "6", "–", "x"]]


def closely_set() -> TextPage:
    """Two lines whose words stand a tenth of an em apart, many of one letter."""
    words: list[tuple[str, tuple[float, float, float, float]]] = []
    for number, line in enumerate(LINES):
        x, top = 40.0, 60.0 + 50 * number
        for word in line:
            words.append((word, (x, top, x + 12 * len(word), top + 30)))
            x += 12 * len(word) + 3
    return TextPage(page_index=0, width_px=833, height_px=1250, rotation_deg=0, words=words)


def as_read_by(program: str, file: Path) -> str:
    if program == "mupdf":
        with pymupdf.open(file) as document:
            return str(document[0].get_text())
    if program == "pdfium":
        pdfium = pytest.importorskip("pypdfium2")
        return str(pdfium.PdfDocument(file)[0].get_textpage().get_text_range())
    if not shutil.which(program):
        pytest.skip("needs poppler-utils")
    return subprocess.run([program, file, "-"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("program", ["mupdf", "pdfium", "pdftotext"])
def test_words_of_a_line_are_parted_by_spaces(program: str, tmp_path: Path) -> None:
    """Also in PDFium, which is Chrome's, and in pdftotext, which goes by the white between them."""
    file = tmp_path / "a.pdf"
    file.write_bytes(searchable(a_scan(), "PDF", [closely_set()]))
    found = [line.split() for line in as_read_by(program, file).splitlines() if line.strip()]
    assert found == LINES


@pytest.mark.parametrize(
    ("name", "kind"), [("photo.jpg", "JPEG"), ("letter.png", "PNG"), ("fax.tiff", "TIFF")]
)
def test_a_picture_becomes_a_pdf_of_it(name: str, kind: Any) -> None:
    data = (SAMPLES / name).read_bytes()
    text, shown = a_page(300, 400)
    made = searchable(data, kind, [text])
    with pymupdf.open("pdf", made) as document:
        page = document[0]
        across, down = page.rect.width / 300, page.rect.height / 400
        found = {word[4]: word[:4] for word in page.get_text("words")}
        for word, (x0, y0, x1, y1) in shown.items():
            assert found[word] == pytest.approx((x0 * across, y0 * down, x1 * across, y1 * down), abs=2)
        if kind == "JPEG":
            assert page.get_images()[0][8] == "DCTDecode"
    assert len(made) < 2.5 * len(data)


@pytest.mark.parametrize(("kind", "turn_deg"), [("PNG", 90), ("WEBP", 90), ("WEBP", 0)])
def test_a_picture_that_lay_on_its_side_or_that_mupdf_cannot_read_is_shown(kind: Any, turn_deg: Any) -> None:
    size_px = (600, 500) if turn_deg else (500, 600)
    picture = io.BytesIO()
    Image.new("RGB", size_px, (200, 220, 240)).save(picture, kind, lossless=True)
    text, _ = a_page(*(side * 72 / DPI for side in size_px), turn_deg)
    with pymupdf.open("pdf", searchable(picture.getvalue(), kind, [text])) as made:
        assert made[0].rect.height > made[0].rect.width
        assert sorted(made[0].get_text().split()) == sorted(WORDS)


@pytest.mark.parametrize(("reason", "change"), [("needs a password", "lock"), ("is damaged", "cut")])
def test_what_text_cannot_be_added_to_is_left_out(reason: str, change: str) -> None:
    content = a_scan()
    if change == "cut":
        content = b"%PDF-1.7\n" + bytes(500)
    else:
        with pikepdf.open(io.BytesIO(content)) as pdf:
            out = io.BytesIO()
            pdf.save(out, encryption=pikepdf.Encryption(user="secret", owner="o"))
        content = out.getvalue()
    text, _ = a_page(400, 600)
    with pytest.raises(NotSearchableError, match=reason):
        searchable(content, "PDF", [text])


@pytest.mark.skipif(
    not (shutil.which("qpdf") and shutil.which("pdftotext")), reason="needs qpdf and poppler-utils"
)
def test_other_programs_accept_it(tmp_path: Path) -> None:
    text, shown = a_page(400, 600)
    file = tmp_path / "a.pdf"
    file.write_bytes(searchable(a_scan(), "PDF", [text]))
    assert subprocess.run(["qpdf", "--check", file], capture_output=True, check=False).returncode == 0
    done = subprocess.run(["pdftotext", "-bbox", file, "-"], capture_output=True, text=True, check=True)
    for word, box in shown.items():
        (line,) = [line for line in done.stdout.splitlines() if f">{word}<" in line]
        found = [float(part.split('"')[1]) for part in line.split()[1:5]]
        assert found == pytest.approx(box, abs=2)


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
