"""The sample documents fit their truth and each other (tests/sample_documents makes both)."""

from pathlib import Path

import pymupdf
import pytest

from pipeline.documents.settings import IngestSettings
from pipeline.stages.discover import probe

TESTS = Path(__file__).parent
NAMES = ["fax.tiff", "letter.png", "photo.jpg", "report.pdf", "scanned.pdf", "two-column.pdf"]


def truth(name: str) -> dict[int, str]:
    return {int(path.stem): path.read_text("utf-8") for path in (TESTS / "truth" / name).iterdir()}


def test_samples_are_few_and_small():
    samples = sorted((TESTS / "samples").iterdir())
    assert [path.name for path in samples] == NAMES
    assert sum(path.stat().st_size for path in samples) < 1_500_000
    assert sorted(path.name for path in (TESTS / "truth").iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_page_has_truth(name):
    document = probe(str(TESTS / "samples" / name), IngestSettings())
    assert sorted(truth(name)) == list(range(1, document.num_pages + 1))


@pytest.mark.parametrize("name", ["report.pdf", "two-column.pdf"])
def test_truth_is_the_text_layer(name):
    pages = pymupdf.open(TESTS / "samples" / name)
    for number, text in truth(name).items():
        assert pages[number - 1].get_text().split() == text.split()


def test_scan_has_no_text_layer_and_a_blank_back():
    assert [page.get_text() for page in pymupdf.open(TESTS / "samples" / "scanned.pdf")] == ["", ""]
    assert truth("scanned.pdf")[2] == ""
