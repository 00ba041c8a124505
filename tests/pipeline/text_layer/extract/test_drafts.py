from pathlib import Path

import pymupdf

from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.ingest.workers.worker import render_task
from pipeline.stages.render import render
from pipeline.types import Page, RenderedPage

SAMPLES = Path(__file__).parents[3] / "samples"


def page_of(path: Path, index: int = 0) -> Page:
    return Page(path=str(path), sha256="0" * 64, kind="pdf", page_index=index)


def test_a_layer_that_cannot_be_read_fails_no_page(monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("code=7: syntax error")

    monkeypatch.setattr(pymupdf, "TextPage", broken)
    ready = render_task(page_of(SAMPLES / "report.pdf"), RenderSettings(), TileSettings(), 60.0)
    assert isinstance(ready, RenderedPage)
    assert ready.text_layer is None


def test_a_page_that_was_slow_to_draw_is_left_without(monkeypatch):
    monkeypatch.setattr("pipeline.stages.render._PATIENCE_S", 0.0)
    (image,) = render([page_of(SAMPLES / "report.pdf")], RenderSettings(), TileSettings(), OpenDocuments())
    assert image.text_layer is None


def test_a_worker_hands_the_layer_over():
    ready = render_task(page_of(SAMPLES / "report.pdf"), RenderSettings(), TileSettings(), 60.0)
    assert isinstance(ready, RenderedPage)
    assert ready.text_layer is not None
    assert ready.text_layer.startswith("The Hillside Reading Room")
    image = page_of(SAMPLES / "letter.png")
    ready = render_task(
        Page(path=image.path, sha256="1" * 64, kind="image", page_index=0),
        RenderSettings(),
        TileSettings(),
        60.0,
    )
    assert isinstance(ready, RenderedPage)
    assert ready.text_layer is None
