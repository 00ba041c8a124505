from pathlib import Path

import pytest

from ocr.training.pages.page_truth import UnreadableError
from ocr.training.structure.true_lines import ROLES, TrueLine, true_lines, true_rules
from tests.ocr.training.writers import Desk


def _lines(corpus: Path, markup: str) -> list[TrueLine]:
    return true_lines(Desk(corpus, 1).sheet(markup))


def _roles(lines: list[TrueLine]) -> list[str]:
    return [ROLES[line.place.role] for line in lines]


def test_lines_know_their_roles_and_blocks(corpus: Path) -> None:
    markup = (
        "<!--heading--><h2>About Cats</h2><!--paragraph--><p>One line<br>and another</p>"
        "<!--bullets--><ul><li>first</li><li>second</li></ul><!--figure--><p class=caption>Figure 1: a cat</p>"
    )
    lines = _lines(corpus, markup)
    assert _roles(lines) == ["heading 2", "text", "text", "list item", "list item", "caption"]
    blocks = [line.place.block for line in lines]
    assert blocks[1] == blocks[2]
    assert len(set(blocks)) == 5
    assert [line.order for line in lines] == list(range(6))


def test_lists_are_told_from_the_paragraph_behind_them(corpus: Path) -> None:
    markup = "<!--marked--><p class=item0>a) first</p><p class=item1>- inner</p><p>after the list</p>"
    assert _roles(_lines(corpus, markup)) == ["list item", "list item", "text"]


def test_cells_know_their_rows_and_columns_under_spans(corpus: Path) -> None:
    markup = (
        "<!--table--><table><tr><td>head</td><td>other</td></tr>"
        "<tr><td rowspan=2>tall</td><td>b1</td></tr><tr><td>b2</td></tr><tr><td colspan=2>wide</td></tr></table>"
    )
    lines = _lines(corpus, markup)
    found = {line.text: (line.place.rows, line.place.columns) for line in lines}
    assert found == {
        "head": ((0, 0), (0, 0)),
        "other": ((0, 0), (1, 1)),
        "tall": ((1, 2), (0, 0)),
        "b1": ((1, 1), (1, 1)),
        "b2": ((2, 2), (1, 1)),
        "wide": ((3, 3), (0, 1)),
    }
    assert len({line.place.table for line in lines}) == 1


def test_borders_of_cells_are_rules_over_the_whole_table(corpus: Path) -> None:
    style = 'style="border:1px solid black"'
    cells = "".join(f"<tr><td {style}>a{row}</td><td {style}>b{row}</td></tr>" for row in range(4))
    sheet = Desk(corpus, 1).sheet(f'<!--table--><table style="border-collapse:collapse">{cells}</table><hr>')
    sizes = [(x1 - x0, y1 - y0) for x0, y0, x1, y1 in true_rules(sheet)]
    across, down = ([size for size in sizes if (size[0] > size[1]) == is_level] for is_level in (True, False))
    assert len(down) == 3
    assert len(across) == 5 + 1
    assert len({round(height) for _, height in down}) == 1
    assert sorted(width for width, _ in across)[-2] < max(across)[0], "the rule below is the widest"


def test_a_page_number_is_no_running_title(corpus: Path) -> None:
    assert _roles(_lines(corpus, "<!--footer--><p class=small>– 12 –</p>")) == ["page number"]
    assert _roles(_lines(corpus, "<!--header--><p class=small>Of cats</p>")) == ["page header"]


def test_text_that_found_no_room_is_passed_over(corpus: Path) -> None:
    desk = Desk(corpus, 1)
    words = " ".join(f"word{number}" for number in range(300))
    sheet = desk.sheet(f"<!--paragraph--><p>{words}</p>", (20, 20, 420, 60))
    desk_lines = true_lines(sheet)
    assert set(_roles(desk_lines)) == {"text"}
    assert len(desk_lines) < 10


def test_a_page_of_other_text_than_its_markup_is_refused(corpus: Path) -> None:
    sheet = Desk(corpus, 1).sheet("<!--paragraph--><p>Something is written here, and more of it</p>")
    with pytest.raises(UnreadableError, match="not that of the markup"):
        true_lines(
            type(sheet)(display=sheet.display, width_pt=1, height_pt=1, markup="<!--paragraph--><p>qq</p>")
        )
