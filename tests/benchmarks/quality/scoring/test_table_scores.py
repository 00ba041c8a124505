"""Tables are read from markdown, and compared as trees of rows and cells."""

import pytest

from tests.benchmarks.quality.scoring.table_scores import TableCell, best_likenesses, likeness, tables_in

ROWS = [[TableCell("Boat"), TableCell("Catch")], [TableCell("Ada"), TableCell("310")]]


def test_tables_between_bars_and_in_html_are_found() -> None:
    html = '<table><tr><th colspan="2">Boats \\| A &amp; B</th></tr><tr><td> Ada</td><td></td></tr></table>'
    bars = "| Boat | Catch |\n| --- | --- |\n| A\\|da | 310 |"
    first, second = tables_in(f"Text\n\n{html}\n\n{bars}\n\nMore | text")
    assert first == [[TableCell("Boats \\| A & B", 1, 2)], [TableCell("Ada"), TableCell("")]]
    assert second == [ROWS[0], [TableCell("A\\|da"), TableCell("310")]]


def test_likeness_counts_rows_cells_and_letters() -> None:
    assert likeness(ROWS, ROWS) == 1
    assert likeness(ROWS, ROWS[:1]) == pytest.approx(1 - 3 / 7)
    assert likeness(ROWS, [ROWS[0], [TableCell("Ada"), TableCell("318")]]) == pytest.approx(1 - 1 / 3 / 7)
    assert likeness(ROWS, [ROWS[0], [TableCell("Ada", 1, 2), TableCell("310")]]) == pytest.approx(1 - 1 / 7)


def test_each_table_that_was_read_stands_for_one() -> None:
    other = [[TableCell("x")], [TableCell("y")]]
    assert best_likenesses([ROWS, other], [other]) == [0.0, 1.0]
    assert best_likenesses([ROWS], []) == [0.0]
