"""Parts lines that run on into the next column: at white that stands at one place in many rows. Numpy only.

The finder takes a narrow gutter for a wide space. A single space tells nothing, but spaces of justified text do not
stand one below the other over many rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from ocr.imaging.profiles import runs, stretches
from ocr.imaging.quantiles import quantiles
from ocr.line_reader.found_lines import ABOVE_LETTERS, BELOW_LETTERS, BOTTOM, TOP, Shades, TextLine
from ocr.line_reader.levelling import View

# In type sizes.
_WIDE = 0.5  # a gutter is wider; most spaces between words are narrower
_SPACE = 0.15  # a space between words is wider, white between letters narrower
_SHARED = 0.3  # of two gaps, one below the other, that are of one gutter
_PITCH = 2.4  # rows of a column follow each other more closely
# Rows of one column are further apart, and rows of two that stand beside each other nearer; so are parts of formulas,
# which are shorter.
_ONE_ROW, _BESIDE, _LONG = 0.4, 0.75, 6.0
_WIDEST = 3.0  # wider white says little about where the gutter is
# A rule between columns is this narrow, and blurred as far to its sides: it counts as white. Unlike a letter it goes
# on above ascenders and below descenders.
_RULE, _BESIDE_RULE = 0.2, 0.12
_BEYOND_LETTERS = np.array([(ABOVE_LETTERS, TOP, 1.1), (BELOW_LETTERS, 0.5, -BOTTOM)])
_SPECK = 0.06  # narrower ink is none
# Of the white between the parts of the rows around, up to _WIDEST: a line with less has a space there.
_AS_WIDE = 0.55
# Of a line's widest white, one in so many type sizes is between words: a gutter is so many times as wide as most of it.
_WORD, _WIDER = 2.5, 1.5
# Of a line's contrast: columns of pixels with less are white.
_WHITE = 0.22
# Rows with text on both sides: of gutters that are mostly wider than the spaces of their lines, and of others.
_LEAST_ROWS, _MANY_ROWS, _MOSTLY = 6, 12, 0.6


@dataclass(frozen=True, slots=True)
class _Gap:
    """White at the height of a row: its ends, and the line that it is in; None beside lines, where it may not end.

    is_clear: it is wider than the line's spaces. has_rule: a rule stands in it. ink: how dark ink is in the line.
    """

    x0: float
    x1: float
    y: float
    size: float
    line: int | None
    is_clear: bool = False
    has_rule: bool = False
    ink: float = 0.0


def parted(darkness: Shades, lines: Sequence[TextLine]) -> list[TextLine]:
    """Returns the lines, those that cross a gutter as several. darkness: the page's, [H, W]."""
    level = [*map(View.of(lines).levelled, lines)]
    within = (_white(darkness, line, number, level[number].middle) for number, line in enumerate(lines))
    gaps = [gap for own in within for gap in own]
    if not gaps:
        return list(lines)
    gaps = sorted([*gaps, *_around(lines, level)], key=lambda gap: gap.y)
    cuts: dict[int, list[tuple[float, float]]] = {}
    for gutter in _gutters(gaps):
        for gap in gutter.sure:
            if gap.line is not None:
                cuts.setdefault(gap.line, []).append(_narrowed(darkness, lines[gap.line], gap))
    return [piece for number, line in enumerate(lines) for piece in _cut(line, cuts.get(number, []))]


def _white(darkness: Shades, line: TextLine, number: int, y: float) -> Iterator[_Gap]:
    """Yields the wide gaps in a line. number, y: its own, and its height on the page once that is level."""
    left, right = max(0, line.left), min(darkness.shape[1], line.right)
    if right - left < 3 * line.size:
        return
    pixels = line.band(darkness, np.arange(left, right))
    paper, ink = quantiles(pixels, (0.3, 0.97))
    level = paper + _WHITE * (ink - paper)
    is_white, beside, wide = pixels.max(0) < level, max(1, round(_BESIDE_RULE * line.size)), right - left
    rules, (begin, end), whites = [], runs(pixels.min(0) > level), np.append(0, np.cumsum(is_white))
    may_be = (end - begin <= _RULE * line.size) & (whites[begin] > whites[np.maximum(begin - beside, 0)])
    may_be &= whites[np.minimum(end + beside, wide)] > whites[end]
    for a, b in zip(begin[may_be].tolist(), end[may_be].tolist(), strict=True):
        if _is_rule(darkness, line, left + a, left + b, level):
            is_white[max(0, a - beside) : b + beside] = True
            rules.append(a)
    gaps = [(a, b) for a, b in stretches(is_white) if a > 0 and b < wide and b - a > _SPACE * line.size]
    spaces = sorted((b - a for a, b in gaps), reverse=True)[: round(wide / (_WORD * line.size))]
    usual = median(spaces) if len(spaces) > 1 else 0.0
    for a, b in gaps:
        has_rule, is_clear = any(a <= rule < b for rule in rules), b - a >= _WIDER * usual
        if has_rule or b - a >= _WIDE * line.size:
            yield _Gap(left + a, left + b, y, line.size, number, is_clear, has_rule, level)


