"""Parts of pages: shaped as cuts are, letters as large as they come out at run time, almost no margin."""

import random
from collections import Counter
from pathlib import Path

import pytest

from ocr.imaging.tiling import choose_grid
from ocr.training.pages.compose import compose_form
from ocr.training.pages.crop_forms import draw_part, sizes_pt
from ocr.training.pages.fonts import Fonts
from ocr.training.pages.truth.page_truth import UnreadableError, extract
from ocr.training.pages.words.text import TextSource


def test_parts_are_wide_and_narrow_and_always_tiled() -> None:
    rng = random.Random(0)
    forms = [draw_part(rng) for _ in range(1500)]
    assert all(choose_grid(round(2 * f.width_pt), round(2 * f.height_pt), 6) != (1, 1) for f in forms)
    shapes = sorted(f.width_pt / f.height_pt for f in forms)
    assert shapes[0] < 0.45
    assert shapes[-1] > 2.4
    columns = Counter(f.columns for f in forms)
    assert columns[1] > columns[2] > columns[3] > columns[4] > 0
    assert all(f.columns == 1 for f in forms if f.width_pt < 320)


@pytest.mark.parametrize(("width", "height"), [(595, 420), (595, 280), (290, 800)])
def test_letters_are_5_to_14_px_high(width: float, height: float) -> None:
    low, high = sizes_pt(width, height)
    grid = choose_grid(2 * round(width), 2 * round(height), 6)
    scale = min(640 * grid[0] / width, 640 * grid[1] / height)
    assert 4.5 <= low < 8 <= high
    assert 4.9 < 0.47 * low * scale < 0.47 * high * scale < 14.5


def test_a_part_is_written_on_up_to_its_edges(corpus: Path) -> None:
    rng, source, fonts = random.Random(2), TextSource(corpus / "text"), Fonts(corpus / "fonts")
    filled = []
    for _ in range(12):
        form = draw_part(rng)
        try:
            glyphs = extract(compose_form(rng, source, fonts, form, pictures=None))
        except UnreadableError:
            continue
        box = glyphs.box_pt[[not mark.isspace() for mark in glyphs.text]]
        assert (box[:, 2] < form.width_pt + 2).all()
        assert box[:, 0].min() < 0.12 * form.width_pt
        filled.append(box[:, 1].min() < 0.1 * form.height_pt)
    assert len(filled) > 6
    assert sum(filled) > 0.8 * len(filled)
