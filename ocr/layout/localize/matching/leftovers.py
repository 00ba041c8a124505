"""Finds text that is too short to be found on its own: page numbers, the last word of a line after a leader.

The place of the rest of the page is known by now, so these leftovers are searched for only among unclaimed
cells, and near their neighbours in the text.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from rapidfuzz.fuzz import partial_ratio_alignment

from ocr.imaging.measures import WORD_GAP_CELLS
from ocr.layout.localize.matching.canvas import CELL_HEIGHT_PX, CELL_WIDTH_PX
from ocr.layout.localize.matching.line_sections import LineSection
from ocr.layout.localize.matching.marks import SeenMarks, WrittenMarks

_ALIKE = 60.0  # per cent of the marks that must agree for a text to be found
_FEW = 3  # marks: fewer occur anywhere, so they must agree and stand alone
_MAX_MARKS = 60  # more are no leftover, but text that the head cannot read
_WITHIN = 6  # marks: fewer, between two sections of their text, do not move its box
_FAR_CELLS = 240.0  # as bad as all of an island's other marks, and as a quarter of the marks that differ
_QUARTER = 0.25  # what either costs, and what distance along a line counts
_NEAR_ROWS = 2  # how far below or above its neighbours a leftover of the same text may be


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gap:
    """Marks of one text without a place. neighbours: the sections before and after; kin: those of the same text."""

    text: int
    start: int
    end: int
    neighbours: tuple[LineSection, ...]
    kin: tuple[LineSection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Island:
    """Unclaimed marks in one row, from index `first` on.

    Text: one letter a mark. alone: whether it has no wide gaps.
    """

    row: int
    first: int
    text: str
    alone: bool


def with_leftovers(found: Sequence[LineSection], written: WrittenMarks, seen: SeenMarks) -> list[LineSection]:
    """Returns the sections, and one for every leftover that is clearly found somewhere, in the order of the text."""
    claimed = _claimed(found, seen)
    islands = sorted(
        [*_islands(seen, claimed, WORD_GAP_CELLS), *_islands(seen, claimed, None)],
        key=lambda island: island.row,
    )
    rows = [island.row for island in islands]
    out = list(found)
    letters = "".join(map(chr, written.mark.tolist()))
    for gap in _gaps(found, written):
        wanted = letters[gap.start : gap.end]
        best, best_worth = None, 0.0
        for island in _large_enough(islands[slice(*_near(gap, rows))], wanted):
            worth, section = _match(wanted, gap, island, seen, found)
            if section is not None and worth > best_worth:
                best, best_worth = section, worth
        if best is not None:
            out.append(best)
    return sorted(out, key=lambda section: section.start)


def _large_enough(islands: Sequence[_Island], wanted: str) -> list[_Island]:
    """Returns the islands with room for the wanted marks by their number alone, which rules out nearly all."""
    if len(wanted) < _FEW:
        return [island for island in islands if island.alone and wanted in island.text]
    least = max(_FEW, _ALIKE / 100 * len(wanted))
    return [island for island in islands if len(island.text) >= least]


def _match(
    wanted: str, gap: _Gap, island: _Island, seen: SeenMarks, found: Sequence[LineSection]
) -> tuple[float, LineSection | None]:
    """Returns how well the wanted marks match the island, and the section that they make there, or None."""
    if len(wanted) < _FEW:
        if len(wanted) < len(island.text) and not gap.kin:
            return 0.0, None
        at = island.text.index(wanted)
        start, end, share = at, at + len(wanted), 1.0
    else:
        match = partial_ratio_alignment(wanted, island.text, score_cutoff=_ALIKE)
        if match is None:
            return 0.0, None
        start, end, share = match.dest_start, match.dest_end, match.score / 100
    first, last = island.first + start, island.first + end - 1
    x0, x1 = int(seen.x0[first]), int(seen.x1[last])
    if any(_parted(section, island.row, x0, x1, found) for section in gap.kin):
        return 0.0, None
    away = min((_distance(section, island.row, x0, x1) for section in gap.neighbours), default=0.0)
    worth = share - _QUARTER * away / _FAR_CELLS - _QUARTER * (end - start < len(island.text))
    score = min(round(share * (end - start)), len(wanted))
    return worth, LineSection(
        text=gap.text,
        start=gap.start,
        end=gap.end,
        score=score,
        x0=x0,
        x1=x1,
        y0=island.row,
        y1=island.row + 1,
        seen=first if last - first + 1 == gap.end - gap.start else -1,
    )


def _claimed(found: Sequence[LineSection], seen: SeenMarks) -> npt.NDArray[np.bool_]:
    """Returns for each mark whether a section covers it; the rows next to it may show its line again."""
    claimed = np.zeros(len(seen.mark), bool)
    rows = seen.row.tolist()
    for section in found:
        low, high = bisect_left(rows, section.y0 - 1), bisect_left(rows, section.y1 + 1)
        claimed[low:high] |= (seen.x1[low:high] > section.x0) & (seen.x0[low:high] < section.x1)
    return claimed


def _islands(seen: SeenMarks, claimed: npt.NDArray[np.bool_], max_gap: int | None) -> Iterator[_Island]:
    """Yields the unclaimed marks of each row, divided at gaps of more than max_gap cells; None does not divide them."""
    free = np.flatnonzero(~claimed)
    parted = (np.diff(free) > 1) | (np.diff(seen.row[free]) != 0)
    if max_gap is not None:
        parted |= seen.x0[free[1:]] - seen.x1[free[:-1]] > max_gap
    letters = "".join(map(chr, seen.mark.tolist()))
    edges = [0, *(np.flatnonzero(parted) + 1).tolist(), len(free)] if len(free) else []
    for low, high in pairwise(edges):
        first, last = int(free[low]), int(free[high - 1])
        text = letters[first : last + 1]
        yield _Island(row=int(seen.row[first]), first=first, text=text, alone=max_gap is not None)


def _gaps(found: Sequence[LineSection], written: WrittenMarks) -> Iterator[_Gap]:
    texts = written.text.tolist()
    ends = [0, *(section.end for section in found)]
    starts = [*(section.start for section in found), len(written.mark)]
    for index, (at, stop) in enumerate(zip(ends, starts, strict=True)):
        while at < stop:
            text = texts[at]
            end = min(stop, bisect_left(texts, text + 1))
            neighbours = tuple(found[max(0, index - 1) : index + 1])
            kin = tuple(section for section in neighbours if section.text == text)
            if end - at <= _MAX_MARKS and (len(kin) < 2 or end - at > _WITHIN):
                yield _Gap(text=text, start=at, end=end, neighbours=neighbours, kin=kin)
            at = end


def _parted(section: LineSection, row: int, x0: int, x1: int, found: Sequence[LineSection]) -> bool:
    """Returns whether another text lies in the row between a section and a place, which is then in another column."""
    low, high = (section.x1, x0) if section.x1 <= x0 else (x1, section.x0)
    return any(
        other.y0 <= row < other.y1 and other.x0 < high and other.x1 > low and other.text != section.text
        for other in found
    )


def _near(gap: _Gap, rows: Sequence[int]) -> tuple[int, int]:
    """Returns the range of islands to search, given their rows in order: those near the rest of the text, or all."""
    if not gap.kin:
        return 0, len(rows)
    top, bottom = min(section.y0 for section in gap.kin), max(section.y1 for section in gap.kin)
    return bisect_left(rows, top - 1 - _NEAR_ROWS), bisect_right(rows, bottom + _NEAR_ROWS)


def _distance(section: LineSection, row: int, x0: int, x1: int) -> float:
    """Returns the distance in cells between a section and a place in a row; along a line it counts a quarter."""
    across = max(section.x0 - x1, x0 - section.x1, 0)
    return CELL_HEIGHT_PX // CELL_WIDTH_PX * _rows_between(section, row) + _QUARTER * across


def _rows_between(section: LineSection, row: int) -> int:
    """Returns how many rows a row is away from a section; 0 for the rows next to it."""
    return max(section.y0 - 1 - row, row - section.y1, 0)
