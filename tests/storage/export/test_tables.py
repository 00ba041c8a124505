"""Tables are found in markdown as models write them: nested, cut off, spanning; nothing of their text is lost."""

import pytest

from storage.export.tables import Cell, Table, parts


def only_table(markdown: str) -> Table:
    (table,) = parts(markdown)
    assert isinstance(table, Table)
    return table


def test_text_around_tables_stays_as_it_is() -> None:
    found = list(parts("a\n<table><tr><td>1</td></tr></table> b </table>\n<TABLE border=1><tr><td>2</TABLE>"))
    assert [part if isinstance(part, str) else part.grid() for part in found] == [
        "a\n", [["1"]], " b </table>\n", [["2"]],
    ]  # fmt: skip
    assert list(parts("no <tables> here")) == ["no <tables> here"]
    assert list(parts("")) == []


def test_cells_have_their_text_and_kind() -> None:
    table = only_table(
        "<table><caption>The\n <b>caption</b></caption><thead><tr><th>k</th></tr></thead>"
        "<tbody><tr><td> a<br>b &amp; <i>c</i> <!-- d --></td></tr><tr></tr></tbody></table>"
    )
    assert table.caption == "The <b>caption</b>" or table.caption == "The caption"
    assert table.rows == ((Cell(text="k", is_heading=True),), (Cell(text="a\nb & <i>c</i> <!-- d -->"),))


def test_cells_that_span_leave_room() -> None:
    table = only_table(
        "<table><tr><td rowspan=2>a</td><td colspan='2'>b</td></tr><tr><td>c</td><td>d</td></tr>"
        "<tr><td>e</td></tr></table>"
    )
    assert table.grid() == [["a", "b", ""], ["", "c", "d"], ["e", "", ""]]
    assert [(row, column, cell.text) for row, column, cell in table.placed()] == [
        (0, 0, "a"), (0, 1, "b"), (1, 1, "c"), (1, 2, "d"), (2, 0, "e"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "expected"), [("3", 3), ("0", 1), ("-2", 1), ("x", 1), ("²", 1), ("99999", 1), ("9999", 100)]
)
def test_spans_are_numbers_within_reason(written: str, expected: int) -> None:
    cell = only_table(f'<table><tr><td colspan="{written}">a</td></tr></table>').rows[0][0]
    assert cell.num_columns == expected


def test_a_table_within_a_table_is_its_cell_s_text() -> None:
    (table,) = parts("<table><tr><td>a<table><tr><td>b</td></tr></table></td></tr></table>")
    assert isinstance(table, Table)
    text = " ".join(cell.text for row in table.rows for cell in row)
    assert "a" in text
    assert "b" in text


def test_a_table_that_is_cut_off_ends_with_the_text() -> None:
    table = only_table("<table><tr><td>a</td><td>b</td></tr><tr><td>c")
    assert table.grid() == [["a", "b"], ["c", ""]]
    assert only_table("<table>").grid() == []


def test_text_between_cells_is_kept() -> None:
    assert only_table("<table>stray<tr><td>a</td></tr></table>").grid() == [["stray"], ["a"]]
