from pathlib import Path

import pymupdf
import pytest

from pipeline.documents.pdf import open_pdf
from pipeline.text_layer.extract import spans
from pipeline.text_layer.extract.lines import LayerLine, as_text
from pipeline.text_layer.extract.spans import read_lines, read_spans
from tests.pipeline.text_layer.extract.text_pages import written

TESTS = Path(__file__).parents[3]
SAMPLES = TESTS / "samples"


def read(path: Path, index: int = 0) -> tuple[LayerLine, ...]:
    return read_lines(open_pdf(str(path)), index)


@pytest.mark.parametrize("name", ["report.pdf", "two-column.pdf"])
def test_a_sample_holds_its_truth(name):
    text = as_text(read(SAMPLES / name))
    assert text is not None
    assert text.split() == (TESTS / "truth" / name / "1.txt").read_text("utf-8").split()


def test_a_scan_has_none():
    assert as_text(read(SAMPLES / "scanned.pdf")) is None


def test_a_turned_page_is_as_it_is_shown(tmp_path):
    path = written(tmp_path / "turned.pdf", (50, 300, "sideways"), rotation=90)
    (found,) = read(path)
    assert found.text == "sideways"


def test_the_lines_length_is_limited(tmp_path, monkeypatch):
    path = written(
        tmp_path / "long.pdf", *[(20, 20.0 + 5 * number, "word " * 8) for number in range(100)], size=4
    )
    whole = as_text(read(path))
    assert whole is not None
    monkeypatch.setattr(spans, "_MOST_IN_LINES", 500)
    limited = as_text(read(path))
    assert limited is not None
    assert whole.startswith(limited)
    assert 400 < len(limited.replace("\n", "")) <= 500


def test_a_layer_that_cannot_be_read_fails_no_page(monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("code=7: syntax error")

    monkeypatch.setattr(pymupdf, "TextPage", broken)
    assert read(SAMPLES / "report.pdf") == ()


@pytest.mark.parametrize("name", ["report.pdf", "two-column.pdf"])
def test_lines_are_those_of_the_spans(name):
    document = open_pdf(str(SAMPLES / name))
    found = [span.line for span in read_spans(document[0].get_displaylist())]
    assert read_lines(document, 0) == tuple(line for line in found if line.text)
