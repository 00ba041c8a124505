"""TEDS: how alike two tables are, as trees. Needs apted, of the extra `bench`.

Source: Zhong et al. 2020, Image-based table recognition: data, model, and evaluation.
"""

from dataclasses import dataclass, field
from typing import Any

from rapidfuzz.distance import Levenshtein

from pipeline.errors import ConfigError
from storage.export.tables import Cell, Table

# Trees of more cells take minutes to compare.
MOST_CELLS = 600


@dataclass(slots=True)
class Node:
    """An element of a table. text: of a cell."""

    tag: str
    span: tuple[int, int] = (1, 1)
    text: str = ""
    children: "list[Node]" = field(default_factory=list)


def num_cells(table: Table) -> int:
    """Returns how many cells a table has."""
    return sum(map(len, table.rows))


def teds(one: Table, other: Table) -> float:
    """Returns their similarity, 0 to 1. Raises: ConfigError without apted."""
    try:
        from apted import APTED, Config
    except ModuleNotFoundError:
        raise ConfigError("scoring tables needs apted: pip install apted") from None

    class _Costs(Config):  # type: ignore[misc]
        def rename(self, node: Node, with_: Node) -> float:
            if node.tag != with_.tag or node.span != with_.span:
                return 1.0
            return Levenshtein.normalized_distance(node.text, with_.text)

        def children(self, node: Node) -> Any:
            return node.children

    trees = _tree(one), _tree(other)
    edits: float = APTED(*trees, _Costs()).compute_edit_distance()
    return max(0.0, 1 - edits / max(map(_size, trees)))


def _tree(table: Table) -> Node:
    return Node("table", children=[Node("tr", children=list(map(_leaf, row))) for row in table.rows])


def _leaf(cell: Cell) -> Node:
    return Node("td", (cell.num_columns, cell.num_rows), " ".join(cell.text.split()))


def _size(node: Node) -> int:
    return 1 + sum(map(_size, node.children))
