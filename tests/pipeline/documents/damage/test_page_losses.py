"""Reports what of a PDF page could not be drawn, unless it hides nothing; tests.faults.doubt.lost_pictures has both."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ocr.types import ParsedText
from pipeline.documents.damage import complaints, picture_data
from pipeline.documents.failures import PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings
from pipeline.outcome.doubt import doubted, incomplete
from pipeline.text_layer.page import embedded_page
from pipeline.types import EmbeddedPage, Page, PageResult
from tests.faults.doubt import lost_pictures
from tests.faults.files.hostile_pdfs import pdf
from tests.pipeline.conftest import Batch
from tests.pipeline.documents.drawing import page_of, show
from tests.pipeline.runs import rows

# Of these something is drawn that nobody can read.
_BLACK_OR_GREY = ("jpeg-cut", "ccitt-rotten")
_PAGE = Page(path="a.pdf", sha256="0" * 64, kind="pdf", page_index=0)


@pytest.mark.parametrize("name", lost_pictures.lost())
def test_a_page_whose_picture_is_lost_is_not_blank(tmp_path: Path, name: str) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(lost_pictures.lost()[name])
    if name in _BLACK_OR_GREY:
        drawn = show(path)
        assert not drawn.blank
        assert "a picture on the page cannot be decoded, or not all of it (MuPDF: " in drawn.missing
        return
    with pytest.raises(PageRenderError, match=r"cannot be decoded|cannot be used") as caught:
        show(path)
    assert caught.value.category == "unreadable"


@pytest.mark.parametrize("name", lost_pictures.in_part())
def test_a_page_that_misses_something_says_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(lost_pictures.in_part()[name])
    assert show(path).missing


@pytest.mark.parametrize("name", [*lost_pictures.sound(), *lost_pictures.harmless()])
def test_what_hides_nothing_is_not_said(tmp_path: Path, name: str) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes({**lost_pictures.sound(), **lost_pictures.harmless()}[name])
    drawn = show(path)
    assert not drawn.missing
    assert not drawn.blank


def test_a_font_that_two_pages_share_is_missed_on_both(tmp_path: Path) -> None:
    """MuPDF keeps fonts and pictures for later pages, and complains of each once."""
    path = tmp_path / "two.pdf"
    one = lost_pictures.in_part()["font-lost"]
    path.write_bytes(one.replace(b"/Kids [3 0 R] /Count 1", b"/Kids [3 0 R 3 0 R] /Count 2"))
    documents = OpenDocuments()
    assert "a font of the page" in show(path, 0, documents=documents).missing
    assert "a font of the page" in show(path, 1, documents=documents).missing


def _embedded(path: Path, documents: OpenDocuments | None = None) -> EmbeddedPage | None:
    return embedded_page(page_of(path), RenderSettings(text_layer="auto"), documents or OpenDocuments())


@pytest.mark.parametrize("name", ["content-half", "content-part-missing", "form-missing"])
def test_a_text_layer_lacks_what_cannot_beshow(tmp_path: Path, name: str) -> None:
    path = tmp_path / "digital.pdf"
    path.write_bytes(lost_pictures.in_part()[name])
    embedded = _embedded(path)
    assert embedded is not None
    assert "(MuPDF: " in embedded.missing


@pytest.mark.parametrize("name", [*lost_pictures.harmless(), *lost_pictures.IN_LAYER])
def test_a_text_layer_has_the_letters_of_a_font_that_cannot_be_used(tmp_path: Path, name: str) -> None:
    path = tmp_path / "digital.pdf"
    path.write_bytes({**lost_pictures.harmless(), **lost_pictures.in_part()}[name])
    embedded = _embedded(path)
    if name == "fewer-rows":  # a scan
        assert embedded is None
        return
    assert embedded is not None
    assert embedded.missing == ""
    assert embedded.layer.text.count("harbour office") == 6


def test_what_was_said_while_a_layer_was_judged_is_said_again_when_the_page_isshow(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(lost_pictures.in_part()["words-on-a-lost-picture"])
    documents = OpenDocuments()
    embedded = _embedded(path, documents)
    assert embedded is not None
    assert "Not a JPEG file" in embedded.missing, "its text stands, with what was lost"
    assert "Not a JPEG file" in show(path, documents=documents).missing


@pytest.mark.parametrize("contents", [b"", b"/Contents 4 0 R", b"/Contents [4 0 R 5 0 R]"])
def test_a_page_without_content_is_blank(tmp_path: Path, contents: bytes) -> None:
    """An empty stream, as pikepdf writes for a blank page, hides nothing, nor before another one."""
    path = tmp_path / "empty.pdf"
    path.write_bytes(
        pdf(
            {
                1: b"<< /Type /Catalog /Pages 2 0 R >>",
                2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] %s >>" % contents,
                4: b"<< /Filter /FlateDecode /Length 0 >>\nstream\n\nendstream",
                5: b"<< /Length 25 >>\nstream\n0 g 90 90 99 99 re f      \nendstream",
            }
        )
    )
    drawn = show(path)
    assert drawn.blank == (b"5" not in contents)
    assert not drawn.missing


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        (["bogus font (CMR17) ascent/descent values (0 / -205)"], set()),
        (["format error: cmsOpenProfileFromMem failed", "ignoring broken ICC profile"], set()),
        (["unsupported error: cannot create appearance stream for Screen annotations",
          "cannot create appearance stream"], set()),
        (["syntax error: cannot find ExtGState resource 'G'",
          "encountered syntax errors; page may not be correct"], set()),
        (["library error: zlib error: x", "read error; treating as end of file"], {"content"}),
        (["library error: zlib error: x", "read error; treating as end of file", "padding truncated image"],
         {"picture"}),
        (["FT_Load_Glyph(F,3,FT_LOAD_NO_HINTING): invalid outline"], {"font"}),
        (["syntax error: syntax error in content stream"], {"content"}),
    ],
)  # fmt: skip
def test_what_was_lost_is_told_from_what_became_of_an_error(said: list[str], lost: set[str]) -> None:
    assert set(complaints.losses(said)) == lost


@pytest.mark.parametrize(
    ("filter_name", "make"),
    [("/DCTDecode", lost_pictures.jpeg), ("/JBIG2Decode", lost_pictures.jbig2), ("/CCITTFaxDecode", lost_pictures.fax)],
)  # fmt: skip
def test_whole_data_is_not_damaged(filter_name: str, make: Callable[[], bytes]) -> None:
    assert not picture_data.is_damaged(filter_name, make())


def test_jbig2_data_that_breaks_off_is_damaged() -> None:
    data = lost_pictures.jbig2()
    assert all(
        picture_data.is_damaged("/JBIG2Decode", data[: len(data) * share // 20]) for share in range(1, 20)
    )


def test_a_jpeg_that_breaks_off_at_a_marker_is_damaged() -> None:
    data = lost_pictures.jpeg()
    for share in range(1, 10):
        assert picture_data.is_damaged("/DCTDecode", lost_pictures.rotten(data, keep=len(data) * share // 10))


def test_a_fax_may_lack_rows_that_hold_no_line_but_no_more(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    whole, (width_px, height_px) = lost_pictures.scan().convert("1"), lost_pictures.scan().size
    for num_lost, is_missed in ((2, False), (40, True)):
        rows = lost_pictures.strip(whole.crop((0, 0, width_px, height_px - num_lost)), "group4")
        fax = b"/CCITTFaxDecode " + lost_pictures.G4
        path.write_bytes(lost_pictures.picture_page(rows, fax, lost_pictures.BILEVEL))
        assert bool(show(path).missing) == is_missed


def _read(text: str) -> PageResult:
    return PageResult(
        page=_PAGE, status="ok", parsed=ParsedText(text=text, markdown=text), error=None, confidence=0.9
    )


def test_a_text_of_which_something_is_missing_is_kept_in_doubt() -> None:
    kept = incomplete(_read("half a page"), "a picture is lost")
    assert (kept.status, kept.doubt) == ("doubtful", "a picture is lost")
    assert kept.parsed is not None
    assert kept.parsed.text == "half a page"
    assert incomplete(_read("a page"), "").status == "ok"


def test_nothing_read_of_what_could_not_be_drawn_is_a_failure() -> None:
    failed = incomplete(doubted(_read(" "), "print seen, none read"), "a picture is lost")
    assert failed.status == "failed"
    assert failed.error is not None
    assert (failed.error.category, failed.error.message) == ("unreadable", "a picture is lost")


@pytest.mark.slow
def test_a_run_stores_no_lost_page_as_fine(batch: Batch) -> None:
    (batch.docs / "lost.pdf").write_bytes(lost_pictures.lost()["jpeg-rotten"])
    (batch.docs / "part.pdf").write_bytes(lost_pictures.in_part()["jpeg-half"])
    (batch.docs / "sound.pdf").write_bytes(lost_pictures.sound()["jpeg"])
    summary = batch.run()
    assert summary.exit_code == 3
    lost, part, sound = rows(batch.database)
    assert (lost["status"], lost["error"]["category"]) == ("failed", "unreadable")
    assert "Not a JPEG file" in lost["error"]["message"]
    assert (part["status"], bool(part["text"])) == ("doubtful", True)
    assert "premature end of file in jpeg" in part["doubt"]
    assert (sound["status"], sound["doubt"]) == ("ok", None)
