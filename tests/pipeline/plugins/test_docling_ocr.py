"""The engine with docling's real classes; skipped where docling is not installed."""

from pathlib import Path

import pymupdf
import pytest

pytest.importorskip("docling.models.base_ocr_model", reason="the extra docling is not installed")

from docling.backend.pypdfium2_backend import PyPdfiumDocumentBackend
from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import ConversionStatus, InputFormat, Page
from docling.datamodel.document import ConversionResult, InputDocument
from docling.datamodel.pipeline_options import OcrMode
from docling.models.factories.ocr_factory import OcrFactory

from pipeline.plugins import docling_ocr
from pipeline.plugins.docling_ocr import OcrbatchModel, OcrbatchOptions

SAMPLES = Path(__file__).parents[3] / "tests" / "samples"


def test_doclings_factory_makes_it_of_its_options() -> None:
    factory = OcrFactory()
    factory.process_plugin(docling_ocr.ocr_engines(), "ocrbatch", docling_ocr.__name__)
    model = factory.create_instance(
        options=OcrbatchOptions(lang=["en", "whatever"]),
        enabled=False,
        artifacts_path=None,
        accelerator_options=AcceleratorOptions(),
    )
    assert isinstance(model, OcrbatchModel)
    pages = [object()]
    assert list(model(None, pages)) == pages, "switched off, it does nothing"


def test_words_of_a_scan_become_cells_at_their_places(tmp_path: Path) -> None:
    truth = pymupdf.open(SAMPLES / "two-column.pdf")[0]
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
