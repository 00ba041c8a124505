"""Long tables of rows that hardly differ: in reading order, and no longer than a page."""

import html
import re
from pathlib import Path

from ocr.training.pages.tabular.rows import long_table
from ocr.training.pages.truth.page_truth import extract
from tests.ocr.training.writers import Desk


def test_rows_are_many_and_are_read_one_after_the_other(corpus: Path) -> None:
    longest = 0
    for seed in range(30):
        desk = Desk(corpus, seed)
        [block] = [made for made in long_table(desk.writer) if made.kind in ("table", "code")]
        shown = extract(desk.sheet([block])).text
        written = html.unescape(re.sub("<[^>]*>", "", block.html))
        assert "".join(shown.split()) == "".join(written.split())
        assert desk.writer.cost(block) < 2600
        longest = max(longest, len(re.findall("<tr>|\n", block.html)))
    assert longest > 35
