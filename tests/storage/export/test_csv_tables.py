"""The tables of pages come back from the CSV, and no spreadsheet runs what they say."""

import csv
import io

import pytest

from storage.export import csv_tables
from storage.export.rows import PageRow
from tests.storage.export.page_rows import a_failure, a_row

TABLE = "<table><tr><th colspan=2>a,b</th><td>c</td></tr><tr><td rowspan=2>1\n2</td></tr><tr><td>=x</td></tr></table>"


def written(*rows: PageRow) -> list[list[str]]:
    stream = io.StringIO(newline="")
    csv_tables.write(rows, stream)
    return list(csv.reader(io.StringIO(stream.getvalue(), newline="")))


def test_every_row_says_where_it_is_from() -> None:
    bars = "| k | v |\n|---|---|\n| **p** | -5.3 |\n"
    assert written(a_row(f"text\n\n{TABLE}\n\n{bars}"), a_failure(), a_row("no table", 3)) == [
        ["path", "page", "table", "row", "note", "cell_1", "cell_2", "cell_3"],
        ["/in/a.pdf", "1", "1", "1", "", "a,b", "", "c"],
        ["/in/a.pdf", "1", "1", "2", "", "1\n2", "", ""],
        ["/in/a.pdf", "1", "1", "3", "", "", "'=x", ""],
        ["/in/a.pdf", "1", "2", "1", "", "k", "v", ""],
        ["/in/a.pdf", "1", "2", "2", "", "**p**", "-5.3", ""],
        ["/in/a.pdf", "2", "", "", "failed: render: crash: bad --> <b>\\x01", "", "", ""],
    ]


@pytest.mark.parametrize(
    "cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", " =1", "＝1", "|x", "-"]
)
def test_what_a_spreadsheet_would_run_has_an_apostrophe(cell: str) -> None:
    assert csv_tables.safe(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "-5", "+4.25%", "-1,234.50", "a=b", "x-y", "12"])
def test_numbers_and_text_stay(cell: str) -> None:
    assert csv_tables.safe(cell) == cell


def test_a_table_that_is_cut_off_is_kept() -> None:
    assert written(a_row("<table><tr><td>a</td><td>b"))[1][5:] == ["a", "b"]
