import lzma
import random
from collections import Counter
from pathlib import Path

import pytest

from ocr.imaging.tiling import choose_grid
from ocr.training.pages.compose import category_of, compose
from ocr.training.pages.genres import GENRES, Form, Genre, draw_form
from ocr.training.pages.page_source import PageSource
from ocr.training.pages.page_truth import UnreadableError, extract
from ocr.training.pages.words.text import TextSource
from tests.ocr.training.sources import make_corpus


@pytest.mark.parametrize("genre", GENRES, ids=lambda genre: genre.name)
def test_pages_of_every_kind_hold_text_on_the_page(genre: Genre, corpus: Path) -> None:
    rng, source, read = random.Random(1), PageSource(corpus), 0
    for (width, height), _ in genre.formats[:3]:
        columns = max(i for i, share in enumerate(genre.columns, 1) if share) if width > 400 else 1
        try:
            form = Form(
                genre=genre, width_pt=width, height_pt=height, size_pt=genre.sizes_pt[0], columns=columns,
                fill=genre.fills[0],
            )  # fmt: skip
            sheet = compose(rng, source, form, "en_prose")
        except UnreadableError:
            continue
        glyphs = extract(sheet)
        boxes = glyphs.box_pt[[not mark.isspace() for mark in glyphs.text]]
        assert len(boxes)
        assert boxes.min() > -2
        assert (boxes[:, 2] < width + 2).all()
        assert (boxes[:, 3] < height + 2).all()
        read += 1
    assert read


def test_forms_are_as_varied_as_they_should_be() -> None:
    rng = random.Random(0)
    forms = [draw_form(rng) for _ in range(4000)]
    columns = Counter(form.columns for form in forms)
    assert 0.2 < columns[2] / len(forms) < 0.3
    assert 0.03 < columns[3] / len(forms) < 0.08
    grids = {choose_grid(round(2 * f.width_pt), round(2 * f.height_pt), 6) for f in forms}
    assert len(grids - {(1, 1)}) >= 9
    sizes = sorted(form.size_pt for form in forms)
    assert sizes[0] < 7 < 16 < sizes[-1]
    assert 8 < sizes[len(sizes) // 2] < 11
    assert {form.genre.name for form in forms} == {genre.name for genre in GENRES}


def test_pages_of_shops_are_of_names_and_goods(tmp_path: Path) -> None:
    folder = make_corpus(tmp_path / "data")
    (folder / "text" / "business.txt.xz").write_bytes(
        lzma.compress(("Zyx & Co, 12 Qwv Lane\n\n" * 40).encode())
    )
    source, rng = TextSource(folder / "text"), random.Random(2)
    assert "business" not in source.languages
    [genre] = [g for g in GENRES if g.name == "receipt"]
    drawn = Counter(category_of(rng, source, genre) for _ in range(400))
    assert 0.65 < drawn["business"] / 400 < 0.9
    [genre] = [g for g in GENRES if g.name == "book"]
    assert Counter(category_of(rng, source, genre) for _ in range(400))["business"] < 60
