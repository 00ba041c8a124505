"""Puts lines of text into reading order: columns one after the other, cells of a table row by row. Numpy only.

Lines that follow each other closely are blocks. Blocks of running text are read each by itself; all other lines are
joined to rows with what stands beside them. Units are then ordered by which must come first.
Source: Breuel 2003, High Performance Document Layout Analysis, for the two rules of order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ocr.imaging.measures import ONE_ROW
from ocr.line_reader.text_lines import TextLine

# In type sizes.
_PITCH = 2.1  # baselines of successive lines of a block are nearer
_RUNNING = 9.0  # a block of running text is wider
_FULL = 0.62  # of the block's width: lines of running text reach that far ...
_MOSTLY = 0.45  # ... in at least this share of its lines
_ALIKE = 1.5  # lines of one block differ less in type size
_OVERLAP = 0.5  # of the narrower of two lines of a block, one above the other
_BESIDE = 0.12  # blocks that overlap by less of the narrower one stand side by side
_FEW_LINES = 2  # fewer lines than these are no block of running text by themselves

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class _Unit:
    """Lines that are read together, row by row, and their bounds."""

    rows: list[list[TextLine]]
    box: Box

    @property
    def middle(self) -> float:
        return (self.box[1] + self.box[3]) / 2


def in_reading_order(lines: Sequence[TextLine]) -> list[list[list[TextLine]]]:
    """Returns the lines as blocks of rows, each row's lines from left to right."""
    blocks = _blocks(sorted(lines, key=lambda line: line.middle))
    running = [block for block in blocks if _is_running(block)]
    others = [line for block in blocks if not _is_running(block) for line in block]
    units = [_unit([[line] for line in block]) for block in running]
    units += _row_units(others, [unit.box for unit in units])
    return [unit.rows for unit in _sorted(units)]


def _blocks(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Returns chains of lines of which each is the next below the other, and the other the next above it."""
    below = [_next(lines, number, range(number + 1, len(lines)), 1) for number in range(len(lines))]
    above = [_next(lines, number, range(number - 1, -1, -1), -1) for number in range(len(lines))]
    follows = {end: start for start, end in enumerate(below) if end is not None and above[end] == start}
    after = {start: end for end, start in follows.items()}
    found = []
    for number in range(len(lines)):
        if number not in follows:
            chain, at = [lines[number]], number
            while at in after:
                at = after[at]
                chain.append(lines[at])
            found.append(chain)
    return found


def _next(lines: Sequence[TextLine], number: int, others: range, sign: int) -> int | None:
    """Returns the nearest line above or below that may be of the same block; lines are in the order of baselines."""
    line = lines[number]
    best: tuple[float, int] | None = None
    for other in others:
        found = lines[other]
        pitch = sign * (found.middle - line.middle)
        if pitch > 2 * _PITCH * line.size:
            break
        size = max(line.size, found.size)
        if pitch < ONE_ROW * min(line.size, found.size) or pitch > _PITCH * size:
            continue
        narrower = min(line.right - line.left, found.right - found.left)
        overlap = min(line.right, found.right) - max(line.left, found.left)
        if size < _ALIKE * min(line.size, found.size) and overlap > _OVERLAP * narrower:
            best = min(best or (pitch, other), (pitch - 0.001 * overlap / size, other))
    return None if best is None else best[1]


def _is_running(block: Sequence[TextLine]) -> bool:
    """Returns whether a block is running text: wide, with most lines full."""
    if len(block) < _FEW_LINES:
        return False
    width = max(line.right for line in block) - min(line.left for line in block)
    full = sum(line.right - line.left > _FULL * width for line in block)
    return width > _RUNNING * median(line.size for line in block) and full > _MOSTLY * len(block)


def _row_units(lines: Sequence[TextLine], running: Sequence[Box]) -> list[_Unit]:
    """Returns rows of the other lines: neighbours at one height, unless running text stands between them."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.middle):
        for row in reversed(rows[-40:]):
            near = [other for other in row if _is_one_row(line, other)]
            if near and not any(_is_between(box, line, near) for box in running):
                row.append(line)
                break
        else:
            rows.append([line])
    return [_unit([sorted(row, key=lambda line: line.left)]) for row in rows]


def _is_one_row(line: TextLine, other: TextLine) -> bool:
    apart = abs(line.middle - other.middle)
    beside = line.left >= other.right - line.size or line.right <= other.left + line.size
    return beside and apart < ONE_ROW * min(line.size, other.size)


def _is_between(box: Box, line: TextLine, row: Sequence[TextLine]) -> bool:
    """Returns whether a box of running text stands at this height between a line and the nearest one of a row."""
    if not box[1] - 0.5 * line.size < line.middle < box[3] + 0.5 * line.size:
        return False
    for other in row:
        left, right = min(line.right, other.right), max(line.left, other.left)
        if min(box[2], right) - max(box[0], left) > 0:
            return True
    return False


def _unit(rows: list[list[TextLine]]) -> _Unit:
    x0, y0, x1, y1 = zip(*(line.box for row in rows for line in row), strict=True)
    return _Unit(rows, (min(x0), min(y0), max(x1), max(y1)))


def _sorted(units: Sequence[_Unit]) -> list[_Unit]:
    """Returns the units so that each comes after those that must precede it, the upper and the left ones first."""
    order = sorted(range(len(units)), key=lambda number: (units[number].box[1], units[number].box[0]))
    earlier = [
        [other for other in order if other != number and _precedes(units[other], units[number], units)]
        for number in range(len(units))
    ]
    done: list[int] = []
    seen: set[int] = set()
    for start in order:
        stack = [(start, iter(earlier[start]))] if start not in seen else []
        seen.add(start)
        while stack:
            number, rest = stack[-1]
            first = next((other for other in rest if other not in seen), None)
            if first is None:
                done.append(number)
                stack.pop()
            else:
                seen.add(first)
                stack.append((first, iter(earlier[first])))
    return [units[number] for number in done]


def _precedes(a: _Unit, b: _Unit, units: Sequence[_Unit]) -> bool:
    """Returns whether a is read before b: it stands above b, or to its left with nothing across both between them."""
    if _overlap(a.box, b.box) > _BESIDE:
        return a.middle < b.middle
    if a.box[0] >= b.box[0]:
        return False
    low, high = sorted((a.middle, b.middle))
    return not any(
        low < c.middle < high and _overlap(c.box, a.box) > _BESIDE and _overlap(c.box, b.box) > _BESIDE
        for c in units
        if c is not a and c is not b
    )


def _overlap(a: Box, b: Box) -> float:
    """Returns how far two boxes overlap across the page, as a share of the narrower one."""
    narrower = max(1.0, min(a[2] - a[0], b[2] - b[0]))
    return (min(a[2], b[2]) - max(a[0], b[0])) / narrower
