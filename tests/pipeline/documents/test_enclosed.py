"""What a PDF holds besides its pages is named; a page that stands for something else does not pass for it."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pikepdf
import pymupdf
import pytest

from pipeline.documents.enclosed import instead_of_pages, left_out
from pipeline.documents.settings import IngestSettings
from pipeline.stages.discover import probe


def changed(change: Callable[[Any], None], *names: str) -> Any:
    """Returns a document with a page and attached files, changed by pikepdf."""
    with pymupdf.open() as document:
        document.new_page().insert_text((72, 100), "One moment, please.")
        for name in names:
            document.embfile_add(name, b"data", filename=name)
        with pikepdf.open(io.BytesIO(document.tobytes())) as pdf:
            change(pdf)
            made = io.BytesIO()
            pdf.save(made)
    return pymupdf.open("pdf", made.getvalue())


def portfolio(pdf: Any) -> None:
    pdf.Root.Collection = pikepdf.Dictionary(Type=pikepdf.Name.Collection)


def dynamic_form(pdf: Any) -> None:
    pdf.Root.AcroForm = pikepdf.Dictionary(Fields=pikepdf.Array(), XFA=pdf.make_stream(b"<xdp:xdp/>"))


def form_with_fields(pdf: Any) -> None:
    one = pdf.make_indirect(pikepdf.Dictionary(FT=pikepdf.Name.Tx, T=pikepdf.String("a")))
    pdf.Root.AcroForm = pikepdf.Dictionary(Fields=pikepdf.Array([one]), XFA=pdf.make_stream(b"<xdp:xdp/>"))


def nothing(_: Any) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "names", "sentence", "is_instead"),
    [
        (nothing, (), "", False),
        (nothing, ("factur-x.xml",), "its attached files are not read: factur-x.xml;", False),
        (portfolio, ("a.pdf", "b.pdf"), "the documents of this portfolio are not read: a.pdf, b.pdf;", True),
        (portfolio, tuple(f"{n}.pdf" for n in range(7)), "2.pdf, 3.pdf, 4.pdf and 2 more;", True),
        (dynamic_form, (), "an XFA form, whose page is only a placeholder", True),
        (form_with_fields, (), "", False),
    ],
)
def test_it_is_named(
    change: Callable[[Any], None], names: tuple[str, ...], sentence: str, is_instead: bool
) -> None:
    with changed(change, *names) as document:
        assert sentence in left_out(document)
        assert bool(left_out(document)) == bool(sentence)
        assert instead_of_pages(document, 0) == (left_out(document) if is_instead else "")
        assert instead_of_pages(document, 1) == ""


def test_a_file_pinned_to_a_page_is_named(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        document.new_page()
        document.new_page().add_file_annot((50, 50), b"data", "plan\n.dwg")
        document.save(tmp_path / "a.pdf")
    found = probe(str(tmp_path / "a.pdf"), IngestSettings())
    assert (found.status, found.num_pages, found.is_told) == ("ok", 2, True)
    assert found.reason is not None
    assert found.reason.startswith("its attached files are not read: plan")
    assert "\n" not in found.reason
