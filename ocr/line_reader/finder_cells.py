"""Joins the cells in which a finder saw text to lines. Numpy only."""

from dataclasses import dataclass
from itertools import pairwise

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
    for members in _chains(runs):
        chain = np.asarray(members)
        weight = runs.weight[chain]
        size = float(np.exp((np.log(runs.size[chain]) * weight).sum() / weight.sum()))
        left = int(runs.column[chain[0]]) * cells.stride_px
        right = (int(runs.column[chain[-1]]) + 1) * cells.stride_px
        sure = runs.sure[chain].sum()
        if right - left < _NARROWEST * size or weight.sum() < _LEAST_CELLS:
            continue
        start, end = int(left / scale), min(width_px, int(np.ceil(right / scale)))
        if end - start < 2:
            continue
        x = (runs.column[chain] + 0.5) * cells.stride_px / scale
        baseline = np.interp(np.arange(start, end) + 0.5, x, runs.baseline[chain] / scale).astype(np.float32)
        is_sure = bool(sure >= _LEAST_CELLS)
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


def _chains(runs: _Runs) -> list[list[int]]:
    """Returns which runs form a line, each from left to right: those whose baselines and sizes agree."""
    open_chains: list[list[int]] = []
    done: list[list[int]] = []
    starts = np.flatnonzero(np.diff(runs.column, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(runs.column)]):
        column = int(runs.column[start])
        going: list[list[int]] = []
        for chain in open_chains:
            (going if column - runs.column[chain[-1]] <= _REACH_CELLS else done).append(chain)
        taken: set[int] = set()
        for number, run in _neighbours(runs, np.asarray([chain[-1] for chain in going], np.intp), start, end):
            if going[number][-1] < start and run not in taken:
                going[number].append(run)
                taken.add(run)
        open_chains = [*going, *([run] for run in range(start, end) if run not in taken)]
    return [*done, *open_chains]


def _neighbours(runs: _Runs, last: Ints, start: int, end: int) -> list[tuple[int, int]]:
    """Returns which chains the runs from start to end may continue, by number and run, the nearest of rivals first.

    last: the last run of each chain.
    """
    new_sizes, sizes = runs.size[None, start:end], runs.size[last][:, None]
    large = np.maximum(new_sizes, sizes)
    apart = np.abs(runs.baseline[None, start:end] - runs.baseline[last][:, None]) / large
    is_sure = (runs.sure[None, start:end] > 0) & (runs.sure[last][:, None] > 0)
    is_next = is_sure | (runs.column[start] - runs.column[last][:, None] == 1)
    number, place = np.nonzero(
        is_next & (apart < _ONE_LINE) & (large < _ALIKE * np.minimum(new_sizes, sizes))
    )
    pairs = list(zip(number.tolist(), (start + place).tolist(), strict=True))
    if all(len(set(either)) == len(pairs) for either in zip(*pairs, strict=True)):
        return pairs  # none has a rival
    missing = runs.column[start] - runs.column[last][number] - 1
    order = np.lexsort((place, number, apart[number, place] + _MISSING * missing))
    return [pairs[rank] for rank in order.tolist()]
