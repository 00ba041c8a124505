"""Whether a table has a cell, and beside it what should be there."""

from collections.abc import Mapping

from rapidfuzz import fuzz

from pipeline.bench.public.comparable_text import comparable, is_near
from storage.export.tables import Table

# Of the next cell, or of any that heads the row or column.
SIDES = ("up", "down", "left", "right", "top_heading", "left_heading")


class Cells:
    """A table's cells by place; one that spans stands in all of its places. Headings: in <th>, or the first of all."""

    def __init__(self, table: Table) -> None:
        self.texts: dict[tuple[int, int], str] = {}
        self.headings: set[tuple[int, int]] = set()
        for row, column, cell in table.placed():
            for below in range(cell.num_rows):
                for beside in range(cell.num_columns):
                    place = row + below, column + beside
                    self.texts[place] = comparable(cell.text).strip()
                    if cell.is_heading or 0 in place:
                        self.headings.add(place)

    def beside(self, place: tuple[int, int], side: str) -> list[str]:
        """Returns the texts on a side of a cell: the next, or all that head it."""
        row, column = place
        if side in ("up", "down", "left", "right"):
            over = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}[side]
            # The next place may belong to the same cell.
            for step in range(1, len(self.texts) + 1):
                there = row + step * over[0], column + step * over[1]
                if there not in self.texts:
                    return []
                if self.texts[there] != self.texts[place]:
                    return [self.texts[there]]
            return []
        if side == "top_heading":
            heads = [there for there in self.headings if there[1] == column and there[0] < row]
        else:
            heads = [there for there in self.headings if there[0] == row and there[1] < column]
        return [self.texts[there] for there in heads]


def cell_stands(cells: Cells, wanted: Mapping[str, str], edits: int) -> bool:
    """Returns whether some cell is alike to the one wanted, and has what is wanted beside it.

    wanted: "cell", and texts by side. edits: letters that may differ.
    """

    def alike(text: str, other: str) -> bool:
        return is_near(text, fuzz.ratio(text, other), edits, 0.5)

    return any(
        alike(wanted["cell"], text)
        and all(
            any(alike(its, other) for other in cells.beside(place, side))
            for side, its in wanted.items()
            if side != "cell"
        )
        for place, text in cells.texts.items()
    )
