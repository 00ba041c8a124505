"""Lengthens lines whose first or last letters the finder missed: ink that goes on beyond their ends. Numpy only.

Lines of one row between which there is no more white than beside a point are one.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import ONE_ROW
from ocr.imaging.quantiles import quantiles
from ocr.line_reader.found_lines import ABOVE_LETTERS, BELOW_LETTERS, Ints, Shades, TextLine, middle_of

# In type sizes.
_REACH = 1.6  # more ink than a few letters is not the line's
_LETTER_GAP, _FIRST_GAP = 0.25, 0.2  # white within a word, and up to the first letter that was missed
_LEAST = 0.25  # less is on the line's image as it is
_OWN = 4.0  # so much of the line tells how dark its ink is
_INK = 0.35  # of the line's contrast
_FAINT = 26  # smaller differences in darkness, of 255, are no ink
# Lines are one if the baselines of their ends differ by less, and their sizes are so much alike. The finder tells of
# ends within half a type size.
_ONE_LINE, _ALIKE, _NEAR = 0.2, 1.5, 0.5
_PIECE_GAP = 0.35  # white between a point and the digits beside it, and less than between columns
_CAPITALS = 0.72  # so high is ink that counts: white within a word is wider below the bar of a 7


def lengthened(darkness: Shades, lines: Sequence[TextLine]) -> list[TextLine]:
    """Returns the lines, each with the letters that touch its ends. darkness: the page's, [H, W]."""
    ends = np.array([(line.left, line.right, line.middle) for line in lines]).reshape(-1, 3)
    found = []
    for number, line in enumerate(lines):
        first, end = _room(line, ends, darkness.shape[1])
        before = _missed(darkness, line, np.arange(line.left - 1, first - 1, -1))
        after = _missed(darkness, line, np.arange(line.right, end))
        found.append(line.between(line.left - before, line.right + after))
        ends[number, :2] = found[-1].left, found[-1].right  # what it has gained is no other's
    return found


def joined(darkness: Shades, lines: Sequence[TextLine]) -> list[TextLine]:
    """Returns the lines, those that are pieces of one as one. darkness: the page's, [H, W]."""
    found: list[TextLine] = []
    open_lines: list[TextLine] = []
    ink = cache(lambda line: _ink(darkness, line, line.right))
    for line in sorted(lines, key=lambda line: line.left):
        found += [it for it in open_lines if it.right + it.size < line.left]
        open_lines = [it for it in open_lines if it.right + it.size >= line.left]
        near = (it for it in open_lines if abs(it.baseline[-1] - line.baseline[0]) < it.size)  # most are not
        before = next((it for it in near if _are_one(darkness, it, line, ink)), None)
        if before is not None:
            open_lines.remove(before)
            line = before.joined(line)
        open_lines.append(line)
    return found + open_lines


def _are_one(darkness: Shades, line: TextLine, after: TextLine, ink: Callable[[TextLine], float]) -> bool:
    """Returns whether a line goes on in one that begins further right. ink: tells how dark that of a line's end is."""
    large, small = max(line.size, after.size), min(line.size, after.size)
    end, length = min(after.left, line.right) - line.left, round(small)
    last, first = line.baseline[max(0, end - length) : max(end, 1)], after.baseline[:length]
    if large > _ALIKE * small or abs(middle_of(last) - middle_of(first)) > _ONE_LINE * small:
        return False
    near = round(_NEAR * small)
    left = max(line.left, min(line.right, after.left) - near)
    columns = np.arange(left, min(after.right, max(line.right, after.left) + near))
    pixels = line.band(darkness, columns, _CAPITALS)
    inked = np.flatnonzero(pixels.max(0) > ink(line))
    return bool(np.diff(inked, prepend=-1, append=len(columns)).max() <= _PIECE_GAP * small)


def _room(line: TextLine, ends: npt.NDArray[np.float64], width: int) -> tuple[int, int]:
    """Returns how far a line may reach to the left and to the right: up to its neighbours, and not far."""
    row = ends[np.abs(ends[:, 2] - line.middle) < ONE_ROW * line.size]
    left = row[row[:, 0] < line.left, 1].max(initial=0)
    right, reach = row[row[:, 1] > line.right, 0].min(initial=width), _REACH * line.size
    first, end = max(left, line.left - reach), min(right, line.right + reach)
    return round(min(first, line.left)), round(max(end, line.right))


def _missed(darkness: Shades, line: TextLine, columns: Ints) -> int:
    """Returns in how many of the pixel columns, from a line's end outwards, letters of it stand; 0 for a rule.

    Ink that goes on as far as they do is no letter either.
    """
    if not len(columns) or np.ptp(line.band(darkness, columns[: math.ceil(_FIRST_GAP * line.size)])) < _FAINT:
        return 0
    level = _ink(darkness, line, columns[0])
    inked = np.flatnonzero(line.band(darkness, columns).max(0) > level)
    gaps = np.diff(inked, prepend=-1, append=len(columns))
    wide = np.flatnonzero(gaps > _LETTER_GAP * line.size)
    if not len(wide) or not wide[0]:
        return 0
    found = int(inked[wide[0] - 1]) + 1
    beyond_letters = line.band(darkness, columns[:found], ABOVE_LETTERS, BELOW_LETTERS)
    return found if found > _LEAST * line.size and not bool((beyond_letters.min(0) > level).any()) else 0


def _ink(darkness: Shades, line: TextLine, end: int) -> float:
    """Returns how dark ink of the line's part at an end is."""
    own = round(_OWN * line.size)
    first, behind = (line.left, line.left + own) if end < line.left else (line.right - own, line.right)
    columns = np.arange(max(first, line.left), min(behind, line.right))
    paper, ink = quantiles(line.band(darkness, columns), (0.3, 0.97))
    return paper + _INK * (ink - paper)
