"""Finds print that stands across columns of text, such as a heading, a table or a figure, and splits them there.

Once the columns of a page are known, much less evidence is needed to recognise them in the rest of it: two lines
between two tables are columns too if they leave the same gutter free, while the rows of a table that leave it free are
recognised by their cells and rules.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise

import numpy as np

from ocr.imaging.measures import CELLS_APART, FURNITURE_WHITE, HIGHEST_LINE, MIN_GUTTER_PX, PARAGRAPH_WHITE
from ocr.imaging.profiles import Mask
from ocr.layout.columns import Segment
from ocr.layout.crops import Box
from ocr.layout.gutters import Gutter, bits_of, gutter_at, together
from ocr.layout.strips import Strip, strips_of
from ocr.layout.texture import RUNNING_TEXT, is_text

# In x-heights.
_WHITE_BELOW = 1.0  # a heading
_ALONE = 2.5  # white between the text and a header in two pieces, which is no text
# Ratios.
_LARGER = 1.03  # than the usual line, in height
_RISES = 1.12  # the same from the baseline up: a heading without descenders is low
_FULL = 0.35  # a line's lowest row above the descenders has this share of its fullest row's ink
_MIN_ROWS = 3  # fewer are no table, and no columns between rows of one
# Lines of a caption; their distance from its table or figure, as a share of that from the text.
_MAX_CAPTION, _NEARER = 4, 0.75


def segments(obstacles: Mask, rules: Mask, box: Box, columns: Segment, x_height_px: float) -> list[Segment]:
    """Returns all of a box from top to bottom, as stretches of columns and of print that stands across them.

    columns: the best that were found in the box. obstacles, rules: [H, W] bool.
    """
    x0, y0, x1, y1 = box
    window, best = obstacles[y0:y1, x0:x1], obstacles[columns.top : columns.bottom, x0:x1]
    inked = bits_of(np.any(best, axis=0))
    gutters = [gutter_at(x - x0, inked, x1 - x0) for x in columns.edges]
    strips = strips_of(window, rules[y0:y1, x0:x1], best, gutters, x_height_px)
    page = _Page(window, strips, gutters, x_height_px)
    found = []
    for first, last, open_ in page.stretches():
        top = 0 if first == 0 else (strips[first - 1].bottom + strips[first].top) // 2
        bottom = len(window) if last + 1 == len(strips) else (strips[last].bottom + strips[last + 1].top) // 2
        edges = tuple(x0 + gutter.middle for gutter in open_)
        found.append(Segment(top=y0 + top, bottom=y0 + bottom, edges=edges))
    return found


# First and last strip, and the gutters between its columns.
_Stretch = tuple[int, int, list[Gutter]]


class _Page:
    """The strips of a box with the gutters of its columns. window: [H, W] bool."""

    def __init__(
        self, window: Mask, strips: Sequence[Strip], gutters: Sequence[Gutter], x_height_px: float
    ) -> None:
        self._window, self._strips, self._gutters, self._x_height_px = window, strips, gutters, x_height_px

    def stretches(self) -> list[_Stretch]:
        """Returns all strips, in stretches of columns and of print across them."""
        parted = list(self._parted())
        found: list[_Stretch] = []
        for number, (first, last, gutters) in enumerate(parted):
            between = 0 < number < len(parted) - 1 and not found[-1][2] and not parted[number + 1][2]
            if between and self._is_among_rows(first, last):
                gutters = []
            if found and not gutters and not found[-1][2]:
                found[-1] = found[-1][0], last, []
            else:
                found.append((first, last, gutters))
        return found

    def _parted(self) -> Iterator[_Stretch]:
        """Yields stretches; several across columns may follow each other."""
        across = {index for index, strip in enumerate(self._strips) if strip.crosses}
        for run in self._open_runs():
            across |= self._tables(run) | self._headings(run) | self._furniture(run)
        for run in self._open_runs():
            across |= self._captions(run, across)
        runs = {index: run.start for run in self._open_runs() for index in run}
        kinds = ((index in across, runs.get(index), index) for index in range(len(self._strips)))
        for (is_across, _), group in groupby(kinds, key=lambda kind: kind[:2]):
            members = [index for _, _, index in group]
            first, last = members[0], members[-1]
            gutters = [] if is_across else self._open_gutters(first, last)
            yield first, last, gutters if gutters and self._are_columns(first, last, gutters) else []

    def _open_runs(self) -> list[range]:
        """Returns runs of neighbouring strips that cross no gutter and have no rule between them that does."""
        runs: list[range] = []
        for index, strip in enumerate(self._strips):
            if strip.crosses:
                continue
            if runs and runs[-1].stop == index and not strip.ruled_above:
                runs[-1] = range(runs[-1].start, index + 1)
            else:
                runs.append(range(index, index + 1))
        return runs

    def _tables(self, run: range) -> set[int]:
        """Returns the rows of tables: several of nothing but cells, set off by rules, white or a crossing line."""
        found: set[int] = set()
        for are_cells, group in groupby(run, key=lambda index: self._strips[index].cells):
            members = list(group)
            if not are_cells or len(members) < _MIN_ROWS:
                continue
            rows = [self._strips[index] for index in members]
            end = members[-1] + 1
            white = self._white_above(members[0]), self._white_above(end)
            spaced = 2 * sum(row.spaced for row in rows) > len(rows)
            # Tables that stand side by side in two columns have rules of their own, and seldom end at the same height.
            apart = min(white) if not spaced else max(white)
            beside = any(row.ruled_beside for row in rows)
            ruled = rows[0].ruled_above or (end < len(self._strips) and self._strips[end].ruled_above)
            if ruled or (not beside and apart >= CELLS_APART * self._x_height_px):
                found.update(members)
        return found

    def _white_above(self, index: int) -> float:
        """Returns the height of the white above a strip; infinite where nothing is above it, or a crossing strip."""
        ends = index in (0, len(self._strips))
        if ends or self._strips[index - 1].crosses or self._strips[index].crosses:
            return math.inf
        return self._strips[index].white_to(self._strips[index - 1])

    def _headings(self, run: range) -> set[int]:
        """Returns short headings of all columns: larger type in the first column, white through all above and below."""
        found: set[int] = set()
        lines = [strip.bottom - strip.top for strip in self._strips]
        most = HIGHEST_LINE * self._x_height_px
        usual = np.median([height for height in lines if height <= most] or [0])
        for index in run[1:-1]:
            above, strip, below = self._strips[index - 1 : index + 2]
            alone = strip.sides[0] and not any(strip.sides[1:])
            if not alone or lines[index] > most:
                continue
            if lines[index] < _LARGER * usual and self._rise(strip) < _RISES * self._usual_rise:
                continue
            apart = strip.white_to(above) >= PARAGRAPH_WHITE * self._x_height_px
            apart = apart and strip.white_to(below) >= _WHITE_BELOW * self._x_height_px
            if apart and all(below.sides) and all(self._filled(range(run.start, index))):
                found.add(index)
        return found

    @cached_property
    def _usual_rise(self) -> float:
        most = HIGHEST_LINE * self._x_height_px
        lines = [strip for strip in self._strips if strip.sides[0] and strip.bottom - strip.top <= most]
        return float(np.median([self._rise(strip) for strip in lines] or [0]))

    def _rise(self, strip: Strip) -> int:
        """Returns how high the letters of a line in the first column rise above the baseline."""
        rows = np.count_nonzero(self._window[strip.top : strip.bottom, : self._gutters[0].left], axis=1)
        return int(np.flatnonzero(rows >= _FULL * rows.max())[-1] - np.flatnonzero(rows)[0]) + 1

    def _furniture(self, run: range) -> set[int]:
        """Returns header or page number, which stands alone even if it happens to leave the gutters free.

        A footnote has a rule of its own above it.
        """
        found: set[int] = set()
        if len(run) < 2:
            return found
        for index, other in ((run[0], run[1]), (run[-1], run[-2])):
            strip = self._strips[index]
            white = (_ALONE if strip.cells else FURNITURE_WHITE) * self._x_height_px
            low = strip.bottom - strip.top < HIGHEST_LINE * self._x_height_px
            if low and not strip.ruled_beside and strip.white_to(self._strips[other]) > white:
                found.add(index)
        return found

    def _captions(self, run: range, across: set[int]) -> set[int]:
        """Returns captions: short lines next to a table or figure that stands across, apart from the columns."""
        found: set[int] = set()
        for is_across, group in groupby(run, key=across.__contains__):
            members = list(group)
            if not is_across:
                found |= self._caption(members, 1) | self._caption(members[::-1], -1)
        return found

    def _caption(self, members: Sequence[int], step: int) -> set[int]:
        """Returns the leading strips that stand nearer to the strip before them than to the others: a caption.

        step: 1 for strips from top to bottom, -1 for strips from bottom to top.
        """
        before = members[0] - step
        if not 0 <= before < len(self._strips):
            return set()
        near = self._strips[members[0]].white_to(self._strips[before])
        for count, (index, other) in enumerate(pairwise(members[: _MAX_CAPTION + 1]), 1):
            strip = self._strips[index]
            # Above a table its caption is at the left; below, the last cells of its last row may be anywhere.
            if (all(strip.sides) and not strip.cells) or (step < 0 and not strip.sides[0]):
                return set()
            white = strip.white_to(self._strips[other])
            if white >= PARAGRAPH_WHITE * self._x_height_px:
                return set(members[:count]) if near <= _NEARER * white else set()
        return set()

    def _open_gutters(self, first: int, last: int) -> list[Gutter]:
        """Returns the gutters as narrowed by all strips of a stretch; none if together they close one."""
        taken = together(strip.inked for strip in self._strips[first : last + 1])
        left = [gutter.without(taken) for gutter in self._gutters]
        return left if all(gutter.width >= MIN_GUTTER_PX for gutter in left) else []

    def _are_columns(self, first: int, last: int, gutters: Sequence[Gutter]) -> bool:
        """Returns whether an open stretch is columns of text rather than rows of cells, or one column alone."""
        strips = self._strips[first : last + 1]
        if sum(self._filled(range(first, last + 1))) < 2:
            return False
        ruled_below = last + 1 < len(self._strips) and self._strips[last + 1].ruled_above
        if strips[0].ruled_above and ruled_below:  # perhaps between the rules of a table
            rows = self._window[strips[0].top : strips[-1].bottom]
            edges = [0, *(gutter.middle for gutter in gutters), rows.shape[1]]
            sides = (rows[:, left:right] for left, right in pairwise(edges))
            return all(is_text(side, self._x_height_px, RUNNING_TEXT) for side in sides)
        return len(strips) >= _MIN_ROWS or 2 * sum(strip.cells for strip in strips) <= len(strips)

    def _is_among_rows(self, first: int, last: int) -> bool:
        """Returns whether a few lines are so near to the crossing print above and below them that they belong to it."""
        above = self._strips[first].white_to(self._strips[first - 1])
        below = self._strips[last].white_to(self._strips[last + 1])
        return last - first < _MIN_ROWS and max(above, below) < CELLS_APART * self._x_height_px

    def _filled(self, indexes: Iterable[int]) -> list[bool]:
        """Returns for each side whether it has ink in any of these strips."""
        return [any(side) for side in zip(*(self._strips[index].sides for index in indexes), strict=True)]
