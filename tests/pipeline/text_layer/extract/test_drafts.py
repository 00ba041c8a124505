from pathlib import Path

import pymupdf

from ocr.layout.crops import Crop, CropPlan
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.ingest.workers.worker import render_task
from pipeline.stages.render import render
from pipeline.text_layer.extract.drafts import texts
from pipeline.text_layer.extract.lines import as_text
from pipeline.types import DividedPage, Page, RenderedPage
from tests.pipeline.text_layer.extract.text_pages import line, written

SAMPLES = Path(__file__).parents[3] / "samples"


def page_of(path: Path, index: int = 0) -> Page:
    return Page(path=str(path), sha256="0" * 64, kind="pdf", page_index=index)


def test_parts_get_what_stands_in_them():
    lines = [
        line("left one", 10, 20),
        line("right", 110, 20),
        line("left two", 10, 40),
        line("both sides of it", 70, 60),
    ]
    left = Crop(box_px=(0, 0, 200, 200), frame_px=(0, 0, 200, 200), grid=(1, 1), paragraph_break=True)
    right = Crop(box_px=(200, 0, 400, 200), frame_px=(200, 0, 400, 200), grid=(1, 1), paragraph_break=True)
    empty = Crop(box_px=(0, 200, 400, 400), frame_px=(0, 200, 400, 400), grid=(1, 1), paragraph_break=True)
    plan = CropPlan(crops=(left, right, empty), size_px=(400, 400))
    assert texts(lines, plan, 2.0) == ("left one\n\nleft two\n\nboth", "right\n\nsides of it", None)
    assert texts(lines, CropPlan(), 2.0) == (as_text(lines),)
    assert texts((), CropPlan(), 2.0) == (None,)


def test_parts_of_a_page_that_was_turned_upright():
    # On a page turned by a quarter counterclockwise the right edge becomes the upper one.
    upper = Crop(box_px=(0, 0, 400, 100), frame_px=(0, 0, 400, 100), grid=(1, 1), paragraph_break=True)
    plan = CropPlan(crops=(upper,), angle_deg=90.0, size_px=(400, 400))
    lines = [line("edge", 370, 200), line("middle", 180, 200), line("left", 5, 200)]
    assert texts(lines, plan, 1.0) == ("edge",)


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
    assert image.text_layers == ()


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


def test_each_part_gets_its_own(tmp_path):
    words = "some words of small print that go on and on for a while"
    lines = [(20.0, 30 + 5.5 * number, f"{number} {words} {number}") for number in range(100)]
    path = written(tmp_path / "small.pdf", *lines, size=4)
    ready = render_task(page_of(path), RenderSettings(), TileSettings(crops=True), 60.0)
    assert isinstance(ready, DividedPage)
    layers = [crop.rendered.text_layer or "" for crop in ready.crops]
    assert "\n".join(layers).split() == [word for _, _, text in lines for word in text.split()]
    assert all(layers)
