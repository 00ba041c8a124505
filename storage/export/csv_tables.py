"""CSV: the tables of all pages in one file, a row of a table a row, after where it is from.

Columns: path, page, table (from 1 on each page), row (from 1), note (why the page may be wrong), then cell_1, cell_2
and so on, as many as the widest table has. A cell that spans has its text in its first place. A page that failed
has a row with its note alone.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import TextIO

from storage.export.rendering import tables
from storage.export.rows import PageRow, shortfall
from storage.strings.printable import one_line

_COLUMNS = ("path", "page", "table", "row", "note")
# Spreadsheets run what begins so, some of them after white space and in full width too.
_RUNS = re.compile(r"\s*[=+\-@＝＋－＠|]")
# A number stays one.
_NUMBER = re.compile(r"[+-]?[\d.,]{1,40}%?")


def write(rows: Iterable[PageRow], stream: TextIO) -> None:
    """Writes the tables. No pages: nothing. The rows are kept in a temporary file until the widest table is known."""
    width, page = 0, None
    with TemporaryFile("w+", encoding="utf-8") as kept:
        for page in rows:
            for row in _rows(page):
                width = max(width, len(row) - len(_COLUMNS))
                kept.write(json.dumps(row) + "\n")
        if page is not None:
            kept.seek(0)
            # Quotes around every text, so that a line end or a comma within one is never doubtful.
            writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
            writer.writerow([*_COLUMNS, *(f"cell_{index + 1}" for index in range(width))])
            for line in kept:
                row = json.loads(line)
                writer.writerow(row + [""] * (width + len(_COLUMNS) - len(row)))


def safe(cell: str) -> str:
    """Returns a cell that no spreadsheet takes for a formula: an apostrophe before what begins like one.

    Source: OWASP, CSV injection. Numbers with a sign stay as they are.
    """
    return f"'{cell}" if _RUNS.match(cell) and not _NUMBER.fullmatch(cell) else cell


def _rows(page: PageRow) -> Iterator[list[str | int]]:
    path, note = safe(one_line(page["path"])), safe(shortfall(page) or "")
    if page["error"] is not None:
        yield [path, page["page"], "", "", note]
    for index, table in enumerate(tables(page["markdown"] or ""), 1):
        for number, cells in enumerate(table.grid(), 1):
            yield [path, page["page"], index, number, note, *map(safe, cells)]
