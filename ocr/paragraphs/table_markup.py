"""Writes tables as text and as markdown. Torch-free."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ocr.paragraphs.line_kinds import MARK
from ocr.paragraphs.line_tables import Cell

# Tags that an export keeps, as tables are written with them.
TAG = re.compile(
    r"<(?=/?(?:table|thead|tbody|tfoot|tr|td|th|caption|br|sub|sup|b|i|u|em|strong|center)\b)", re.I
)

_LEADER, _MANY = re.compile(r"(\. ?){4}|… ?(?:…|$)"), 0.3  # the share of rows
_NUMBER = re.compile(r"\d")

Rows = Sequence[Sequence[tuple[Cell, str]]]


def with_head(rows: Rows) -> Rows:
    """Returns the rows, the first as a head if it has words alone in all its cells, above rows with numbers."""
    (head, *others) = rows
    has_words = all(text and not _NUMBER.search(text) for _, text in head)
    if not has_words or not any(_NUMBER.search(text) for row in others for _, text in row):
        return rows
    return [[(replace(cell, is_heading=True), text) for cell, text in head], *others]


def is_contents(rows: Rows) -> bool:
    """Returns whether rows are of a table of contents: dots lead from many to a page number."""
    led = sum(any(_LEADER.search(text) for _, text in row) for row in rows)
    return led >= _MANY * len(rows)


def is_list(rows: Rows) -> bool:
    """Returns whether rows are the items of a list and nothing more: a mark begins each, in place of a column."""
    marks = [row[0][1] for row in rows if row[0][1]]
    return len(marks) > 1 and max(map(len, rows)) == 2 and all(MARK.fullmatch(f"{mark} ") for mark in marks)


def as_text(rows: Rows) -> str:
    """Returns a table's text, one line per row with tabs between cells. rows: the cells that begin in each."""
    return "\n".join("\t".join(text for _, text in row) for row in rows)


def as_markdown(rows: Rows) -> str:
    """Returns a table in HTML, as the model writes tables; with bars where its first row is its head."""
    cells = [cell for row in rows for cell, _ in row]
    if cells[0].is_heading and all(cell.num_rows == cell.num_columns == 1 for cell in cells):
        barred = [[TAG.sub("< ", text).replace("|", "\\|") for _, text in row] for row in rows]
        lines = [f"| {' | '.join(row)} |" for row in barred]
        return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])
    written = ("".join(_cell(cell, text) for cell, text in row) for row in rows)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in written)}</table>"


def _cell(cell: Cell, text: str) -> str:
    tag = "th" if cell.is_heading else "td"
    sizes = (("rowspan", cell.num_rows), ("colspan", cell.num_columns))
    spans = [f' {name}="{num}"' for name, num in sizes if num > 1]
    return f"<{tag}{''.join(spans)}>{TAG.sub('< ', text)}</{tag}>"
