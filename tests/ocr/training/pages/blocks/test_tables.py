"""Tables of many kinds of columns: read row by row, no wider than their column."""

import html
import re
from pathlib import Path

import pytest

from ocr.training.pages.blocks.columns import KINDS, ColumnKind
from ocr.training.pages.blocks.tables import grid, table
from ocr.training.pages.page_truth import extract
from tests.ocr.training.writers import Desk


def _text(markup: str) -> str:
    return "".join(html.unescape(re.sub("<[^>]*>", "", markup)).split())


def test_rows_are_many_or_few_and_are_read_one_after_the_other(corpus: Path) -> None:
    rows = []
    for seed in range(30):
        desk = Desk(corpus, seed)
        made = table(desk.writer)
        shown = "".join(extract(desk.sheet(made)).text.split())
        assert shown.replace("-", "") == _text(made).replace("-", "")
        rows.append(len(re.findall("<tr>|\n", made)))
    assert min(rows) < 8 < 35 < max(rows)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.make.__name__)
def test_cells_of_every_kind_are_drawn_as_they_are_written(kind: ColumnKind, corpus: Path) -> None:
    desk = Desk(corpus, 1)
    cell = kind.make(desk.writer)
    rows = [[str(n), cell(n)] for n in range(40)]
    shown = "".join(extract(desk.sheet(grid(desk.writer, rows, [False, kind.number]))).text.split())
    assert shown.replace("-", "") == _text("".join(map("".join, rows))).replace("-", "")
    assert len({row[1] for row in rows}) > 1
