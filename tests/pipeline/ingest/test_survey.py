from collections import Counter
from pathlib import Path

import pymupdf
import pytest

from pipeline.documents.failures import DocumentError
from pipeline.documents.settings import IngestSettings
from pipeline.ingest.workers.worker import survey_task
from pipeline.types import Kind, LayerUse, PageKind

SAMPLES = Path(__file__).parents[2] / "samples"


def survey(path: Path | str, kind: Kind, indices: list[int], use: LayerUse = "ignore") -> Counter[PageKind]:
    return survey_task(str(path), kind, indices, IngestSettings(), use, False)


def test_pages_are_told_by_what_they_draw() -> None:
    assert survey(SAMPLES / "report.pdf", "pdf", [0, 1, 2]) == {"digital": 3}
    assert survey(SAMPLES / "scanned.pdf", "pdf", [0, 1]) == {"scanned": 2}
    assert survey(SAMPLES / "fax.tiff", "image", [0, 2]) == {"scanned": 2}


def test_text_under_a_scan_is_a_layer_and_a_page_of_nothing_is_empty(tmp_path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_image((0, 0, 300, 300), filename=SAMPLES / "letter.png")
        page.insert_text((40, 60), "recognised", render_mode=3)
        document.new_page()
        document.save(tmp_path / "a.pdf")
    assert survey(tmp_path / "a.pdf", "pdf", [0, 1, 7]) == {"digital": 1, "empty": 1, "unknown": 1}


def test_pages_whose_layers_are_taken_are_told_apart_where_they_are(tmp_path: Path) -> None:
    with pymupdf.open(SAMPLES / "report.pdf") as document:
        page = document.new_page()
        page.insert_image(page.rect, filename=SAMPLES / "letter.png")
        page.insert_text((40, 60), "recognised", render_mode=3)
        document.save(tmp_path / "a.pdf")
    found = survey(tmp_path / "a.pdf", "pdf", [0, 1, 2, 3], "prefer")
    assert found == {"embedded": 3, "digital": 1}


def test_what_cannot_be_opened_is_said() -> None:
    with pytest.raises(DocumentError):
        survey(__file__, "pdf", [0])
