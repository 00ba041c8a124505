import logging
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocr.orientation.detect import Orientation
from pipeline.config.schema import Config, render_settings
from pipeline.documents import orientation
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.pdf import open_pdf
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.stages.render import tile
from tests.pipeline.documents.drawing import SAMPLES, show

LINE = "The brown fox, having jumped over the lazy dog, slept until Monday. "
ANGLES = (0, 90, 180, 270)


def written(
    path: Path, *, runs: int = 0, num_lines: int = 20, size: tuple[float, float] = (400, 600)
) -> Path:
    """A PDF page whose text was turned by `runs` degrees clockwise on its sheet."""
    with pymupdf.open() as document:
        page = document.new_page(width=size[0], height=size[1])
        width, height = size if runs % 180 == 0 else size[::-1]
        page.set_rotation(0)
        for number in range(num_lines):
            x, y = 40.0, 50.0 + 20 * number
            at = {0: (x, y), 90: (height - y, x), 180: (width - x, height - y), 270: (y, width - x)}[runs]
            # pymupdf counts counterclockwise
            page.insert_text(at, LINE[:55], fontsize=10, rotate=-runs % 360)
        document.save(path)
    return path


def pictured(path: Path, source: Path, rot: int = 0) -> Path:
    """The first page of a PDF as an image file, turned counterclockwise."""
    with pymupdf.open(source) as document:
        pixmap = document[0].get_pixmap(dpi=150)
    pixels = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)
    Image.fromarray(np.ascontiguousarray(np.rot90(pixels, rot // 90))).save(path)
    return path


def declared(path: Path, **settings) -> Orientation | None:
    with open_pdf(str(path)) as document:
        return orientation.declared(document, 0, RenderSettings(**settings))


class TestDeclared:
    @pytest.mark.parametrize("runs", ANGLES)
    def test_lines_say_how_they_run(self, tmp_path, runs):
        assert declared(written(tmp_path / "a.pdf", runs=runs)) == Orientation(angle_deg=-runs % 360)

    def test_rotation_of_the_page_counts(self, tmp_path):
        path = written(tmp_path / "a.pdf", runs=90)
        with pymupdf.open(path) as document:
            document[0].set_rotation(270)
            document.save(tmp_path / "b.pdf")
        assert declared(tmp_path / "b.pdf") == Orientation()

    def test_a_few_sideways_labels_do_not_turn_a_page(self, tmp_path):
        path = written(tmp_path / "a.pdf")
        with pymupdf.open(path) as document:
            for number in range(8):
                document[0].insert_text((380, 100 + 50 * number), LINE[:30], rotate=90)
            document.save(tmp_path / "b.pdf")
        assert declared(tmp_path / "b.pdf") == Orientation()

    def test_neither_a_scan_nor_a_stamp_says_anything(self, tmp_path):
        assert declared(SAMPLES / "scanned.pdf") is None
        image = pictured(tmp_path / "a.png", written(tmp_path / "text.pdf"))
        with pymupdf.open() as document:
            page = document.new_page(width=400, height=600)
            page.insert_image(page.rect, filename=image)
            page.insert_text((20, 590), "Received on the 3rd of May by the registry")
            document.save(tmp_path / "stamped.pdf")
        assert declared(tmp_path / "stamped.pdf") is None

    def test_invisible_text_says_nothing(self, tmp_path):
        with pymupdf.open() as document:
            page = document.new_page()
            for number in range(9):
                page.insert_text((50, 50 + 20 * number), LINE, render_mode=3)
            document.save(tmp_path / "a.pdf")
        assert declared(tmp_path / "a.pdf") is None

    def test_switched_off(self, tmp_path):
        assert declared(written(tmp_path / "a.pdf", runs=90), orientation="off") == Orientation()

    def test_a_failing_parser_fails_no_page(self, caplog):
        caplog.set_level(logging.DEBUG, logger="ocrbatch")
        assert orientation.declared(object(), 0, RenderSettings()) is None
        assert "text directions of page 1" in caplog.text


class TestRender:
    @pytest.mark.parametrize("runs", [90, 180, 270])
    def test_a_pdf_page_of_turned_text_is_drawn_upright(self, tmp_path, runs):
        size = (400, 600) if runs % 180 == 0 else (600, 400)
        upright = show(written(tmp_path / "a.pdf"))
        image = show(written(tmp_path / "b.pdf", runs=runs, size=size))
        assert image.rotation_deg == -runs % 360
        assert (image.pixels.shape, image.grid) == (upright.pixels.shape, upright.grid)
        assert np.abs(image.pixels.astype(int) - upright.pixels).mean() < 12
        assert image.text_layer == upright.text_layer

    def test_the_document_is_left_as_it_was(self, tmp_path):
        path = written(tmp_path / "a.pdf", runs=180)
        documents = OpenDocuments()
        first, second = (show(path, documents=documents) for _ in range(2))
        assert first.rotation_deg == second.rotation_deg == 180
        assert (first.pixels == second.pixels).all()
        documents.close()

    @pytest.mark.parametrize("rot", ANGLES)
    def test_an_image_is_turned_upright(self, tmp_path, rot):
        source = written(tmp_path / "a.pdf")
        upright = show(pictured(tmp_path / "a.png", source))
        image = show(pictured(tmp_path / "b.png", source, rot))
        assert (image.rotation_deg, image.runner_up_deg) == (rot, None)
        assert (image.pixels == upright.pixels).all()

    def test_a_scanned_page_of_a_pdf_is_drawn_upright(self, tmp_path):
        scan = pictured(tmp_path / "a.png", written(tmp_path / "a.pdf"), 90)
        with pymupdf.open() as document:
            page = document.new_page(width=600, height=400)
            page.insert_image(page.rect, filename=scan)
            document.save(tmp_path / "scan.pdf")
        image = show(tmp_path / "scan.pdf")
        assert image.rotation_deg == 90
        assert image.pixels.shape[0] > image.pixels.shape[1]

    def test_off_leaves_a_page_as_it_is(self, tmp_path):
        path = pictured(tmp_path / "b.png", written(tmp_path / "a.pdf"), 180)
        image = show(path, orientation="off")
        assert (image.rotation_deg, image.runner_up_deg) == (0, None)
        assert (image.pixels == np.asarray(Image.open(path).convert("RGB"))).all()

    def test_the_runner_up_is_taken_only_in_doubt(self, tmp_path, monkeypatch):
        path = pictured(tmp_path / "b.png", written(tmp_path / "a.pdf"))
        assert show(path, orientation="runner_up").rotation_deg == 0
        monkeypatch.setattr(orientation, "detect", lambda pixels: Orientation(runner_up_deg=270))
        assert (show(path).rotation_deg, show(path).runner_up_deg) == (0, 270)
        image = show(path, orientation="runner_up")
        assert (image.rotation_deg, image.runner_up_deg) == (270, 270)
        assert (image.pixels == np.rot90(np.asarray(Image.open(path).convert("RGB")))).all()

    def test_blank_pages_are_not_looked_at(self, tmp_path, monkeypatch):
        monkeypatch.setattr(orientation, "detect", lambda pixels: pytest.fail("looked at"))
        Image.new("RGB", (600, 800), "white").save(tmp_path / "a.png")
        assert show(tmp_path / "a.png").rotation_deg == 0

    def test_tiles_carry_the_turn(self, tmp_path):
        image = show(pictured(tmp_path / "b.png", written(tmp_path / "a.pdf"), 180))
        ready = tile(image, TileSettings())
        assert (ready.rotation_deg, ready.runner_up_deg) == (180, None)


def test_the_configuration_reaches_the_workers():
    assert render_settings(Config()).orientation == "auto"
    assert render_settings(Config.model_validate({"render": {"orientation": False}})).orientation == "off"
