"""Which of the places a text could stand in it stands in: the chain of stretches that follows the page best."""

import numpy as np
import numpy.typing as npt

from ocr.placing.marks import Ints
from ocr.placing.stretches import Stretches

# In marks: what a step is worth giving up. A line that goes on costs next to nothing, the line below little,
# any other place on the page as much as a short word.
_CHANCE = 2.0  # three marks agree by chance now and then
_ONWARD, _BELOW, _JUMP = 0.2, 0.5, 5.0
_PER_ROW = 0.15
_PER_CELL = 0.01
_MAX_ROWS = 12
_SLACK_CELLS = 3
_WINDOW = 96  # how many stretches back a neighbour is looked for


def best_chain(found: Stretches) -> Ints:
    """The numbers of the chosen stretches, in the order of the text."""
    count = len(found)
    if not count:
        return np.zeros(0, np.int64)
    total = np.zeros(count)
    before = np.full(count, -1, np.int64)
    highest, highest_at = 0.0, -1  # of all stretches behind the window
    for k in range(count):
        low = max(0, k - _WINDOW)
        if low and total[low - 1] > highest:
            highest, highest_at = float(total[low - 1]), low - 1
        worth = float(found.score[k]) - _CHANCE
        total[k], before[k] = worth + max(0.0, highest - _JUMP), highest_at if highest > _JUMP else -1
        if low == k:
            continue
        overlap = np.maximum(found.end[low:k] - found.start[k], 0)
        reached = total[low:k] - _cost(found, low, k) - overlap
        reached[(found.start[low:k] >= found.start[k]) | (overlap >= worth)] = -np.inf
        best = int(reached.argmax())
        if reached[best] + worth > total[k]:
            total[k], before[k] = reached[best] + worth, low + best
    chain = [int(total.argmax())]
    while before[chain[-1]] >= 0:
        chain.append(int(before[chain[-1]]))
    return np.array(chain[::-1], np.int64)


def _cost(found: Stretches, low: int, k: int) -> npt.NDArray[np.float64]:
    """[k - low] the cost of stretch k after each of those from `low` on."""
    rows = found.row[k] - found.row[low:k]
    gap = found.x0[k] - found.x1[low:k]
    onward = (abs(rows) <= 1) & (gap >= -_SLACK_CELLS)
    below = (rows >= 1) & (rows <= _MAX_ROWS) & (found.x0[k] < found.x1[low:k])
    cost = np.full(k - low, _JUMP)
    cost[below] = np.minimum(_JUMP, _BELOW + _PER_ROW * (rows[below] - 1))
    cost[onward] = np.minimum(_JUMP, _ONWARD + _PER_CELL * np.maximum(gap[onward], 0))
    return cost
