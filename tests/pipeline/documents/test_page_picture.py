"""Pages and their figures are drawn upright, at the size asked for, and only from what was read."""

import hashlib
import io
from pathlib import Path

import pytest
from PIL import Image

from pipeline.documents.failures import PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.page_picture import UNSEEN, FigurePlaces, Look, page_figures, page_picture
from pipeline.documents.settings import RenderSettings
from pipeline.types import Page

SMALL = Look(width_px=100, height_px=100, quality=60)


def a_document(folder: Path, kind: str) -> Page:
    """A page of 400 x 200 pixels with a black left edge, and a green rectangle in its middle."""
    picture = Image.new("RGB", (400, 200), "white")
    picture.paste("black", (0, 0, 40, 200))
    picture.paste((0, 160, 0), (150, 50, 250, 150))
    path = folder / f"page.{'pdf' if kind == 'pdf' else 'png'}"
    picture.save(path)
    return Page(
        path=str(path),
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        kind="pdf" if kind == "pdf" else "image",
        page_index=0,
        stamp=UNSEEN,
    )


@pytest.mark.parametrize("kind", ["pdf", "image"])
def test_a_page_stands_upright_however_often_it_is_drawn(tmp_path: Path, kind: str) -> None:
    """Turned clockwise by 90 degrees, its upper edge is black."""
    page, documents = a_document(tmp_path, kind), OpenDocuments()
    for _ in range(2):
        drawn = page_picture(page, RenderSettings(), documents, rotation_deg=90, look=SMALL)
        with Image.open(io.BytesIO(drawn.jpeg)) as picture:
            assert picture.size == (50, 100)
            grey = picture.convert("L")
        assert [grey.getpixel(place) < 50 for place in ((25, 2), (45, 50), (2, 50))] == [True, False, False]
    documents.close()


@pytest.mark.parametrize("kind", ["pdf", "image"])
def test_figures_are_cut_out_of_the_page_as_it_was_read(tmp_path: Path, kind: str) -> None:
    """The boxes are of a page half as large, turned by 90 degrees; one of them is off the page."""
    page, documents = a_document(tmp_path, kind), OpenDocuments()
    places = FigurePlaces(
        boxes=[(25, 75, 75, 125), (-5, 190, 20, 260), (300, 0, 400, 10)],
        width_px=100,
        height_px=200,
        rotation_deg=90,
    )
    green, corner, nowhere = page_figures(page, RenderSettings(), documents, places)
    with Image.open(io.BytesIO(green)) as picture:
        scale = picture.width / 50
        assert picture.format == "JPEG"
        assert picture.size == pytest.approx((50 * scale, 50 * scale), abs=2)
        for share in (0.1, 0.5, 0.9):
            red, its_green, _ = picture.getpixel((int(picture.width * share), int(picture.height * share)))
            assert red < 60
            assert 130 < its_green < 190
    with Image.open(io.BytesIO(corner)) as picture:
        assert picture.size == pytest.approx((20 * scale, 10 * scale), abs=2)
    assert nowhere == b""
    documents.close()


def test_another_content_is_never_drawn(tmp_path: Path) -> None:
    a_document(tmp_path, "image")
    path = str(tmp_path / "page.png")
    page = Page(path=path, sha256="0" * 64, kind="image", page_index=0, stamp=UNSEEN)
    places = FigurePlaces(boxes=[(0, 0, 9, 9)], width_px=10, height_px=10, rotation_deg=0)
    with pytest.raises(PageRenderError, match="changed"):
        page_picture(page, RenderSettings(), OpenDocuments(), rotation_deg=0, look=SMALL)
    with pytest.raises(PageRenderError, match="changed"):
        page_figures(page, RenderSettings(), OpenDocuments(), places)
