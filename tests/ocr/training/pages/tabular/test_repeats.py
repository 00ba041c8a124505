"""Matter that nearly repeats: its blocks hold what was drawn, and little of it differs."""

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ocr.training.pages.matter.html_blocks import Block, Writer
from ocr.training.pages.tabular.repeats import described, parameters, repeating_lines, repeating_table, units
from ocr.training.pages.truth.page_truth import extract
from tests.ocr.training.writers import Desk


@pytest.mark.parametrize("make", [described, repeating_lines, repeating_table])
@pytest.mark.parametrize("seed", range(5))
def test_one_block_with_text_is_made(corpus: Path, make: Callable[[Writer], list[Block]], seed: int) -> None:
    (block,) = make(Desk(corpus, seed).writer)
    assert block.kind in ("table", "code")
    assert len(block.visible().split()) >= 4


def test_values_of_a_repeating_table_come_from_small_sets(corpus: Path) -> None:
    (block,) = repeating_table(Desk(corpus, 2).writer)
    rows = block.html.split("<tr>")[2:]
    last_cells = {row.rsplit("<td", 1)[1] for row in rows}
    assert len(rows) >= 5
    assert len({cell.split(">", 1)[1] for cell in last_cells}) <= 6


@pytest.mark.parametrize("make", [units, parameters])
def test_rows_of_units_and_parameters_nearly_repeat_and_read_row_by_row(
    corpus: Path, make: Callable[[Writer], list[Block]]
) -> None:
    for seed in range(6):
        desk = Desk(corpus, seed)
        [block] = make(desk.writer)
        rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in block.html.split("<tr>")[1:]]
        assert len(rows) >= 4
        shown = "".join(extract(desk.sheet([block])).text.split())
        written = "".join(html.unescape(re.sub("<[^>]*>", "", cell)) for row in rows for cell in row)
        assert shown == "".join(written.split())
