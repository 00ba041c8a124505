"""Measures whether the lines of a page were read in order."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from rapidfuzz import fuzz, process

_SAME = 80.0  # per cent alike: the same line, read with a few errors
_MIN_CHARS = 12  # shorter lines occur more than once
_MIN_LINES = 3


def line_tau(truth: str, text: str) -> float | None:
    """Returns Kendall's tau of the lines that both have, 1 for the truth's order; None if there are too few."""
    wanted, read = _lines(truth), _lines(text)
    if len(wanted) < _MIN_LINES or len(read) < _MIN_LINES:
        return None
    alike = process.cdist(wanted, read, scorer=fuzz.ratio, score_cutoff=_SAME)
    places = []
    # Each line is in only one of the best pairs.
    for _ in range(min(alike.shape)):
        row, column = np.unravel_index(int(np.argmax(alike)), alike.shape)
        if not alike[row, column]:
            break
        places.append((int(row), int(column)))
        alike[row, :] = alike[:, column] = 0
    if len(places) < _MIN_LINES:
        return None
    return kendall_tau([column for _, column in sorted(places)])


def _lines(text: str) -> list[str]:
    squeezed = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in squeezed if len(line) >= _MIN_CHARS]


def kendall_tau(places: Sequence[int]) -> float:
    """Returns 1 for places that never fall, -1 for such as always do; 1 for fewer than two."""
    pairs = len(places) * (len(places) - 1) // 2
    inverted = sum(first > second for first, second in combinations(places, 2))
    return 1 - 2 * inverted / pairs if pairs else 1.0
