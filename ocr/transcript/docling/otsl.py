"""Tables in OTSL, docling's notation: each cell of the grid is a tag, and a spanned one says what it belongs to.

    <ched>Product<ched>Years<lcel><nl><ucel><fcel>2016<fcel>2017<nl>

Source: Lysak et al. 2023, "Optimized Table Tokenization for Table Structure Recognition"; docling-core, tokens.py.
"""

import html
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HEADERS = frozenset({"ched", "rhed", "srow", "corn"})
SPANNED = frozenset({"lcel", "ucel", "xcel"})
CELLS = frozenset({"fcel", "ecel"}) | HEADERS | SPANNED

_Place = tuple[int, int]


@dataclass(slots=True, kw_only=True)
class TagCell:
    """A cell. kind: its tag. rows, columns: how many of each it spans."""

    kind: str
    text: str
    rows: int = 1
    columns: int = 1


def table(rows: Sequence[Sequence[TagCell]]) -> tuple[str, str]:
    """Returns a table's markdown and plain text (a line a row, a tab between cells). rows: of the grid, with spans.

    The markdown is a GitHub table, or HTML where cells span. The text of a spanned cell goes to the cell that spans it.
    """
    owners = _owners(rows)
    merged = _merged(rows, owners)
    plain = "\n".join("\t".join(_on_a_line(cell.text, " ") for cell in row) for row in merged).strip("\n")
    spans = any(cell.rows > 1 or cell.columns > 1 for row in merged for cell in row)
    html_rows = (f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in merged)
    return (f"<table>{''.join(html_rows)}</table>" if spans else _github(merged)), plain


def _owners(rows: Sequence[Sequence[TagCell]]) -> dict[_Place, _Place]:
    """Returns for each place of the grid the cell that it belongs to: itself, or the one that spans it."""
    owners: dict[_Place, _Place] = {}
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            left, above = owners.get((row, column - 1)), owners.get((row - 1, column))
            found = {"lcel": left, "ucel": above, "xcel": above or left}.get(cell.kind)
            owners[row, column] = found or (row, column)
    return owners


def _merged(rows: Sequence[Sequence[TagCell]], owners: Mapping[_Place, _Place]) -> list[list[TagCell]]:
    """Returns the rows without spanned cells. Where those of a cell are no rectangle, they stay as empty ones."""
    places: dict[_Place, list[_Place]] = defaultdict(list)
    for place, spanned_by in owners.items():
        places[spanned_by].append(place)
    kept: dict[_Place, TagCell] = {}
    for (row, column), spanned in places.items():
        owner = rows[row][column]
        texts = [rows[y][x].text for y, x in spanned]
        height = max(y for y, _ in spanned) - row + 1
        width = max(x for _, x in spanned) - column + 1
        is_whole = len(spanned) == height * width and all(x >= column for _, x in spanned)
        kept[row, column] = TagCell(
            kind=owner.kind,
            text=" ".join(filter(None, texts)),
            rows=height if is_whole else 1,
            columns=width if is_whole else 1,
        )
        if not is_whole:
            kept.update({place: TagCell(kind="ecel", text="") for place in spanned if place != (row, column)})
    return [
        [kept[row, column] for column in range(len(cells)) if (row, column) in kept]
        for row, cells in enumerate(rows)
    ]


def _github(rows: Sequence[Sequence[TagCell]]) -> str:
    """Returns a GitHub table, whose first row is its header. Only this row must have all columns."""
    if not any(rows):
        return ""
    width = max(map(len, rows))
    lines = [[_on_a_line(cell.text, "<br>").replace("|", "\\|") for cell in row] for row in rows]
    lines[0] += [""] * (width - len(lines[0]))
    lines.insert(1, ["---"] * width)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _html_cell(cell: TagCell) -> str:
    name = "th" if cell.kind in HEADERS else "td"
    rows = f' rowspan="{cell.rows}"' if cell.rows > 1 else ""
    columns = f' colspan="{cell.columns}"' if cell.columns > 1 else ""
    return f"<{name}{rows}{columns}>{_on_a_line(html.escape(cell.text, quote=False), '<br>')}</{name}>"


def _on_a_line(text: str, separator: str) -> str:
    return separator.join(filter(None, map(str.strip, text.split("\n"))))
