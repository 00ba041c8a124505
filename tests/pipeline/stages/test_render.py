import io
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocr.imaging.tiling import choose_grid
from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.stages.render import PageImage, render
from pipeline.types import Page
from tests.pipeline.documents.drawing import SAMPLES, page_of, show


def pdf(path: Path, width: float, height: float, rotation: int = 0) -> Path:
    """A page with a black square in the corner that is top left before rotation."""
    document = pymupdf.open()
    page = document.new_page(width=width, height=height)
    side = min(width, height) / 4
    page.draw_rect((0, 0, side, side), fill=(0, 0, 0), width=0)
    page.set_rotation(rotation)
    document.save(path)
    return path


def corner(image: PageImage) -> str:
    """Returns the place where the page is darkest."""
    height, width = image.pixels.shape[:2]
    dark = 255 - image.pixels.mean(axis=2)
    halves = {
        "top left": dark[: height // 2, : width // 2],
        "top right": dark[: height // 2, width // 2 :],
        "bottom left": dark[height // 2 :, : width // 2],
        "bottom right": dark[height // 2 :, width // 2 :],
    }
    return max(halves, key=lambda name: float(halves[name].sum()))


def test_a_page_has_its_layers_text_unless_it_was_slow_to_draw(monkeypatch):
    assert (show(SAMPLES / "report.pdf").text_layer or "").startswith("The Hillside Reading Room")
    assert show(SAMPLES / "letter.png").text_layer is None
    monkeypatch.setattr("pipeline.stages.render._PATIENCE_S", 0.0)
    assert show(SAMPLES / "report.pdf").text_layer is None


def save(path: Path, image: Image.Image, **options) -> Path:
    image.save(path, **options)
    return path


class TestPdf:
    @pytest.mark.parametrize(
        ("width", "height", "size", "grid"),
        [
            (595, 842, (1357, 1920), (2, 3)),
            (842, 595, (1920, 1357), (3, 2)),
            (612, 792, (1484, 1920), (2, 3)),
            (400, 400, (1280, 1280), (2, 2)),
            (320, 320, (1024, 1024), (1, 1)),  # 640 px at 144 dpi: not tiled
            (320, 200, (1024, 640), (1, 1)),
            (200, 1200, (640, 3840), (1, 6)),
        ],
    )
    def test_page_fills_the_canvas_of_the_grid_of_its_size_at_144_dpi(
        self, tmp_path, width, height, size, grid
    ):
        image = show(pdf(tmp_path / "a.pdf", width, height))
        assert image.grid == grid == choose_grid(width * 2, height * 2, 6)
        assert (image.pixels.shape[1], image.pixels.shape[0]) == size
        assert image.dpi == pytest.approx(size[1] / height * 72, rel=1e-3)
        assert image.pixels.dtype == np.uint8

    @pytest.mark.parametrize(
        ("mode", "size"), [("tiny", (512, 725)), ("base", (724, 1024)), ("large", (905, 1280))]
    )
    def test_other_modes_fill_their_one_view(self, tmp_path, mode, size):
        image = show(pdf(tmp_path / "a.pdf", 595, 842), tile=TileSettings(mode=mode))
        assert (image.pixels.shape[1], image.pixels.shape[0]) == size
        assert image.grid == (1, 1)

    def test_dpi_overrides_the_resolution_but_not_the_grid(self, tmp_path):
        path = pdf(tmp_path / "a.pdf", 595, 842)
        for dpi, size in [(144, (1190, 1684)), (300, (2480, 3509)), (36, (298, 421))]:
            image = show(path, dpi=dpi)
            assert (image.pixels.shape[1], image.pixels.shape[0]) == size
            assert (image.dpi, image.grid) == (dpi, (2, 3))

    @pytest.mark.parametrize(
        ("rotation", "where"),
        [(0, "top left"), (90, "top right"), (180, "bottom right"), (270, "bottom left")],
    )
    def test_rotation_is_honoured(self, tmp_path, rotation, where):
        image = show(pdf(tmp_path / "a.pdf", 595, 842, rotation))
        assert corner(image) == where
        assert image.grid == ((2, 3) if rotation % 180 == 0 else (3, 2))

    def test_transparent_page_is_white_and_annotations_are_drawn(self, tmp_path):
        document = pymupdf.open()
        page = document.new_page()
        assert page.get_pixmap(alpha=True).pixel(5, 5)[3] == 0
        document.save(tmp_path / "plain.pdf")
        page.add_freetext_annot((100, 100, 300, 150), "a note", fontsize=20, fill_color=(1, 1, 0))
        document.save(tmp_path / "note.pdf")
        assert (show(tmp_path / "plain.pdf").pixels == 255).all()
        assert not (show(tmp_path / "note.pdf").pixels == 255).all()

    @pytest.mark.parametrize("colour", [(1, 0, 0), (0, 0, 0)])
    def test_only_a_page_with_colour_takes_the_memory_of_three_channels(self, tmp_path, colour):
        document = pymupdf.open()
        page = document.new_page(width=101, height=99)
        page.draw_rect((20, 30, 70, 40), fill=colour, width=0)
        drawn = page.get_pixmap(matrix=pymupdf.Matrix(2, 2), alpha=False)
        document.save(tmp_path / "page.pdf")
        pixels = show(tmp_path / "page.pdf", dpi=144).pixels
        assert np.array_equal(pixels, np.frombuffer(drawn.samples, np.uint8).reshape(pixels.shape))
        assert (pixels.strides[2] == 0) == (colour == (0, 0, 0))

    @pytest.mark.parametrize("lines", [True, False])
    def test_hairlines_are_seen_by_the_line_reader_and_as_drawn_by_a_model(self, tmp_path, lines):
        document = pymupdf.open()
        page = document.new_page()
        page.draw_line((50, 100), (400, 100), width=0.05)
        document.save(tmp_path / "page.pdf")
        pixels = show(tmp_path / "page.pdf", tile=TileSettings(lines=lines)).pixels
        assert (pixels.min() < 160) == lines

    def test_crop_box_is_the_page(self, tmp_path):
        path = pdf(tmp_path / "a.pdf", 595, 842)
        document = pymupdf.open(path)
        document[0].set_cropbox(pymupdf.Rect(0, 0, 148, 148))
        document.save(tmp_path / "b.pdf")
        image = show(tmp_path / "b.pdf")
        assert image.grid == (1, 1)
        assert (image.pixels[50:-50, 50:-50] == 0).all()

    def test_huge_page_is_rendered_small_and_refused_at_a_fixed_dpi(self, tmp_path):
        path = pdf(tmp_path / "a.pdf", 14400, 14400)
        assert show(path).pixels.shape == (1280, 1280, 3)
        with pytest.raises(
            PageRenderError, match=r"at 300 dpi the page is 3600 megapixels.*lower render\.dpi"
        ):
            show(path, dpi=300)

    def test_absurdly_thin_page_is_capped(self, tmp_path):
        image = show(pdf(tmp_path / "a.pdf", 3, 14400))
        assert image.pixels.size // 3 <= 33_000_000
        assert image.grid == (1, 6)

    def test_missing_file_and_password_are_told_apart_from_damage(self, tmp_path):
        page = Page(path=str(tmp_path / "gone.pdf"), sha256="", kind="pdf", page_index=0)
        with pytest.raises(FileNotFoundError):
            render(page, RenderSettings(), TileSettings(), OpenDocuments())
        (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4 garbage")
        with pytest.raises(DocumentError, match="damaged"):
            show(tmp_path / "bad.pdf")


class TestImages:
    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("form", ["JPEG", "TIFF", "PNG", "WEBP"])
    def test_exif_orientation_is_undone(self, tmp_path, orientation, form):
        upright = np.full((100, 60, 3), 255, dtype=np.uint8)
        upright[:30, :30] = 0
        undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Image.Transpose that makes the stored picture
        stored = Image.fromarray(upright)
        if orientation > 1:
            stored = stored.transpose(Image.Transpose(undo[orientation]))
        exif = Image.Exif()
        exif[0x0112] = orientation
        image = show(save(tmp_path / "a", stored, format=form, exif=exif))
        assert image.pixels.shape == (100, 60, 3)
        assert corner(image) == "top left"

    @pytest.mark.parametrize(
        "image",
        [
            Image.new("1", (80, 60), 1),
            Image.new("L", (80, 60), 255),
            Image.new("P", (80, 60), 0),
            Image.new("I;16", (80, 60), 65535),
            Image.new("I", (80, 60), 65535),
            Image.new("F", (80, 60), 1.0),
            Image.new("F", (80, 60), 255.0),
            Image.new("CMYK", (80, 60), (0, 0, 0, 0)),
            Image.new("LA", (80, 60), (0, 0)),
            Image.new("RGBA", (80, 60), (0, 0, 0, 0)),
            Image.new("LAB", (80, 60), (255, 128, 128)),
        ],
        ids=lambda image: image.mode,
    )
    def test_white_is_white_in_every_mode(self, tmp_path, image):
        if image.mode == "P":
            image.putpalette([255, 255, 255, 0, 0, 0])
        shown = show(save(tmp_path / "a.tif", image))
        assert shown.pixels.shape == (60, 80, 3)
        assert (shown.pixels == 255).all()

    def test_deep_greys_are_scaled_not_clipped(self, tmp_path):
        ramp = np.linspace(0, 65535, 256).astype(np.uint16)[None].repeat(20, axis=0)
        for name in ("a.png", "a.tif"):
            shown = show(save(tmp_path / name, Image.fromarray(ramp)))
            assert np.abs(shown.pixels[0, :, 0].astype(int) - np.arange(256)).max() <= 1
        twelve_bits = Image.fromarray((ramp // 16).astype(np.uint16))
        assert show(save(tmp_path / "b.tif", twelve_bits)).pixels[0, -1, 0] == 255

    def test_transparency_is_laid_onto_white(self, tmp_path):
        rgba = Image.new("RGBA", (80, 60), (0, 0, 0, 0))
        rgba.paste((200, 0, 0, 128), (0, 0, 40, 60))
        shown = show(save(tmp_path / "a.png", rgba)).pixels
        assert tuple(shown[0, 60]) == (255, 255, 255)
        assert np.abs(shown[0, 10].astype(int) - (227, 127, 127)).max() <= 1
        palette = Image.new("P", (80, 60), 1)
        palette.putpalette([0, 0, 0, 10, 10, 10])
        for name in ("b.png", "b.gif"):
            assert (show(save(tmp_path / name, palette, transparency=1)).pixels == 255).all()

    @pytest.mark.parametrize(("shade", "ground"), [(255, 0), (230, 0), (0, 255), (128, 255)])
    def test_light_print_on_a_transparent_ground_is_laid_onto_black(self, tmp_path, shade, ground):
        rgba = Image.new("RGBA", (80, 60), (shade, shade, shade, 0))
        rgba.paste((shade, shade, shade, 255), (10, 10, 30, 20))
        shown = show(save(tmp_path / "a.png", rgba)).pixels
        assert (int(shown[15, 15, 0]), int(shown[50, 50, 0])) == (shade, ground)

    def test_light_and_dark_print_on_a_transparent_ground_is_laid_onto_grey(self, tmp_path):
        rgba = Image.new("RGBA", (80, 60), (0, 0, 0, 0))
        rgba.paste((255, 255, 255, 255), (10, 10, 30, 20))
        rgba.paste((0, 0, 0, 255), (10, 30, 25, 40))
        assert int(show(save(tmp_path / "a.png", rgba)).pixels[50, 50, 0]) == 128

    def test_dark_print_whose_paper_was_made_transparent_is_laid_onto_white(self, tmp_path):
        grey = Image.new("L", (80, 60), 255)
        for seam, shade in enumerate((235, 150, 0)):
            grey.paste(shade, (10 + seam, 10 + seam, 16 - seam, 50 - seam))
        paper = Image.merge("LA", (grey, grey.point(lambda level: 255 * (level < 255))))
        assert int(show(save(tmp_path / "a.png", paper)).pixels[50, 50, 0]) == 255

    def test_cmyk_jpeg_is_not_inverted(self, tmp_path):
        assert (show(save(tmp_path / "a.jpg", Image.new("CMYK", (80, 60), (0, 0, 0, 0)))).pixels > 250).all()
        assert (show(save(tmp_path / "b.jpg", Image.new("CMYK", (80, 60), (0, 0, 0, 255)))).pixels < 5).all()

    def test_each_tiff_frame_is_its_own_page(self, tmp_path):
        sizes = [(700, 900), (300, 200), (900, 700)]
        frames = [Image.new("L", size, 40 * n) for n, size in enumerate(sizes)]
        frames[0].save(tmp_path / "a.tif", save_all=True, append_images=frames[1:])
        documents = OpenDocuments()
        shown = [show(tmp_path / "a.tif", index, documents=documents) for index in (2, 0, 1, 0)]
        assert [image.pixels[0, 0, 0] for image in shown] == [80, 0, 40, 0]
        assert [image.pixels.shape[1::-1] for image in shown] == [sizes[2], sizes[0], sizes[1], sizes[0]]
        with pytest.raises(PageRenderError):
            show(tmp_path / "a.tif", 3)

    def test_pixels_of_a_fax_become_square(self, tmp_path):
        shown = show(save(tmp_path / "a.tif", Image.new("1", (1728, 1100), 1), dpi=(204, 98)))
        assert shown.pixels.shape[:2] == (round(1100 * 204 / 98), 1728)
        assert shown.dpi == 204

    def test_dpi_is_the_declared_one_if_any(self, tmp_path):
        white = Image.new("L", (80, 60), 255)
        assert show(save(tmp_path / "a.png", white, dpi=(150, 150))).dpi == pytest.approx(150, abs=0.1)
        assert show(save(tmp_path / "b.png", white)).dpi is None
        assert show(save(tmp_path / "b.jpg", white)).dpi is None

    @pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "WEBP", "JPEG2000"])
    def test_truncated_image_is_an_error_not_half_a_page(self, tmp_path, form):
        noise = np.random.default_rng(0).integers(0, 256, (200, 200, 3), dtype=np.uint8)
        data = io.BytesIO()
        Image.fromarray(noise).save(data, form)
        (tmp_path / "a").write_bytes(data.getvalue()[: len(data.getvalue()) // 2])
        documents = OpenDocuments()
        for _ in range(2):  # a decoder may take what it has for the picture when it is asked again
            with pytest.raises((PageRenderError, DocumentError)):
                show(tmp_path / "a", documents=documents)

    def test_later_frame_may_be_the_bomb(self, tmp_path):
        frames = [Image.new("1", (100, 100)), Image.new("1", (1000, 1000))]
        frames[0].save(tmp_path / "a.tif", save_all=True, append_images=frames[1:])
        assert show(tmp_path / "a.tif", 0, max_image_pixels=10_000).pixels.shape == (100, 100, 3)
        with pytest.raises(PageRenderError, match="max_image_pixels"):
            show(tmp_path / "a.tif", 1, max_image_pixels=10_000)


def test_long_pdf_is_opened_once(monkeypatch):
    opened = []
    real = pymupdf.open
    monkeypatch.setattr(pymupdf, "open", lambda *a, **k: opened.append(a) or real(*a, **k))
    report, other = SAMPLES / "report.pdf", SAMPLES / "two-column.pdf"
    documents = OpenDocuments()
    for path, index in ((report, 0), (report, 2), (report, 1), (other, 0), (report, 0)):
        assert show(path, index, documents=documents).page == page_of(path, index)
    assert len(opened) == 3
    documents.close()


def test_print_too_small_to_see_is_not_blank(tmp_path):
    document = pymupdf.open()
    document.new_page(width=14000, height=14000).insert_text((50, 50), "tiny", fontsize=4)
    document.save(tmp_path / "huge.pdf")
    with pytest.raises(PageRenderError, match="too small"):
        show(tmp_path / "huge.pdf")


@pytest.mark.parametrize(
    ("text", "options"),
    [("hidden", {"render_mode": 3}), ("hidden", {"color": (1, 1, 1)}), (".", {"fontsize": 6})],
)
def test_hidden_text_and_a_lone_stop_do_not_fill_a_blank_page(tmp_path, text, options):
    """A stop as LaTeX's authors put onto a page that is to stay empty."""
    document = pymupdf.open()
    document.new_page().insert_text((80, 90), text, **options)
    document.save(tmp_path / "blank.pdf")
    assert show(tmp_path / "blank.pdf").blank


def test_a_damaged_file_has_no_blank_pages(tmp_path):
    whole = (SAMPLES / "report.pdf").read_bytes()
    (tmp_path / "cut.pdf").write_bytes(whole[:3000])
    with pymupdf.open(tmp_path / "cut.pdf") as document:
        assert document.is_repaired
        assert document.page_count > 0
    with pytest.raises(PageRenderError, match="part of what the page draws cannot be used") as caught:
        show(tmp_path / "cut.pdf")
    assert caught.value.category == "unreadable"
