"""What tells a column of text from a column of a table, or from notes beside the text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ocr.parts.bands import bands_of
from ocr.parts.ink import Mask

# In heights of small letters.
_LETTER_WIDTH = 0.85
_MAX_PITCH, _LINE_HEIGHT = 4.2, 2.4
MIN_LINES = 5
_MAX_START = 0.3  # of the height: a last column may end early, but none starts late
_SAMPLE = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Texture:
    """What lines of a column of text are like, at least or at most.

    chars: characters a line in the middle of all lines; reach: the share of the column that it reaches over;
    word_space: the widest white within most lines, and gutter: the least between columns, both in heights of
    small letters. even: whether all columns must be of one width, with lines that are set in.
    """

    chars: float
    reach: float
    word_space: float
    gutter: float = 1.4
    even: bool = False


RUNNING_TEXT = Texture(chars=15.0, reach=0.6, word_space=3.2)
# Of an index: its columns are alike and have lines that are set in; those of a table rarely. Figures are as high as
# capitals, so that what counts as the height of small letters is more, and the gutters seem narrower.
EVEN_TEXT = Texture(chars=5.0, reach=0.35, word_space=math.inf, gutter=1.0, even=True)
# Of an index, or of a list in two columns. Some tables look so as well: only for where reading across has failed.
LOOSE_TEXT = Texture(chars=7.5, reach=0.35, word_space=9.0)

_EVEN = 0.04
_MIN_EVEN_LINES = 8
# In heights of a line.
_WORD_SPACE, _INDENT = 0.35, 0.4
_LOWEST = 0.6  # the feet of letters may stand apart
_SET_IN, _NOT_ALL = 0.12, 0.92  # shares of a column's lines
_ENTRIES = 2  # that begin further down than at its head, where a table has its own


def is_text(side: Mask, x_height_px: float, texture: Texture, min_lines: int = MIN_LINES) -> bool:
    """Whether one side of a gutter is lines of text, long, filled and one upon the other."""
    columns = np.flatnonzero(side.any(axis=0))
    if not len(columns):
        return False
    width = int(columns[-1] - columns[0]) + 1
    lines = [(top, bottom) for top, bottom in bands_of(side) if bottom - top >= 0.6 * x_height_px]
    if not lines or lines[0][0] > _MAX_START * side.shape[0]:
        return False
    # Lines that touch count as often as they are high.
    numbers = [max(1, round((bottom - top) / (_LINE_HEIGHT * x_height_px))) for top, bottom in lines]
    if sum(numbers) < min_lines or lines[-1][1] - lines[0][0] > _MAX_PITCH * x_height_px * sum(numbers):
        return False
    chars, reach, spaces = [], [], []
    step = max(1, len(lines) // _SAMPLE)
    for (top, bottom), number in zip(lines[::step], numbers[::step], strict=True):
        hits = np.flatnonzero(side[top:bottom].any(axis=0))
        chars += [len(hits) / (_LETTER_WIDTH * x_height_px)] * number
        reach += [(hits[-1] - hits[0] + 1) / width] * number
        spaces += [float(np.diff(hits).max(initial=0))] * number
    return bool(
        np.median(chars) >= texture.chars
        and np.median(reach) >= texture.reach
        and np.percentile(spaces, 60) <= texture.word_space * x_height_px
    )


def are_even(inked: npt.NDArray[np.bool_], edges: Sequence[int]) -> bool:
    """Whether columns have one width and one distance. inked: [W] bool, where there is ink; edges: x of each cut."""
    extents = []
    for left, right in pairwise([0, *edges, len(inked)]):
        columns = np.flatnonzero(inked[left:right])
        if not len(columns):
            return False
        extents.append((left + int(columns[0]), left + int(columns[-1]) + 1))
    widths = [right - left for left, right in extents]
    pitches = [after[0] - before[0] for before, after in pairwise(extents)]
    return _spread(widths) <= _EVEN and _spread(pitches) <= _EVEN


def _spread(values: list[int]) -> float:
    return (max(values) - min(values)) / max(values)


def is_listing(side: Mask) -> bool:
    """Whether a column has mostly several words a line, and lines that are set in."""
    bands = bands_of(side)
    if len(bands) < _MIN_EVEN_LINES:
        return False
    height_px = float(np.median([bottom - top for top, bottom in bands]))
    whole = (side[top:bottom] for top, bottom in bands if bottom - top >= _LOWEST * height_px)
    lines = [np.flatnonzero(line.any(axis=0)) for line in whole]
    words = [1 + np.count_nonzero(np.diff(hits) > _WORD_SPACE * height_px) for hits in lines]
    starts = np.array([hits[0] for hits in lines])
    set_in = starts - starts.min() > _INDENT * height_px
    has_entries = np.mean(set_in) <= _NOT_ALL or np.count_nonzero(~set_in[1:]) >= _ENTRIES
    return bool(np.median(words) >= 2 and np.mean(set_in) >= _SET_IN and has_entries)
