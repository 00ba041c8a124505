"""Cells of several lines: what is written is what stands on the page, row by row, cell after cell."""

import html
import re
from pathlib import Path

from ocr.training.pages.blocks.records import wrapped
from ocr.training.pages.page_truth import extract
from tests.ocr.training.writers import Desk

SEEDS = 40


def _words(text: str) -> list[str]:
    """Without hyphens: where a line ends within a word there is one more."""
    return text.replace("-\n", "").replace("-", "").split()


def test_cells_of_several_lines_are_read_row_by_row_cell_after_cell(corpus: Path) -> None:
    broken = 0
    for seed in range(SEEDS):
        desk = Desk(corpus, seed)
        table = re.sub("<p class=caption>.*?</p>", "", wrapped(desk.writer))
        text = extract(desk.sheet(table)).text
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", table)
        assert _words(text) == _words(html.unescape(re.sub("<[^>]*>", "", " ".join(cells))))
        broken += len([line for line in text.split("\n") if line]) > table.count("<tr>") + 3
    assert broken > SEEDS / 2


def test_cells_are_merged_and_some_hold_code(corpus: Path) -> None:
    tables = "".join(wrapped(Desk(corpus, seed).writer) for seed in range(SEEDS))
    assert "rowspan" in tables
    assert "colspan" in tables
    assert tables.count("<code>") > 100