def _is_rule(darkness: Shades, line: TextLine, left: int, right: int, level: float) -> bool:
    """Returns whether the stroke between two columns of pixels goes on beyond the line's letters.

    It may begin or end beside them, as at a column's first and last line, and then goes on far to its other side.
    """
    ends = max(line.left, left - 1), min(line.right, darkness.shape[1], right + 1)  # it may be slanted
    return bool((line.band(darkness, np.arange(*ends), *_BEYOND_LETTERS).max(-1) > level).all(0).any())


def _around(lines: Sequence[TextLine], level: Sequence[TextLine]) -> Iterator[_Gap]:
    """Yields the white to the right of each line, up to the next one in its row, and to the left of each row."""
    middles = np.array([line.middle for line in level])
    ends = np.array([(line.left, line.right) for line in lines])
    is_long = np.array([line.right - line.left > _LONG * line.size for line in lines])
    for line, middle, number in zip(lines, middles.tolist(), range(len(lines)), strict=True):
        beside = np.abs(middles - middle) < np.where(is_long, _BESIDE, _ONE_ROW) * line.size
        beside[number] = False
        after = ends[beside & (ends[:, 0] >= line.right), 0]
        x1 = float(after.min()) if len(after) else np.inf
        yield _Gap(float(line.right), x1, middle, line.size, None)
        if not (beside & (ends[:, 1] <= line.left)).any():
            yield _Gap(-np.inf, float(line.left), middle, line.size, None)


@dataclass(slots=True)
class _Gutter:
    """White in successive rows: its gaps, where it is in the last row, and how many rows have text on both sides."""

    gaps: list[_Gap]
    x0: float
    x1: float
    num_between: int = 0

    def add(self, gap: _Gap) -> None:
        """Adds the next row's gap. Wide white keeps the gutter where it was."""
        self.gaps.append(gap)
        is_narrow = gap.x1 - gap.x0 < _WIDEST * gap.size
        self.x0 = gap.x0 if is_narrow else max(self.x0, gap.x0)
        self.x1 = gap.x1 if is_narrow else min(self.x1, gap.x1)
        self.num_between += gap.x1 - gap.x0 < np.inf

    @property
    def sure(self) -> list[_Gap]:
        """The gaps within lines, if spaces between words would not stand like that.

        Rows that are parted already speak for a gap in the row below only if it is about as wide as theirs, or holds a
        rule: that row may be the first one of a paragraph under a table.
        """
        own = [gap for gap in self.gaps if gap.line is not None]
        is_clear = sum(gap.is_clear for gap in own) >= _MOSTLY * len(own)
        if self.num_between < (_LEAST_ROWS if is_clear else _MANY_ROWS):
            return []
        widths = sorted(min(gap.x1 - gap.x0, _WIDEST * gap.size) for gap in self.gaps if gap.line is None)
        if len(own) >= _LEAST_ROWS or not widths:
            return own
        least = _AS_WIDE * widths[len(widths) // 4]
        return [gap for gap in own if gap.has_rule or gap.x1 - gap.x0 >= least]

    def is_met_by(self, gap: _Gap) -> bool:
        """Returns whether the gap continues it: one row below, at the same place."""
        down, shared = gap.y - self.gaps[-1].y, min(gap.x1, self.x1) - max(gap.x0, self.x0)
        return down > _ONE_ROW * gap.size and shared >= _SHARED * gap.size


def _gutters(gaps: Sequence[_Gap]) -> list[_Gutter]:
    """Returns the gaps, which come from top to bottom, as gutters."""
    reached: list[_Gutter] = []
    done: list[_Gutter] = []
    for gap in gaps:
        ended = [it for it in reached if gap.y - it.gaps[-1].y > _PITCH * max(gap.size, it.gaps[-1].size)]
        done += ended
        reached = [it for it in reached if it not in ended]
        met = [it for it in reached if it.is_met_by(gap)]
        for gutter in met if gap.line is None else [max(met, key=lambda it: len(it.gaps))] if met else []:
            gutter.add(gap)
        if not met and gap.x1 - gap.x0 < np.inf:
            reached.append(_Gutter([gap], gap.x0, gap.x1, 1))
    return done + reached


def _narrowed(darkness: Shades, line: TextLine, gap: _Gap) -> tuple[float, float]:
    """Returns the widest stretch of a gap without ink above or below the band that was searched, such as of quotes."""
    left, right = round(gap.x0), round(gap.x1)
    pixels = line.band(darkness, np.arange(left, right), ABOVE_LETTERS, BELOW_LETTERS)
    inked, beside = pixels.max(0) > gap.ink, max(1, round(_BESIDE_RULE * line.size))
    for a, b in stretches(inked):
        if b - a < _SPECK * line.size or _is_rule(darkness, line, left + a, left + b, gap.ink):
            inked[max(0, a - beside) : b + beside] = False
    a, b = max(stretches(~inked), key=lambda run: run[1] - run[0], default=(0, right - left))
    return float(left + a), float(left + b)


def _cut(line: TextLine, gaps: Sequence[tuple[float, float]]) -> Iterator[TextLine]:
    left = line.left
    for x0, x1 in [*sorted(set(gaps)), (float(line.right), float(line.right))]:
        if (right := round(x0)) > left:
            yield line.between(left, right)
        left = round(x1)
