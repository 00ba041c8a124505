"""Puts lines of text into reading order by what the structure network says of them. Numpy only.

Lines of a block follow each other, and so do those of a row. A table's lines are read row by row here, wherever the
network would read the cells of a row with several lines one after the other: its cells are told apart afterwards.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ocr.imaging.measures import ONE_ROW
from ocr.line_reader.found_lines import Box, Floats, Ints, ReadLine, TextLine
from ocr.line_reader.levelling import View
from ocr.line_reader.line_features import line_tokens
from ocr.line_reader.line_structure import LineStructure, structure_of
from ocr.line_reader.structure_network import ROLES, TABULAR, StructureNetwork, shipped
from ocr.paragraphs.line_kinds import AMOUNT

# The network has learned from pages of up to 450 lines. Sheets of more are parted at their widest white: across, or
# down where lines on both sides are as wide as those of running text, in type sizes, and no prices beside names.
_MOST_LINES, _RUNNING = 450, 9.0
_SURE = 8.0
# In type sizes: pages no wider than that, as receipts, are read across; parts of a row reach so far into each other.
_NARROW, _NEAR = 26.0, 0.5


@dataclass(frozen=True, slots=True)
class Unit:
    """Lines of one block that follow each other, as rows from left to right. role: of most of them, one of ROLES.

    cells: for each line of the rows the number of its row and its column in a table, -1 outside.
    """

    role: str
    rows: list[list[ReadLine]]
    cells: list[list[tuple[int, int]]]


def in_reading_order(
    reads: Sequence[ReadLine],
    size_px: tuple[float, float] | None = None,
    network: StructureNetwork | None = None,
    level: Sequence[TextLine] | None = None,
    rules: Sequence[Box] = (),
) -> list[Unit]:
    """Returns the lines in the order of reading.

    size_px: the page's width and height; None for one on which the lines leave as much room at the right and below as
    they do at the left and above. network: None for the one that ships. level: the lines as they would stand on a page
    that lies level; None to find that. rules: the page's, in both directions, as they would stand there.
    """
    lines = [read.line for read in reads]
    level = [*map(View.of(lines).levelled, lines)] if level is None else level
    found: list[Unit] = []
    for part in _parts(level):
        lines, own = [level[number] for number in part], [reads[number] for number in part]
        boxes = np.array([(it.left, it.right, it.middle, it.size) for it in lines], np.float32)
        texts = [read.text for read in own]
        tokens = line_tokens(boxes, texts, *(size_px or _size_around(lines)), rules)
        roles, pairs = (network or shipped()).logits(tokens)
        _join_rows(texts, boxes, roles, pairs)
        structure = structure_of(roles, pairs, tokens.places, TABULAR)
        for role, rows in _units(lines, structure):
            places = [[(int(structure.rows[at]), int(structure.columns[at])) for at in row] for row in rows]
            found.append(Unit(role, [[own[at] for at in row] for row in rows], places))
    return found


def _join_rows(texts: Sequence[str], boxes: Floats, roles: Floats, pairs: Floats) -> None:
    """Makes amounts that end in one place, and short lines of narrow pages, follow what is at their left in the row."""
    is_cell, ends = np.isin(roles.argmax(1), TABULAR), boxes[:, 1]
    are_amounts = np.array([AMOUNT.fullmatch(text) is not None for text in texts])
    is_narrow = ends.max() - boxes[:, 0].min() < _NARROW * np.median(boxes[:, 3])
    for number in np.argsort(boxes[:, 0]) if is_narrow else np.flatnonzero(are_amounts):
        left, end, base, size = boxes[number]
        in_row = abs(boxes[:, 2] - base) < ONE_ROW * size
        beside = in_row & (boxes[:, 0] < left) & (ends < left + _NEAR * size)
        name = int(np.where(beside, ends, -np.inf).argmax())
        is_named = beside.any() and not is_cell[name] | is_cell[number]
        is_one = any(map(str.isalpha, texts[name])) and (are_amounts & (abs(ends - end) < size)).sum() > 1
        if is_named and (is_one or (is_narrow and end - left < _RUNNING * size)):
            roles[number], pairs[:, number] = roles[name], pairs[:, name]
            pairs[:, :, number] = pairs[:, :, name]
            pairs[:, name, number], pairs[:, number, name] = _SURE, (-_SURE, _SURE, _SURE, _SURE)


def _parts(lines: Sequence[TextLine]) -> Iterator[Ints]:
    """Yields the numbers of lines of which so many are put in order at once, the upper and left ones first."""
    boxes = np.array([line.box for line in lines]).reshape(-1, 4)
    widths = np.array([(line.right - line.left) / line.size for line in lines])
    waiting = [np.arange(len(lines))] if len(lines) else []
    while waiting:
        own = waiting.pop()
        if len(own) <= _MOST_LINES:
            yield own
            continue
        cuts = []
        for axis in (0, 1):
            order = own[np.argsort(boxes[own, axis], kind="stable")]
            white = boxes[order[1:], axis] - np.maximum.accumulate(boxes[order, axis + 2])[:-1]
            at = int(white.argmax())
            cuts.append((float(white[at]), order[: at + 1], order[at + 1 :]))
        (gutter, *sides), (row, *bands) = cuts
        is_text = min(np.median(widths[side]) for side in sides) > _RUNNING
        waiting += reversed(sides if is_text and gutter > row else bands)


def _size_around(lines: Sequence[TextLine]) -> tuple[float, float]:
    left, top, right, bottom = (np.array([line.box for line in lines])[:, side] for side in range(4))
    return float(right.max() + max(0.0, left.min())), float(bottom.max() + max(0.0, top.min()))


def _units(lines: Sequence[TextLine], structure: LineStructure) -> Iterator[tuple[str, list[list[int]]]]:
    """Yields the blocks in order, or parts of them, each with its role, as rows of numbers of lines."""
    for _, numbers in groupby(structure.order.tolist(), key=structure.blocks.tolist().__getitem__):
        own = list(numbers)
        if (structure.rows[own] >= 0).mean() > 0.5:
            own.sort(key=lambda number: lines[number].middle)
            yield ROLES[TABULAR[0]], _table_rows(lines, own)
        else:
            widths = [lines[number].right - lines[number].left for number in own]
            yield ROLES[np.bincount(structure.roles[own], widths).argmax()], _text_rows(lines, own)


def _text_rows(lines: Sequence[TextLine], numbers: Sequence[int]) -> list[list[int]]:
    rows: list[list[int]] = []
    for number in numbers:  # a line goes on in another at its right
        line, last = lines[number], lines[rows[-1][-1] if rows else number]
        if not rows or line.left < last.right - min(last.size, line.size) or not _is_beside(last, line):
            rows.append([])
        rows[-1].append(number)
    return rows


def _table_rows(lines: Sequence[TextLine], numbers: Sequence[int]) -> list[list[int]]:
    """Returns rows of lines that stand beside each other. numbers: from top to bottom."""
    rows: list[list[int]] = []
    for number in numbers:
        near = (row for row in reversed(rows[-40:]) if any(_is_beside(lines[n], lines[number]) for n in row))
        row = next(near, None) or []
        if not row:
            rows.append(row)
        row.append(number)
    return [sorted(row, key=lambda number: lines[number].left) for row in rows]


def _is_beside(line: TextLine, other: TextLine) -> bool:
    apart = abs(line.middle - other.middle)
    beside = line.left >= other.right - line.size or line.right <= other.left + line.size
    return beside and apart < ONE_ROW * min(line.size, other.size)
