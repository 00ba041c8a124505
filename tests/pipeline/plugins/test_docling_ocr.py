"""The engine with docling's real classes and pipeline; skipped where docling is not installed."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pymupdf
import pytest

pytest.importorskip("docling.models.base_ocr_model", reason="the extra docling is not installed")

from docling.backend.pypdfium2_backend import PyPdfiumDocumentBackend
from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import Cluster, ConversionStatus, InputFormat, LayoutPrediction, Page
from docling.datamodel.document import ConversionResult, InputDocument
from docling.datamodel.pipeline_options import OcrMode
from docling.models.factories.ocr_factory import OcrFactory
from docling_core.types.doc import BoundingBox, CoordOrigin, DocItemLabel

from pipeline.plugins import docling_ocr
from pipeline.plugins.docling_ocr import OcrbatchModel, OcrbatchOptions

ROOT = Path(__file__).parents[3]
LINES = ("Northam, 2 February", "Delivered on 12 September 2022", "Total due: 1,240.75")


def factory() -> OcrFactory:
    made = OcrFactory()
    made.process_plugin(docling_ocr.ocr_engines(), "ocrbatch", docling_ocr.__name__)
    return made


def test_doclings_factory_makes_it_of_its_options() -> None:
    model = factory().create_instance(
        options=OcrbatchOptions(lang=["en", "whatever"]),
        enabled=False,
        artifacts_path=None,
        accelerator_options=AcceleratorOptions(),
    )
    assert isinstance(model, OcrbatchModel)
    pages = [object()]
    assert list(model(None, pages)) == pages, "switched off, it does nothing"


class Layout:
    """In place of docling's model, which is fetched; the boxes end before its margin of 10 points helps."""

    requires_layout_postprocessing = True

    def __init__(self, boxes: list[tuple[float, float, float, float]]) -> None:
        self.boxes = boxes

    def __call__(self, result: Any, pages: Iterable[Any]) -> Iterator[Any]:
        for page in pages:
            page.predictions.layout = LayoutPrediction(
                clusters=[
                    Cluster(
                        id=number,
                        label=DocItemLabel.TEXT,
                        confidence=0.9,
                        bbox=BoundingBox.from_tuple(box, CoordOrigin.TOPLEFT),
                    )
                    for number, box in enumerate(self.boxes)
                ]
            )
            yield page


def scan(path: Path) -> list[tuple[float, float, float, float]]:
    """Makes a scan of lines far apart, and returns boxes of which each ends before its last letters."""
    truth = pymupdf.open()
    sheet = truth.new_page()
    boxes = []
    for number, line in enumerate(LINES):
        top = 100 + 120 * number
        sheet.insert_text((72, top + 12), line, fontsize=12)
        boxes.append((72.0, float(top), 72 + pymupdf.get_text_length(line, fontsize=12) - 16, top + 15.0))
    made = pymupdf.open()
    made.new_page().insert_image(sheet.rect, stream=sheet.get_pixmap(dpi=200).tobytes("png"))
    made.save(path)
    return boxes


def test_the_printed_snippet_hands_over_whole_words_where_the_layout_cuts_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = (ROOT / "pipeline" / "plugins" / "PLUGINS.md").read_text()
    (snippet,) = re.findall(r"```\n(from docling.*?)```", document, re.DOTALL)
    layout = Layout(scan(tmp_path / "in.pdf"))
    tables = SimpleNamespace(create_instance=lambda **given: lambda result, pages: pages)
    where = "docling.pipeline.standard_pdf_pipeline."
    monkeypatch.setattr(
        f"{where}get_layout_factory",
        lambda **given: SimpleNamespace(create_instance=lambda **more: layout),
    )
    monkeypatch.setattr(f"{where}get_table_structure_factory", lambda **given: tables)
    monkeypatch.setattr(f"{where}get_ocr_factory", lambda **given: factory())
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "PLUGINS.md", "exec"), {})
    assert [line for line in capsys.readouterr().out.splitlines() if line] == list(LINES)


def test_words_of_a_scan_become_cells_at_their_places(tmp_path: Path) -> None:
    truth = pymupdf.open(ROOT / "tests" / "samples" / "two-column.pdf")[0]
    scan = pymupdf.open()
    sheet = scan.new_page(width=truth.rect.width, height=truth.rect.height)
    sheet.insert_image(sheet.rect, stream=truth.get_pixmap(dpi=200).tobytes("png"))
    scan.save(tmp_path / "in.pdf")
    document = InputDocument(
        path_or_stream=tmp_path / "in.pdf", format=InputFormat.PDF, backend=PyPdfiumDocumentBackend
    )
    page = Page(page_no=1)
    page._backend = document._backend.load_page(0)
    page.size = page._backend.get_size()
    page.parsed_page = page._backend.get_segmented_page()
    model = OcrbatchModel(True, None, OcrbatchOptions(mode=OcrMode.FULL_PAGE), AcceleratorOptions())
    result = ConversionResult(input=document, status=ConversionStatus.STARTED)
    (read,) = model(result, [page])
    found: dict[str, list[tuple[float, float]]] = {}
    for cell in read.cells:
        box = cell.rect.to_bounding_box()
        found.setdefault(cell.text, []).append((box.l, box.t))
        assert cell.from_ocr
    words = truth.get_text("words")
    near = [
        word
        for word in words
        if any(abs(word[0] - x) < 4 and abs(word[1] - y) < 8 for x, y in found.get(word[4], []))
    ]
    assert len(near) > 0.95 * len(words)
