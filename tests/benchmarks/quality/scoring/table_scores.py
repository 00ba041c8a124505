"""How like two tables are: TEDS, with a row's cells kept in their row, so never more than TEDS itself.

Source: Zhong et al. 2020, Image-based table recognition: data, model, and evaluation (TEDS); Selkow 1977, The
tree-to-tree editing problem (a node is put in or left out with all that is below it).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TypeVar

from rapidfuzz.distance import Levenshtein

Node = TypeVar("Node")

_BAR_ROW = re.compile(r"^\|.*\|$")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class TableCell:
    """text: without white at its ends. rows, columns: how many it goes over."""

    text: str
    rows: int = 1
    columns: int = 1


Rows = Sequence[Sequence[TableCell]]


def tables_in(markdown: str) -> list[Rows]:
    """Returns the tables of a page's markdown, in HTML or between bars, in their order in each of both."""
    found = _Html(markdown).tables
    lines: list[str] = []
    for line in [*markdown.split("\n"), ""]:
        if _BAR_ROW.match(line):
            lines.append(line)
        elif lines:
            rows = [[TableCell(cell.strip()) for cell in _BAR.split(row)[1:-1]] for row in lines]
            found.append([rows[0], *rows[2:]])
            lines = []
    return found


class _Html(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[Rows] = []
        self._rows: list[list[TableCell]] = []
        self._cell: TableCell | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append(rows := [])
            self._rows = rows
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            found = {name: int(value or 1) for name, value in attrs if name in ("rowspan", "colspan")}
            self._cell = TableCell("", found.get("rowspan", 1), found.get("colspan", 1))

    def handle_data(self, data: str) -> None:
        if (cell := self._cell) is not None:
            self._cell = TableCell(cell.text + data, cell.rows, cell.columns)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and (cell := self._cell) is not None:
            self._rows[-1].append(TableCell(cell.text.strip(), cell.rows, cell.columns))
            self._cell = None


def likeness(true: Rows, found: Rows) -> float:
    """Returns how like a table is to the true one, 0 to 1."""
    edits = _edits(
        true, found, lambda row: 1.0 + len(row), lambda a, b: _edits(a, b, lambda _: 1.0, _changed)
    )
    return 1.0 - edits / max(1 + sum(1 + len(row) for row in rows) for rows in (true, found))


def best_likenesses(true: Sequence[Rows], found: Sequence[Rows]) -> list[float]:
    """Returns for each true table how like the found one is that stands for it, 0 where none does; likest first."""
    pairs = sorted(
        ((likeness(a, b), n, m) for n, a in enumerate(true) for m, b in enumerate(found)), reverse=True
    )
    best: dict[int, float] = {}
    used: set[int] = set()
    for share, n, m in pairs:
        if n not in best and m not in used:
            best[n] = share
            used.add(m)
    return [best.get(n, 0.0) for n in range(len(true))]


def _changed(true: TableCell, found: TableCell) -> float:
    if (true.rows, true.columns) != (found.rows, found.columns):
        return 1.0
    return float(Levenshtein.normalized_distance(true.text, found.text))


def _edits(
    true: Sequence[Node],
    found: Sequence[Node],
    weight: Callable[[Node], float],
    changed: Callable[[Node, Node], float],
) -> float:
    """Returns the least cost of making one sequence the other. weight: of a node put in or left out."""
    costs = [0.0]
    for node in found:
        costs.append(costs[-1] + weight(node))
    for a in true:
        before, costs = costs, [costs[0] + weight(a)]
        for number, b in enumerate(found):
            costs.append(
                min(before[number] + changed(a, b), before[number + 1] + weight(a), costs[-1] + weight(b))
            )
    return costs[-1]
