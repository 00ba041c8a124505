import html
import re
from pathlib import Path

from ocr.training.pages.tables import wrapped
from ocr.training.pages.truth import extract
from tests.ocr.training.writers import Desk


def test_cells_of_several_lines_are_read_row_by_row_cell_after_cell(corpus: Path) -> None:
    broken = 0
    for seed in range(8):
        desk = Desk(corpus, seed)
        [block] = wrapped(desk.writer)
        cells = re.findall(r"<td[^>]*>(.*?)</td>", block.html)
        text = extract(desk.sheet([block])).text
        assert text.split() == html.unescape(" ".join(cells)).split()
        broken += len([line for line in text.split("\n") if line]) > block.html.count("<tr>") + 3
    assert broken > 4
