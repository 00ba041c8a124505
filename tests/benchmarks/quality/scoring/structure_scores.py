"""Measures the structure of a page's lines against the truth: order, roles, tables."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ocr.line_reader.line_structure import LineStructure
from ocr.line_reader.structure_network import ROLES
from ocr.training.structure.moved_lines import num_moved
from ocr.training.structure.placed_lines import LinePage

GROUPS = {
    "headings": ("title", "heading 1", "heading 2", "heading 3"),
    "furniture": ("page header", "page footer", "page number"),
    "captions": ("caption",),
    "footnotes": ("footnote",),
    "list items": ("list item",),
    "tables": ("table cell", "table head"),
    "contents": ("contents",),
    "code": ("code",),
    "forms": ("form",),
    "formulas": ("formula",),
}

_HEADINGS = tuple(ROLES.index(name) for name in GROUPS["headings"])


@dataclass(slots=True)
class Scores:
    """Sums over pages. moved: characters in the wrong place. hits: of each group those right, wrong and missed."""

    pages: int = 0
    perfect: int = 0
    characters: int = 0
    moved: int = 0
    levels: int = 0
    right_levels: int = 0
    joined: list[int] = field(default_factory=lambda: [0, 0, 0])
    cells: list[int] = field(default_factory=lambda: [0, 0, 0])
    hits: dict[str, list[int]] = field(default_factory=lambda: {name: [0, 0, 0] for name in GROUPS})

    def add(self, page: LinePage, said: LineStructure) -> None:
        """Adds a page. said: of its lines, whose own order is the truth."""
        moved = num_moved(page, said)
        self.pages, self.characters = self.pages + 1, self.characters + page.num_characters
        self.moved, self.perfect = self.moved + moved, self.perfect + (moved == 0)
        roles = np.array([line.place.role for line in page.lines])
        for name, members in GROUPS.items():
            own = [ROLES.index(member) for member in members]
            _count(self.hits[name], np.isin(roles, own), np.isin(said.roles, own))
        heads = np.isin(roles, _HEADINGS) & np.isin(said.roles, _HEADINGS)
        self.levels += int(heads.sum())
        self.right_levels += int((roles == said.roles)[heads].sum())
        blocks = np.array([line.place.block for line in page.lines])
        above = np.triu(np.ones((len(roles), len(roles)), bool), 1)
        _count(
            self.joined,
            (blocks[:, None] == blocks)[above],
            (said.blocks[:, None] == said.blocks)[above],
        )
        true = _true_cells(page)
        if true or (said.rows >= 0).any():
            wanted, found = Counter(_neighbours(page, true)), Counter(_neighbours(page, _cells(said)))
            both = (wanted & found).total()
            self.cells[0] += both
            self.cells[1] += found.total() - both
            self.cells[2] += wanted.total() - both

    def as_dict(self) -> dict[str, float]:
        """Returns the figures as shares."""
        return {
            "moved": self.moved / max(1, self.characters),
            "perfect": self.perfect / max(1, self.pages),
            "blocks": f1(self.joined),
            **{name: f1(counts) for name, counts in self.hits.items()},
            "levels": self.right_levels / max(1, self.levels),
            "cells": f1(self.cells),
        }


def f1(counts: Sequence[int]) -> float:
    """Returns F1 of true positives, false ones, missed ones; NaN where there is none of any."""
    both, wrong, missed = counts
    return 2 * both / (2 * both + wrong + missed) if any(counts) else float("nan")


def _count(counts: list[int], true: np.ndarray, said: np.ndarray) -> None:
    for at, found in enumerate((true & said, said & ~true, true & ~said)):
        counts[at] += int(found.sum())


Cell = tuple[int, int, int, int, int]  # table, first and last row, first and last column


def _true_cells(page: LinePage) -> dict[Cell, list[int]]:
    cells: dict[Cell, list[int]] = {}
    for number, line in enumerate(page.lines):
        if line.place.table >= 0:
            cells.setdefault((line.place.table, *line.place.rows, *line.place.columns), []).append(number)
    return cells


def _cells(said: LineStructure) -> dict[Cell, list[int]]:
    cells: dict[Cell, list[int]] = {}
    for number in said.order.tolist():
        row, column = int(said.rows[number]), int(said.columns[number])
        if row >= 0:
            cells.setdefault((int(said.blocks[number]), row, row, column, column), []).append(number)
    return cells


def _neighbours(page: LinePage, cells: dict[Cell, list[int]]) -> Iterable[tuple[str, str, str]]:
    """Yields pairs of texts of cells next to each other. Source: Goebel et al. 2013, ICDAR Table Competition."""
    texts = {cell: " ".join(page.lines[n].text for n in own) for cell, own in cells.items()}
    for cell, text in texts.items():
        table, top, bottom, left, right = cell
        beside = [c for c in cells if c[0] == table and c[3] > right and c[1] <= bottom and top <= c[2]]
        below = [c for c in cells if c[0] == table and c[1] > bottom and c[3] <= right and left <= c[4]]
        if beside:
            yield text, texts[min(beside, key=lambda c: (c[3], c[1]))], "beside"
        if below:
            yield text, texts[min(below, key=lambda c: (c[1], c[3]))], "below"
