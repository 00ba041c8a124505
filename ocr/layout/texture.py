"""Tells a column of text from a column of a table, or from notes beside the text."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import LETTER_WIDTH, LOWEST_MARK, MIN_GUTTER_PX
from ocr.imaging.profiles import Mask
from ocr.layout.bands import bands_in, bands_of, ink_in_rows
from ocr.layout.quantiles import median, percentile

# In x-heights: the most from line to line, double spacing being 4; and the height of a line among lines that touch.
_MAX_PITCH, _LINE_HEIGHT = 4.2, 2.4
MIN_LINES = 5  # fewer may as well be a table
_MAX_START = 0.3  # a share of the height: a last column may end early, but none starts late
_SAMPLE = 24  # about as many lines are examined: more cost time and do not change the medians
_MOST_LINES = 60  # per cent of the lines without wider white than is allowed within a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Texture:
    """Limits on the lines of a column of text.

    chars: the least median of characters a line; reach: the least median share of the column that a line reaches over;
    word_space: the widest white within most lines, and gutter: the least between columns, both in heights of
    small letters. even: whether all columns must have the same width, with indented lines.
    """

    chars: float
    reach: float
    word_space: float
    gutter: float = 1.4
    even: bool = False

    def gutter_px(self, x_height_px: float) -> int:
        """Returns the least width of a gutter in pixels."""
        return max(MIN_GUTTER_PX, round(self.gutter * x_height_px))


RUNNING_TEXT = Texture(chars=18.7, reach=0.6, word_space=3.2)
# An index: its columns are alike and have indented lines, which those of a table rarely have. Figures are as high as
# capitals, so that the measured height of small letters is larger, and the gutters seem narrower.
EVEN_TEXT = Texture(chars=6.2, reach=0.35, word_space=math.inf, gutter=1.0, even=True)
# An index, or a list in two columns. Some tables look like that too, so only for pages where reading across has failed.
LOOSE_TEXT = Texture(chars=9.3, reach=0.35, word_space=9.0)

_EVEN = 0.04  # the most by which widths or distances of equal columns differ, as a share
_MIN_EVEN_LINES = 8
# In heights of a line: the least white between words, the least indent, and the least height of a line.
_WORD_SPACE, _INDENT, _LOWEST = 0.35, 0.4, 0.6
_SET_IN, _NOT_ALL = 0.12, 0.92  # the least and most indented lines, as shares of a column's lines
_ENTRIES = 2  # the least entries that begin further down than at the column's head, where a table has its own


def is_text(side: Mask, x_height_px: float, texture: Texture, min_lines: int = MIN_LINES) -> bool:
    """Returns whether one side of a gutter holds lines of text: long, filled and one below the other."""
    return Sides(side, [0, side.shape[1]]).is_text(0, side.shape[1], x_height_px, texture, min_lines)


class Sides:
    """The sides between the cuts of a window. Many of them are examined, so pixels are counted only once.

    A page of contents has a gutter for each dot of its leaders. window: [H, W] bool; cuts: x of each, 0 and W included.
    """

    def __init__(self, window: Mask, cuts: Sequence[int]) -> None:
        self._window = window
        self._inked: npt.NDArray[np.bool_] = np.any(window, axis=0)
        self._before: dict[int, npt.NDArray[np.int64]] = {cuts[0]: np.zeros(len(window), np.int64)}
        for left, right in pairwise(cuts):
            self._before[right] = self._before[left] + ink_in_rows(window[:, left:right])
        self._lines: dict[tuple[int, int], _Line] = {}

    def is_text(
        self, left: int, right: int, x_height_px: float, texture: Texture, min_lines: int = MIN_LINES
    ) -> bool:
        """Returns whether the side between two cuts is text."""
        columns = np.flatnonzero(self._inked[left:right])
        if not len(columns):
            return False
        bands = bands_in(self._before[right] - self._before[left])
        lines = [(top, bottom) for top, bottom in bands if bottom - top >= LOWEST_MARK * x_height_px]
        if not lines or lines[0][0] > _MAX_START * len(self._window):
            return False
        # Lines that touch count as many lines as they are high.
        numbers = [max(1, round((bottom - top) / (_LINE_HEIGHT * x_height_px))) for top, bottom in lines]
        if sum(numbers) < min_lines or lines[-1][1] - lines[0][0] > _MAX_PITCH * x_height_px * sum(numbers):
            return False
        step = max(1, len(lines) // _SAMPLE)
        width = int(columns[-1] - columns[0]) + 1
        chosen = [self._line(*line).within(left, right) for line in lines[::step]]
        return _is_text(chosen, numbers[::step], width, x_height_px, texture)

    def _line(self, top: int, bottom: int) -> "_Line":
        """Returns the pixel columns of the whole window that a row of print inks."""
        if (top, bottom) not in self._lines:
            hits = np.flatnonzero(self._window[top:bottom].any(axis=0))
            self._lines[top, bottom] = _Line(hits.tolist(), np.diff(hits))
        return self._lines[top, bottom]


@dataclass(frozen=True, slots=True)
class _Line:
    """A row of print. hits: the pixel columns that it inks, ascending. gaps: from each to the next."""

    hits: list[int]
    gaps: npt.NDArray[np.int64]

    def within(self, left: int, right: int) -> tuple[int, int, int]:
        """Returns number, extent and widest gap of the inked pixel columns from left to right; there must be some."""
        first, end = bisect_left(self.hits, left), bisect_left(self.hits, right)
        widest = int(self.gaps[first : end - 1].max(initial=0))
        return end - first, self.hits[end - 1] - self.hits[first] + 1, widest


def _is_text(
    lines: Sequence[tuple[int, int, int]],
    numbers: Sequence[int],
    width: int,
    x_height_px: float,
    texture: Texture,
) -> bool:
    """Returns whether lines are text by their texture.

    lines: from _Line.within(). numbers: how many lines each stands for. width: of the ink of all.
    """
    chars, reach, spaces = (
        [value for value, number in zip(values, numbers, strict=True) for _ in range(number)]
        for values in zip(*lines, strict=True)
    )
    return (
        median(chars) / (LETTER_WIDTH * x_height_px) >= texture.chars
        and median(reach) / width >= texture.reach
        and percentile(spaces, _MOST_LINES) <= texture.word_space * x_height_px
    )


def are_even(hits: Sequence[int], edges: Sequence[int]) -> bool:
    """Returns whether columns have equal widths and distances. hits: x of all ink, ascending; edges: x of each cut."""
    starts = [0, *(bisect_left(hits, edge) for edge in edges), len(hits)]
    if any(first == end for first, end in pairwise(starts)):
        return False
    extents = [(hits[first], hits[end - 1] + 1) for first, end in pairwise(starts)]
    widths = [right - left for left, right in extents]
    pitches = [after[0] - before[0] for before, after in pairwise(extents)]
    return _spread(widths) <= _EVEN and _spread(pitches) <= _EVEN


def _spread(values: list[int]) -> float:
    return (max(values) - min(values)) / max(values)


def is_listing(side: Mask) -> bool:
    """Returns whether most lines of a column have several words, and some are indented."""
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
