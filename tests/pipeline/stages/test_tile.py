from pathlib import Path

import numpy as np
import pytest

from ocr.imaging.tiling import views
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.stages.render import render
from pipeline.stages.tile import tile
from pipeline.types import Page

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.parametrize("mode", ["tiny", "gundam"])
def test_pages_keep_their_order_size_and_views(mode):
    pages = [
        Page(path=str(SAMPLES / name), sha256="", kind=kind, page_index=index)
        for name, kind, index in [
            ("report.pdf", "pdf", 1),
            ("letter.png", "image", 0),
            ("report.pdf", "pdf", 0),
        ]
    ]
    settings = TileSettings(mode=mode)
    images = render(pages, RenderSettings(), settings, OpenDocuments())
    rendered = tile(images, settings)
    assert [page.page for page in rendered] == pages
    for image, page in zip(images, rendered, strict=True):
        assert (page.height_px, page.width_px) == image.pixels.shape[:2]
        assert (page.dpi, page.blank, page.views.grid) == (image.dpi, False, image.grid)
        expected = views(image.pixels, mode, settings.max_tiles, image.grid)
        assert np.array_equal(page.views.global_view, expected.global_view)
        assert np.array_equal(page.views.local_views, expected.local_views)
        assert set(page.seconds) == {"render", "tile"}
        assert all(seconds > 0 for seconds in page.seconds.values())


def test_a_page_whose_words_are_looked_for_keeps_its_pixels_in_grey(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.stages.tile.MAX_INK_PX", 100_000)
    page = Page(path=str(SAMPLES / "letter.png"), sha256="", kind="image", page_index=0)
    settings = TileSettings(mode="tiny", words="lines")
    images = render([page], RenderSettings(), settings, OpenDocuments())
    for words, has_ink in (("lines", True), ("layer", False), ("off", False)):
        (found,) = tile(images, TileSettings(mode="tiny", words=words))
        assert (found.ink is not None) == has_ink
        assert found.num_bytes == found.views.num_bytes + (found.ink.nbytes if has_ink else 0)
        if has_ink:
            height, width = found.ink.shape
            assert height * width == pytest.approx(100_000, rel=0.01)
            assert width / height == pytest.approx(found.width_px / found.height_px, rel=0.02)
            assert found.ink.min() < 100 < 200 < found.ink.max()
            assert found.without_views().ink is None
    (line,) = tile(images, TileSettings(lines=True, words="lines"))
    assert line.ink is None, "the line reader says where words are"
