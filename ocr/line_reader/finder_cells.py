"""Joins the cells in which a finder saw text to lines. Numpy only."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ocr.line_reader.found_lines import Floats, Ints, TextLine

# In type sizes, of two runs of cells that may be of one line: how far apart their baselines are at most; and how many
# times as large one's type may be as the other's.
_ONE_LINE, _ALIKE = 0.33, 2.0
# Runs so many columns apart are neighbours: a cell may be missing, but not beside a weak one, which may be a rule's.
_REACH_CELLS = 2
_MISSING = 0.2  # what a missing cell counts against a neighbour, in type sizes
_NARROWEST = 0.3  # of the type size: a narrower line is a speck
_LEAST_CELLS = 1.0  # by their probabilities; less is no line
# The probability from which a cell with ink goes on a line, or makes one that is text if it is read so. Numbers that
# stand alone are found with so little.
_WEAK = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """What a finder saw in each cell of a page, [H, W] each.

    text: the probability of lying in a line's small letters. baseline: y of the baseline, and size: the type size, both
    in pixels of the finder's input. inked: whether there is ink in it. stride_px: a cell's side in these pixels.
    """

    text: Floats
    baseline: Floats
    size: Floats
    inked: npt.NDArray[np.bool_]
    stride_px: int


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of text cells, one above the other in a column: their column, mean baseline and size, and probabilities.

    weight: the sum of all. sure: of those that are text.
    """

    column: Ints
    baseline: npt.NDArray[np.float64]
    size: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    sure: npt.NDArray[np.float64]


def lines_of(cells: Cells, scale: float, width_px: int, least: float = 0.5) -> list[TextLine]:
    """Returns the lines that cells form, in no order.

    scale: pixels of the finder's input per pixel of the page. width_px: the page's width. least: the probability from
    which a cell is text.
    """
    runs = _runs(cells, least)
    found = []
    for chain in _chains(runs):
        weight = runs.weight[chain]
        size = float(np.exp((np.log(runs.size[chain]) * weight).sum() / weight.sum()))
        left = int(runs.column[chain[0]]) * cells.stride_px
        right = (int(runs.column[chain[-1]]) + 1) * cells.stride_px
        start, end = int(left / scale), min(width_px, int(np.ceil(right / scale)))
        if right - left < _NARROWEST * size or weight.sum() < _LEAST_CELLS or end - start < 2:
            continue
        x = (runs.column[chain] + 0.5) * cells.stride_px / scale
        baseline = np.interp(np.arange(start, end) + 0.5, x, runs.baseline[chain] / scale).astype(np.float32)
        is_sure = bool(runs.sure[chain].sum() >= _LEAST_CELLS)
        found.append(TextLine(left=start, right=end, baseline=baseline, size=size / scale, is_sure=is_sure))
    return found


def _runs(cells: Cells, least: float) -> _Runs:
    """Returns the runs of cells that may be text, column by column: those of one baseline, with holes or not."""
    column, row = np.nonzero((cells.text > np.where(cells.inked, _WEAK, least)).T)
    text, baseline, size = (
        plane[row, column].astype(np.float64) for plane in (cells.text, cells.baseline, cells.size)
    )
    jumps = np.abs(np.diff(baseline, prepend=0)) > _ONE_LINE * np.maximum(size, np.roll(size, 1))
    starts = np.flatnonzero(jumps | (np.diff(column, prepend=-1) != 0))
    weight = np.add.reduceat(text, starts)
    return _Runs(
        column[starts],
        np.add.reduceat(text * baseline, starts) / weight,
        np.exp(np.add.reduceat(text * np.log(size), starts) / weight),
        weight,
        np.add.reduceat(np.where(text > least, text, 0.0), starts),
    )


def _chains(runs: _Runs) -> list[Ints]:
    """Returns which runs form a line, each from left to right: those whose baselines and sizes agree."""
    before, after = list(range(len(runs.column))), [-1] * len(runs.column)
    for last, run in _neighbours(runs):
        if after[last] < 0 and before[run] == run:
            after[last], before[run] = run, last
    first, lasts = np.array(before, np.intp), np.flatnonzero(np.array(after) < 0)
    while not np.array_equal(earlier := first[first], first):
        first = earlier
    ends = np.zeros_like(first)
    ends[first[lasts]] = np.searchsorted(np.unique(runs.column), runs.column[lasts] + _REACH_CELLS, "right")
    order = np.lexsort((runs.column, first, ends[first]))  # the lines that end first come first
    return np.split(order, np.flatnonzero(np.diff(first[order])) + 1) if len(order) else []


def _neighbours(runs: _Runs) -> Iterator[tuple[int, int]]:
    """Yields which run may go on in which other, column by column, the nearest of rivals first."""
    step = 2 * (runs.baseline.max(initial=0) + runs.size.max(initial=0))  # further than any are apart
    places, reach = runs.column * step + runs.baseline, _ONE_LINE * _ALIKE * runs.size
    order, back = np.argsort(places, kind="stable"), step * np.arange(1, _REACH_CELLS + 1)[:, None]
    begin, end = (np.searchsorted(places[order], places - back + way * reach).ravel() for way in (-1, 1))
    run = np.repeat(np.tile(np.arange(len(places)), _REACH_CELLS), end - begin)
    last = order[np.arange(len(run)) + np.repeat(end - np.cumsum(end - begin), end - begin)]
    large, small = (pick(runs.size[last], runs.size[run]) for pick in (np.maximum, np.minimum))
    apart = np.abs(runs.baseline[run] - runs.baseline[last]) / large
    missing = runs.column[run] - runs.column[last] - 1
    is_next = (missing == 0) | ((missing > 0) & (runs.sure[run] > 0) & (runs.sure[last] > 0))
    found = np.flatnonzero(is_next & (apart < _ONE_LINE) & (large < _ALIKE * small))
    cost = (apart + _MISSING * missing)[found]
    found = found[np.lexsort((last[found], cost, runs.column[run[found]]))]
    return zip(last[found].tolist(), run[found].tolist(), strict=True)
