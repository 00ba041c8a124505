from pathlib import Path

import pymupdf
import pytest

from pipeline.documents.pdf import open_pdf
from pipeline.text_layer.extract import spans
from pipeline.text_layer.extract.spans import as_text, read_spans, read_text
from tests.pipeline.text_layer.extract.text_pages import written

TESTS = Path(__file__).parents[3]
SAMPLES = TESTS / "samples"


def read(path: Path, index: int = 0) -> str:
    return read_text(open_pdf(str(path)), index)


@pytest.mark.parametrize("name", ["report.pdf", "two-column.pdf"])
def test_a_sample_holds_its_truth(name):
    assert read(SAMPLES / name).split() == (TESTS / "truth" / name / "1.txt").read_text("utf-8").split()


def test_a_scan_has_none():
    assert not read(SAMPLES / "scanned.pdf")


def test_the_texts_length_is_limited(tmp_path, monkeypatch):
    path = written(
        tmp_path / "long.pdf", *[(20, 20.0 + 5 * number, "word " * 8) for number in range(100)], size=4
    )
    whole = read(path)
    monkeypatch.setattr(spans, "_MOST_IN_TEXT", 500)
    assert read(path) == whole[:500]


def test_a_layer_that_cannot_be_read_fails_no_page(monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("code=7: syntax error")

    monkeypatch.setattr(pymupdf, "TextPage", broken)
    assert not read(SAMPLES / "report.pdf")


@pytest.mark.parametrize(("step", "text"), [(20, "NIGHT SHIFT"), (40, "N I G H T S H I F T")])
def test_letters_that_are_set_apart_are_words_and_cells_stay(step: int, text: str) -> None:
    letters = "NIGHT SHIFT" if step == 20 else "NIGHTSHIFT"
    with pymupdf.open() as document:
        page = document.new_page(width=520, height=300)
        for number, letter in enumerate(letters):
            page.insert_text((50 + step * number, 80), letter, fontsize=20, fontname="cour")
        found = read_spans(page.get_displaylist())
    assert as_text([span.line for span in found]) == text
