"""A page whose words are added holds no other text, whoever extracts it, and looks as before."""

import io
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pikepdf
import pymupdf
import pytest

from pipeline.documents.searchable.invisible_text import TextPage
from pipeline.documents.searchable.searchable_pdf import searchable

READ = TextPage(
    page_index=0, width_px=800, height_px=1200, rotation_deg=0,
    words=[("Kestrel", (100, 100, 220, 140)), ("Lane", (240, 100, 320, 140))],
)  # fmt: skip


def hidden(page: Any) -> None:
    page.insert_text((50, 80), "Kestrc1 Laue", render_mode=3)


def printed(page: Any) -> None:
    page.insert_text((50, 80), "Kestrel Lane", fontname="tiro")


def printed_in_a_font_of_two_bytes(page: Any) -> None:
    page.insert_text((50, 80), "東京営業所", fontname="japan")


def in_a_form(page: Any) -> None:
    with pymupdf.open() as other:
        other.new_page(width=400, height=600).insert_text((50, 80), "Kestrel Lane")
        page.show_pdf_page(page.rect, other, 0)


def of_a_field(page: Any) -> None:
    widget = pymupdf.Widget()
    widget.field_name, widget.field_type = "street", pymupdf.PDF_WIDGET_TYPE_TEXT
    widget.rect, widget.field_value = pymupdf.Rect(40, 60, 300, 90), "Kestrel Lane"
    page.add_widget(widget)


def made(draw: Callable[[Any], None]) -> bytes:
    """Returns two pages with a drawing that share their resources where drawn so."""
    with pymupdf.open() as document:
        for _ in range(2):
            draw(document.new_page(width=400, height=600))
        content: bytes = document.tobytes()
        return content


IN_THE_PAGE = [hidden, printed, printed_in_a_font_of_two_bytes, in_a_form]


@pytest.mark.parametrize(
    ("draw", "is_signed"),
    [*((draw, is_signed) for draw in IN_THE_PAGE for is_signed in (False, True)), (of_a_field, False)],
)
def test_only_what_was_read_is_text(draw: Callable[[Any], None], is_signed: bool) -> None:
    data = made(draw)
    if is_signed:
        with pikepdf.open(io.BytesIO(data)) as pdf:
            pdf.Root.AcroForm = pikepdf.Dictionary(Fields=pikepdf.Array(), SigFlags=3)
            out = io.BytesIO()
            pdf.save(out)
            data = out.getvalue()
    found = searchable(data, "PDF", [READ])
    with pymupdf.open("pdf", data) as before, pymupdf.open("pdf", found) as after:
        assert after[0].get_text().split() == ["Kestrel", "Lane"]
        assert after[1].get_text() == before[1].get_text() != ""  # nobody read that one
        for old, new in zip(before, after, strict=True):
            assert old.get_pixmap().samples == new.get_pixmap().samples


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs poppler-utils")
@pytest.mark.parametrize("draw", [*IN_THE_PAGE, of_a_field])
def test_so_says_poppler(draw: Callable[[Any], None]) -> None:
    command = ["pdftotext", "-l", "1", "-", "-"]
    text = subprocess.run(
        command, input=searchable(made(draw), "PDF", [READ]), capture_output=True, check=True
    )
    assert text.stdout.decode().split() == ["Kestrel", "Lane"]
