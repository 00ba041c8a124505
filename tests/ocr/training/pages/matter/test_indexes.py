"""Indexes and lists of values: little but numbers, read from the top of a column to its end."""

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ocr.training.pages.matter.html_blocks import Block, Writer
from ocr.training.pages.matter.indexes import concordance, index, values
from ocr.training.pages.truth.page_truth import extract
from tests.ocr.training.writers import Desk

BOXES = ((20, 20, 110, 300), (130, 20, 220, 300), (240, 20, 330, 300))


@pytest.mark.parametrize("make", [concordance, index, values])
def test_columns_are_read_one_after_the_other(corpus: Path, make: Callable[[Writer], list[Block]]) -> None:
    turned = 0
    for seed in range(12):
        desk = Desk(corpus, seed)
        desk.writer.width_pt = 90
        blocks = make(desk.writer)
        glyphs = extract(desk.sheet(blocks, *BOXES))
        written = html.unescape(re.sub("<[^>]*>", "", "".join(block.html for block in blocks)))
        shown = "".join(glyphs.text.split()).rstrip("-")
        assert "".join(written.split()).startswith(shown)
        turned += bool((glyphs.box_pt[-1, 0]) > 130)
    assert turned or make is not concordance


def test_a_concordance_is_mostly_digits(corpus: Path) -> None:
    text = "".join(block.visible() for seed in range(20) for block in concordance(Desk(corpus, seed).writer))
    assert sum(map(str.isdigit, text)) > 0.4 * len("".join(text.split()))
