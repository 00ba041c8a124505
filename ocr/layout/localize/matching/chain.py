"""Chooses among the possible places of texts: the chain of stretches that follows the page best."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ocr.layout.localize.matching.marks import Ints
from ocr.layout.localize.matching.stretches import Stretches

# The costs of a step in marks. Going on in the same line costs next to nothing, the line below little, and any other
# place on the page as much as a short word.
_CHANCE = 2.0  # three marks agree by chance now and then
_ONWARD, _BELOW, _JUMP = 0.2, 0.5, 5.0
_PER_ROW, _PER_CELL = 0.15, 0.01  # for each row further down, and each cell further right
_MAX_ROWS = 12  # how far down the next line of a column may be
_SLACK_CELLS = 3  # how far two stretches of a line may overlap, as misread marks have no exact ends
_WINDOW = 96  # how many stretches back a neighbour is searched for

Floats = npt.NDArray[np.float64]


def best_chain(found: Stretches) -> Ints:
    """Returns the indexes of the chosen stretches, in the order of the text."""
    count = len(found)
    if not count:
        return np.zeros(0, np.int64)
    worths = (found.score - _CHANCE).tolist()
    costs, overlaps = _steps(found, worths)
    total = np.zeros(_WINDOW + count)  # as many as fill the window before the first one
    before = [-1] * count
    highest, highest_at = 0.0, -1  # of all stretches behind the window
    for k, worth in enumerate(worths):
        behind = k - _WINDOW - 1
        if behind >= 0 and total[k - 1] > highest:
            highest, highest_at = float(total[k - 1]), behind
        own, before[k] = worth + max(0.0, highest - _JUMP), highest_at if highest > _JUMP else -1
        reached = total[k : k + _WINDOW] - costs[k]
        reached -= overlaps[k]
        best = int(reached.argmax())
        if (joined := float(reached[best]) + worth) > own:
            own, before[k] = joined, k - _WINDOW + best
        total[_WINDOW + k] = own
    chain = [int(total[_WINDOW:].argmax())]
    while before[chain[-1]] >= 0:
        chain.append(before[chain[-1]])
    return np.array(chain[::-1], np.int64)


def _steps(found: Stretches, worths: Sequence[float]) -> tuple[Floats, Floats]:
    """Returns, each [K, _WINDOW], the costs of a stretch to follow each of those before it, and the marks they share.

    The shared marks are infinite where one cannot follow the other.
    """
    rows = found.row[:, None] - _windows(found.row)
    gap = found.x0[:, None] - (ends := _windows(found.x1))
    onward = (abs(rows) <= 1) & (gap >= -_SLACK_CELLS)
    below = (rows >= 1) & (rows <= _MAX_ROWS) & (found.x0[:, None] < ends)
    cost = np.where(below, np.minimum(_JUMP, _BELOW + _PER_ROW * (rows - 1)), _JUMP)
    cost = np.where(onward, np.minimum(_JUMP, _ONWARD + _PER_CELL * np.maximum(gap, 0)), cost)
    overlap = np.maximum(_windows(found.end) - found.start[:, None], 0).astype(np.float64)
    never = (_windows(found.start) >= found.start[:, None]) | (overlap >= np.array(worths)[:, None])
    missing = np.arange(len(found))[:, None] + np.arange(_WINDOW) < _WINDOW
    overlap[never | missing] = np.inf
    return cost, overlap


def _windows(values: Ints) -> Ints:
    """Returns for each value those before it, [K, _WINDOW]; zeros where there are fewer."""
    padded = np.concatenate([np.zeros(_WINDOW, np.int64), values[:-1]])
    return np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)
