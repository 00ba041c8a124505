"""Cells of several lines: what is written is what stands on the page, row by row, cell after cell."""

import html
import re
from itertools import pairwise
from pathlib import Path

from ocr.training.pages.tabular.cells import wrapped
from ocr.training.pages.truth.page_truth import extract
from tests.ocr.training.writers import Desk

SEEDS = 40


def _words(text: str) -> list[str]:
    """Without hyphens: where a line ends within a word there is one more."""
    return text.replace("-\n", "").replace("-", "").split()


def _written(block_html: str) -> str:
    cells = re.findall(r"<td[^>]*>(.*?)</td>", block_html)
    return html.unescape(re.sub("<[^>]*>", "", " ".join(cells)))


def test_cells_of_several_lines_are_read_row_by_row_cell_after_cell(corpus: Path) -> None:
    broken = 0
    for seed in range(SEEDS):
        desk = Desk(corpus, seed)
        made = wrapped(desk.writer)
        [table] = [block for block in made if block.kind == "table"]
        text = extract(desk.sheet([table])).text
        assert _words(text) == _words(_written(table.html))
        lines = [line for line in text.split("\n") if line]
        broken += len(lines) > table.html.count("<tr>") + 3
    assert broken > SEEDS / 2


def test_cells_are_merged(corpus: Path) -> None:
    tables = "".join(block.html for seed in range(SEEDS) for block in wrapped(Desk(corpus, seed).writer))
    assert "rowspan" in tables
    assert "colspan" in tables


def test_cells_hold_code_and_differ_little_from_the_ones_above(corpus: Path) -> None:
    tables = "".join(block.html for seed in range(SEEDS) for block in wrapped(Desk(corpus, seed).writer))
    assert tables.count("<code>") > 100
    columns = [re.findall(r"<td[^>]*>([^<]+)</td>", row) for row in tables.split("<tr>")]
    alike = [
        (a, b)
        for above, row in pairwise(columns)
        for a, b in zip(above, row, strict=False)
        if a != b and a.split()[1:] and a.split()[1:] == b.split()[1:]
    ]
    assert len(alike) > 5
