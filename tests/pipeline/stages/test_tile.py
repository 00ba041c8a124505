import numpy as np
import pytest

from ocr.imaging.tiling import layout, views
from pipeline.documents.settings import TileSettings
from pipeline.stages.render import tile
from tests.pipeline.documents.drawing import SAMPLES, show


@pytest.mark.parametrize("mode", ["tiny", "gundam"])
def test_a_page_keeps_its_size_and_has_the_views_of_its_grid(mode):
    settings = TileSettings(mode=mode)
    for name, index in (("report.pdf", 1), ("letter.png", 0)):
        image = show(SAMPLES / name, index, tile=settings)
        page = tile(image, settings)
        height, width, _ = image.pixels.shape
        assert (page.page, page.height_px, page.width_px) == (image.page, height, width)
        assert (page.dpi, page.blank) == (image.dpi, False)
        assert page.views.grid == (image.grid or layout(width, height, mode, settings.max_tiles).grid)
        expected = views(image.pixels, mode, settings.max_tiles, image.grid)
        assert np.array_equal(page.views.global_view, expected.global_view)
        assert np.array_equal(page.views.local_views, expected.local_views)
        assert set(page.seconds) == {"render", "tile"}
        assert all(seconds > 0 for seconds in page.seconds.values())


def test_a_page_whose_words_are_looked_for_keeps_its_pixels_in_grey(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.stages.render.MAX_INK_PX", 100_000)
    image = show(SAMPLES / "letter.png", tile=TileSettings(mode="tiny", words="lines"))
    for words, has_ink in (("lines", True), ("layer", False), ("off", False)):
        found = tile(image, TileSettings(mode="tiny", words=words))
        assert (found.ink is not None) == has_ink
        views = found.views.global_view.nbytes + found.views.local_views.nbytes
        assert found.num_bytes == views + (found.ink.nbytes if has_ink else 0)
        if has_ink:
            height, width = found.ink.shape
            assert height * width == pytest.approx(100_000, rel=0.01)
            assert width / height == pytest.approx(found.width_px / found.height_px, rel=0.02)
            assert found.ink.min() < 100 < 200 < found.ink.max()
            assert found.without_views().ink is None
    line = tile(image, TileSettings(lines=True, words="lines"))
    assert line.ink is None, "the line reader says where words are"
