"""Cells of tables whose lines a network names: columns by white and names, rows by names."""

from collections.abc import Sequence

from ocr.line_reader.named_tables import NamedRow, named_table
from ocr.paragraphs.line_tables import Table
from ocr.paragraphs.text_lines import Line

Part = tuple[float, float]
SIZE = 20.0


def row(number: int, base: float, parts: Sequence[Part], columns: Sequence[int] = ()) -> NamedRow:
    """Returns lines with these parts. columns: the network's; none are a column each."""
    line = Line(text="words", spans=(parts[0], parts[-1]), parts=tuple(parts), base=base, size=SIZE)
    return NamedRow(line=line, rows=frozenset({number}), columns=columns or range(len(parts)))


def shape(table: Table) -> list[tuple[int, int, int]]:
    return [(cell.row, cell.column, cell.num_columns) for cell in table]


def whole(rows: int, columns: int) -> list[tuple[int, int, int]]:
    return [(n, at, 1) for n in range(rows) for at in range(columns)]


def test_columns_meet_in_the_white_that_all_rows_leave() -> None:
    rows = [row(n, 100 + 30 * n, [(50, 90 + 9 * n), (200, 260), (400, 430)]) for n in range(4)]
    table = named_table(rows)
    assert shape(table) == whole(4, 3)
    assert [cell.box[0] for cell in table[:3]] == [50, (117 + 200) / 2, (260 + 400) / 2]


def test_narrow_white_parts_columns_where_the_network_does() -> None:
    parts = [(50.0, 90.0), (95.0, 130.0)]
    assert shape(named_table([row(n, 100 + 30 * n, parts) for n in range(4)])) == whole(4, 2)
    assert named_table([row(n, 100 + 30 * n, parts, [1, 1]) for n in range(4)]) == ()


def test_lines_of_one_row_are_one_row() -> None:
    rows = [
        row(0, 100, [(50, 90), (200, 300)]),
        row(0, 130, [(200, 280)], [1]),
        row(1, 160, [(50, 99), (200, 290)]),
    ]
    assert shape(named_table(rows)) == whole(2, 2)


def test_a_row_over_all_columns_is_one_cell() -> None:
    rows = [row(n, 100 + 30 * n, [(50, 90), (200, 260)]) for n in range(6)]
    rows.insert(2, row(9, 145, [(50, 240)]))
    assert shape(named_table(rows))[4] == (2, 0, 2)


def test_a_formula_with_one_row_of_several_parts_is_no_table() -> None:
    assert named_table([row(0, 100, [(50, 90), (200, 260)]), row(1, 130, [(50, 240)])]) == ()
