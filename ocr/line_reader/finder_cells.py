"""Joins the cells in which a finder saw text to lines. Numpy only."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ocr.line_reader.found_lines import Floats, TextLine

Ints = npt.NDArray[np.int64]

# In type sizes, of two runs of cells that may be of one line: how far apart their baselines are at most; and how many
# times as large one's type may be as the other's.
_ONE_LINE, _ALIKE = 0.33, 2.0
_REACH_CELLS = 2  # runs so many columns apart are neighbours: a cell may be missing
_MISSING = 0.2  # what a missing cell counts against a neighbour, in type sizes
_NARROWEST = 0.3  # of the type size: a narrower line is a speck
_LEAST_CELLS = 1.0  # by their probabilities; less is no line


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """What a finder saw in each cell of a page, [H, W] each.

    text: the probability of lying in a line's small letters. baseline: y of the baseline, and size: the type size, both
    in pixels of the finder's input. stride_px: a cell's side in these pixels.
    """

    text: Floats
    baseline: Floats
    size: Floats
    stride_px: int


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of text cells, one above the other in a column: their column, mean baseline and size, and probabilities."""

    column: Ints
    baseline: npt.NDArray[np.float64]
    size: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]


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
        if right - left < _NARROWEST * size or weight.sum() < _LEAST_CELLS:
            continue
        start, end = int(left / scale), min(width_px, int(np.ceil(right / scale)))
        if end - start < 2:
            continue
        x = (runs.column[chain] + 0.5) * cells.stride_px / scale
        baseline = np.interp(np.arange(start, end) + 0.5, x, runs.baseline[chain] / scale)
        found.append(TextLine(left=start, right=end, baseline=baseline.astype(np.float32), size=size / scale))
    return found


def _runs(cells: Cells, least: float) -> _Runs:
    """Returns the runs of cells that are text, column by column."""
    inside = cells.text > least
    steps = np.diff(np.pad(inside, ((1, 1), (0, 0))).astype(np.int8), axis=0)
    column, top = np.nonzero(steps.T == 1)
    _, bottom = np.nonzero(steps.T == -1)
    weights = np.where(inside, cells.text, 0.0).astype(np.float64)
    total = _sums(weights, top, bottom, column)
    return _Runs(
        column,
        _sums(weights * cells.baseline, top, bottom, column) / total,
        np.exp(_sums(weights * np.log(cells.size), top, bottom, column) / total),
        total,
    )


def _sums(values: npt.NDArray[np.float64], top: Ints, bottom: Ints, column: Ints) -> npt.NDArray[np.float64]:
    """Returns the sum of each stretch of a column, rows top to bottom."""
    before = np.pad(np.cumsum(values, axis=0), ((1, 0), (0, 0)))
    found: npt.NDArray[np.float64] = before[bottom, column] - before[top, column]
    return found


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
        continued: set[int] = set()
        taken: set[int] = set()
        for number, run in _neighbours(runs, np.asarray([chain[-1] for chain in going], np.intp), start, end):
            if number not in continued and run not in taken:
                going[number].append(run)
                continued.add(number)
                taken.add(run)
        open_chains = [*going, *([run] for run in range(start, end) if run not in taken)]
    return [*done, *open_chains]


def _neighbours(runs: _Runs, last: Ints, start: int, end: int) -> list[tuple[int, int]]:
    """Returns which chains the runs from start to end may continue, by number and run, those nearest first.

    last: the last run of each chain.
    """
    new_sizes, sizes = runs.size[None, start:end], runs.size[last][:, None]
    large = np.maximum(new_sizes, sizes)
    apart = np.abs(runs.baseline[None, start:end] - runs.baseline[last][:, None]) / large
    number, place = np.nonzero((apart < _ONE_LINE) & (large < _ALIKE * np.minimum(new_sizes, sizes)))
    missing = runs.column[start] - runs.column[last][number] - 1
    order = np.lexsort((place, number, apart[number, place] + _MISSING * missing))
    return list(zip(number[order].tolist(), (start + place[order]).tolist(), strict=True))
