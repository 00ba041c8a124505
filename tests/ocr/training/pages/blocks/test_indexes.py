"""Indexes: terms with their pages, read from the top of a column to its end."""

import html
import re
from pathlib import Path

from ocr.training.pages.blocks.contents import index
from ocr.training.pages.blocks.page_writer import visible
from ocr.training.pages.page_truth import extract
from tests.ocr.training.writers import Desk

BOXES = ((20, 20, 110, 300), (130, 20, 220, 300), (240, 20, 330, 300))


def test_columns_are_read_one_after_the_other(corpus: Path) -> None:
    turned = 0
    for seed in range(12):
        desk = Desk(corpus, seed)
        desk.writer.width_pt = 90
        made = index(desk.writer)
        glyphs = extract(desk.sheet(made, *BOXES))
        written = html.unescape(re.sub("<[^>]*>", "", made))
        shown = "".join(glyphs.text.split()).rstrip("-")
        assert "".join(written.split()).startswith(shown)
        turned += bool((glyphs.box_pt[-1, 0]) > 130)
    assert turned


def test_some_indexes_are_mostly_digits(corpus: Path) -> None:
    texts = ["".join(visible(index(Desk(corpus, seed).writer)).split()) for seed in range(40)]
    shares = [sum(map(str.isdigit, text)) / len(text) for text in texts]
    assert sum(share > 0.4 for share in shares) > 5
    assert sum(share < 0.3 for share in shares) > 5
