from pathlib import Path

import pymupdf
import pytest

from ocr.layout.crops import Crop, CropPlan
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.pdf import open_pdf
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.ingest.workers.worker import render_task
from pipeline.stages.render import render
from pipeline.text_layer.extract import draft_lines
from pipeline.text_layer.extract.draft_lines import LayerLine, as_text, read_lines, texts
from pipeline.types import DividedPage, Page, RenderedPage

TESTS = Path(__file__).parents[3]
SAMPLES = TESTS / "samples"


def line(text: str, x0: float, base: float, x1: float | None = None, size: float = 10.0) -> LayerLine:
    return LayerLine(text=text, x0=x0, x1=x0 + 5.0 * len(text) if x1 is None else x1, base=base, size=size)


def page_of(path: Path, index: int = 0) -> Page:
    return Page(path=str(path), sha256="0" * 64, kind="pdf", page_index=index)


def written(path: Path, *lines: tuple[float, float, str], rotation: int = 0, size: float = 10.0) -> Path:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=600)
        for x, y, text in lines:
            page.insert_text((x, y), text, fontsize=size)
        page.set_rotation(rotation)
        document.save(path)
    return path


def read(path: Path, index: int = 0) -> tuple[LayerLine, ...]:
    return read_lines(open_pdf(str(path)), index)


@pytest.mark.parametrize("name", ["report.pdf", "two-column.pdf"])
def test_a_sample_holds_its_truth(name):
    text = as_text(read(SAMPLES / name))
    assert text is not None
    assert text.split() == (TESTS / "truth" / name / "1.txt").read_text("utf-8").split()


def test_a_scan_has_none():
    assert as_text(read(SAMPLES / "scanned.pdf")) is None


def test_lines_paragraphs_and_cells():
    lines = [
        line("Heading", 50, 100),
        line("first line", 50, 130),
        line("second", 50, 142),
        line("part", 82, 142),
        line("s", 102, 142),
        line("far", 300, 142),
        line("other column", 300, 60),
    ]
    assert as_text(lines) == "Heading\n\nfirst line\nsecond parts\tfar\n\nother column"


def test_ligatures_hyphens_spaces_and_controls(tmp_path):
    assert draft_lines.clean("ﬁnd\u00a0e\u0301t\u2010à\x00\u200b") == "find ét-à"


def test_a_turned_page_is_as_it_is_shown(tmp_path):
    path = written(tmp_path / "turned.pdf", (50, 300, "sideways"), rotation=90)
    (found,) = read(path)
    assert found.text == "sideways"


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


def test_length_is_limited(tmp_path, monkeypatch):
    path = written(
        tmp_path / "long.pdf", *[(20, 20.0 + 5 * number, "word " * 8) for number in range(100)], size=4
    )
    whole = as_text(read(path))
    assert whole is not None
    monkeypatch.setattr(draft_lines, "MAX_CHARS", 500)
    limited = as_text(read(path))
    assert limited is not None
    assert whole.startswith(limited)
    assert 400 < len(limited.replace("\n", "")) <= 500


def test_a_layer_that_cannot_be_read_fails_no_page(monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("code=7: syntax error")

    monkeypatch.setattr(pymupdf, "TextPage", broken)
    assert read(SAMPLES / "report.pdf") == ()
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
