"""Defines the cells of a table on a page."""

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.text_layer.extract.spans import Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A table's cell. box: in points of the page as shown. row, column: its first, from 0; num_*: how many it spans."""

    box: Box
    row: int
    column: int
    num_rows: int = 1
    num_columns: int = 1
    is_heading: bool = False


Table = tuple[Cell, ...]


def around(boxes: Iterable[Box]) -> Box:
    """Returns the box around boxes, one at least."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)
