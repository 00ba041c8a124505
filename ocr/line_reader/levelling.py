"""Levels the lines of a page that was scanned askew or photographed from aside. Numpy only."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from ocr.line_reader.found_lines import Box, Floats, TextLine

SEVERAL_WORDS = 6.0  # type sizes: shorter lines tell little of a page's slant
# So many lines tell whether slopes change down the page: by more than this on a photograph from aside.
_MANY_LINES, _FROM_ASIDE = 9, 0.01
# On a photograph left edges lean by up to so much more or less than lines slope, and are found to such a step.
_LEAN, _STEP = 0.1, 0.005

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a page lies in its picture.

    slope: by how much a line through its centre (x, y) goes down a pixel to the right; change: and each line more a
    pixel further down. lean: by how much a left edge goes to the left a pixel further down.
    """

    x: float
    y: float
    slope: float
    change: float
    lean: float

    @classmethod
    def of(cls, page: Iterable[TextLine]) -> Self:
        """Returns what the long ones of a page's lines tell."""
        long = (line for line in page if len(line.baseline) > SEVERAL_WORDS * line.size)
        lines = sorted(long, key=lambda line: line.middle)
        if not lines:
            return cls(x=0.0, y=0.0, slope=0.0, change=0.0, lean=0.0)
        left, middle, size = np.array([(line.left, line.middle, line.size) for line in lines], np.float64).T
        slopes = np.array([slope_of(line) for line in lines])
        x = float(np.median([line.left + len(line.baseline) / 2 for line in lines]))
        y, slope = float(np.median(middle)), float(np.median(slopes))
        change = _change(middle, slopes)
        slope = float(np.median(slopes - change * (middle - y))) if change else slope
        lean = _lean(left, middle, float(np.median(size)), slope) if change else slope
        return cls(x=x, y=y, slope=slope, change=change, lean=lean)

    def slope_at(self, y: float) -> float:
        """Returns by how much lines go down a pixel to the right where they are so far down the page."""
        return self.slope + self.change * (y - self.y)

    def above(self, x: Numbers, y: Numbers) -> Numbers:
        """Returns where what stands at (x, y) once it is levelled, moved up or down alone, is on the page."""
        return y + self.slope * (x - self.x) + self.change * (x - self.x) * (y - self.y)

    def levelled(self, line: TextLine) -> TextLine:
        """Returns a line as it would stand on the page turned until most lines are level, seen from straight above."""
        aside = round(self.lean * (line.middle - self.y))
        x = np.arange(line.left, line.left + len(line.baseline), dtype=np.float32)
        baseline = self.levelled_y(x, line.baseline).astype(np.float32)
        return replace(line, left=line.left + aside, right=line.right + aside, baseline=baseline)

    def levelled_y(self, x: Numbers | Floats, y: Numbers | Floats) -> Numbers | Floats:
        """Returns how far down points would stand there."""
        x = x - np.float32(self.x)
        return self.y + (y - self.y - self.slope * x) / (1 + self.change * x)

    def levelled_box(self, box: Box) -> Box:
        """Returns where a rule's ends, the middles of a narrow box's short sides, would stand, as a box."""
        x0, y0, x1, y1 = box
        if x1 - x0 > y1 - y0:
            x, y = np.array([x0, x1]), np.full(2, (y0 + y1) / 2)
        else:
            x, y = np.full(2, (x0 + x1) / 2), np.array([y0, y1])
        (left, right), (top, foot) = x + self.lean * (y - self.y), self.levelled_y(x, y)
        return float(left), float(top), float(right), float(foot)


def slope_of(line: TextLine) -> float:
    """Returns by how much the inner half of a line goes down a pixel: baselines are found too level at their ends."""
    quarter = len(line.baseline) // 4
    return float(line.baseline[-1 - quarter] - line.baseline[quarter]) / (len(line.baseline) - 2 * quarter)


def _change(middle: Numbers, slopes: Numbers) -> float:
    """Returns by how much more lines slope a pixel further down, by the upper and lower third of them; 0 on scans."""
    if len(slopes) < _MANY_LINES:
        return 0.0
    third = len(slopes) // 3
    parts = slice(third), slice(-third, None)
    (top, first), (bottom, last) = ((np.median(middle[it]), np.median(slopes[it])) for it in parts)
    change = float((last - first) / max(1.0, bottom - top))
    return change if abs(change) * (middle[-1] - middle[0]) > _FROM_ASIDE else 0.0


def _lean(left: Numbers, middle: Numbers, size: float, slope: float) -> float:
    """Returns the lean with which most lines begin where others do."""

    def alike(lean: float) -> int:
        return int((np.unique(np.rint((left + lean * middle) / size), return_counts=True)[1] ** 2).sum())

    leans = np.arange(-_LEAN, _LEAN + _STEP, _STEP)
    return slope + float(max(sorted(leans, key=abs), key=lambda more: alike(slope + more)))
