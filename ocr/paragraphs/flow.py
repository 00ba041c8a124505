"""Finds where blocks of running text end, by the places of their lines: gaps, other sizes and columns, indents."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from statistics import quantiles

from ocr.paragraphs.line_kinds import has_leader, is_index, is_list, is_mono, is_numbered, item_mark
from ocr.paragraphs.table_ranges import table_ranges
from ocr.paragraphs.text_lines import Line

# In type sizes.
_LEAST_DROP, _MOST_DROP = 0.6, 2.6  # from one line of a column to the next
_TIGHT = 0.9  # lines are never closer
_PITCH = 1.3  # the usual distance of lines where too few lines show it
_EXTRA = 0.2  # distance that separates blocks
_ITEM_EXTRA = 1.3  # extra distance that separates items of a list
_APART = 3.0  # horizontal distance that separates blocks
_INDENT = 0.6  # lines that begin nearer to each other begin at the same x
# Ratios.
_SIZES, _WIDTHS = 1.2, 1.12  # from these on type sizes and letters' widths differ
_ALIKE = 1.12  # up to this type sizes are the same
_RAGGED = 0.12  # of the width of a column: lines that end within this of its edge are full
_FILLED = 0.4  # the least share of full lines in running text
_ROOM = 1.1  # the room that a word needs, in its widths and those of the blanks around it
_BLANKS = 1.5  # the width of these blanks, in letters
_DASHES = "1-*+–—"  # marks that may begin a line of a sentence too
# Lines.
_NEAR, _FAR = 12, 10  # lines before and after: for the column, for the usual distance
_FEW, _ENOUGH, _USUAL = 3, 8, 2  # least and most distances that give the usual one, and its decile
_SOME = 4  # with fewer a column's right edge is not known


def ranges(lines: Sequence[Line], tables: Sequence[tuple[int, int]] = ()) -> Iterator[tuple[int, int, str]]:
    """Yields the blocks that lines make up, in their order, as ranges [start, end) with a label.

    tables: ranges that are known to be tables, in order.
    """
    at = 0
    others = (
        own for own in table_ranges(lines) if all(end <= own[0] or own[1] <= start for start, end in tables)
    )
    for start, end in sorted([*tables, *others]):
        yield from Flow(lines, at, start).ranges()
        yield start, end, "table"
        at = end
    yield from Flow(lines, at, len(lines)).ranges()


class Flow:
    """Divides the lines [start, end) of a page, none of them in a table, into blocks."""

    def __init__(self, lines: Sequence[Line], start: int, end: int) -> None:
        self._lines, self._start, self._end = lines, start, end
        self._adjoin = [_adjoin(a, b) for a, b in pairwise(lines[start:end])]
        self._known: dict[int, Sequence[Line]] = {}

    def ranges(self) -> Iterator[tuple[int, int, str]]:
        """Yields the blocks as ranges [first, last) with a label."""
        first = self._start
        for at in range(self._start, self._end):
            if at + 1 == self._end or self._ends_block(first, at):
                yield first, at + 1, "list" if is_list(self._lines[first : at + 1]) else "text"
                first = at + 1

    def _ends_block(self, first: int, at: int) -> bool:
        """Returns whether a block that begins with line `first` ends with line `at`."""
        a, b = self._lines[at], self._lines[at + 1]
        if a.is_mono and b.is_mono:
            return a.block != b.block
        size = max(a.size, b.size)
        apart = max(a.x0, b.x0) - min(a.x1, b.x1) > _APART * size
        if apart or _differ(a, b) or not 0 < b.base - a.base <= _MOST_DROP * size:
            return True
        head = self._lines[first]
        mark, extra = item_mark(b), self._extra(at)
        if item_mark(head) and mark and extra < _ITEM_EXTRA * size:
            return mark != item_mark(head) and abs(b.x0 - head.x0) < _INDENT * size
        if (a.block != b.block and not self._runs_on(at)) or extra > _EXTRA * size:
            return True
        if item_mark(head):
            return not mark and self._ends_list(first, at, head)
        is_name = "B" <= b.text[0] <= "Z" and b.text[1:2] == "." and not self._is_forced(at)  # its initial
        if mark and not is_name and (mark not in _DASHES or a.text[-1] in ":.;"):
            return True
        return not self._is_code(at) and self._ends_paragraph(first, at)

    def _ends_list(self, first: int, at: int, head: Line) -> bool:
        """Returns whether the line after line `at` is no part of the last item: left of the items, or under a mark.

        An item goes on there if its line had no room for the next word, unless another one goes on at its text.
        """
        step = _INDENT * head.size
        below = self._lines[at + 1].x0 - head.x0
        hangs = any(line.x0 > head.x0 + step for line in self._lines[first : at + 1])
        return below < -step or (below < step and (hangs or self._is_forced(at)))

    def _ends_paragraph(self, first: int, at: int) -> bool:
        """Returns whether line `at` ends a paragraph although there is no gap below it."""
        a, b = self._lines[at], self._lines[at + 1]
        own = range(first, at + 1)
        full = [not self._is_forced(k) for k in own]
        next_full = at + 2 < self._end and not self._is_forced(at + 1)
        if not any(full) and not next_full:
            return bool(item_mark(b)) and not item_mark(a)
        if any(full) and not full[-1]:
            return True
        left = min(self._lines[k].x0 for k in own[1:] or own)
        step = _INDENT * a.size
        if self._is_indented(at + 1, left, step) and (len(own) > 1 or not full[-1]):
            return True
        if len(own) > 1 and b.x0 < left - step and abs(b.x0 - self._lines[own[0]].x0) < step:
            return True  # a hanging indent
        return not full[-1] and next_full and abs(b.x0 - a.x0) < step

    def _runs_on(self, at: int) -> bool:
        """Returns whether a line is full like others around it; then a blank line after it may only be a wide gap."""
        around = self._around(at)
        right = max(line.x1 for line in around)
        least = right - _RAGGED * (right - around[0].x0)
        return sum(line.x1 > least for line in around) > 1 and not self._is_forced(at)

    def _is_indented(self, at: int, left: float, step: float) -> bool:
        """Returns whether a line begins further right than those before and after it, and is not centred."""
        line = self._lines[at]
        right = max(other.x1 for other in self._around(at - 1))
        centred = abs((right - line.x1) - (line.x0 - left)) < step
        after = self._lines[at + 1] if at + 1 < self._end else line
        return line.x0 > left + step and not centred and (after is line or after.x0 < line.x0 - step)

    def _is_code(self, at: int) -> bool:
        """Returns whether the lines around are an index or a program, which have no paragraphs."""
        around = self._around(at)
        if is_index(around) or is_numbered(around):
            return True
        right = max(line.x1 for line in around)
        least = right - _RAGGED * (right - around[0].x0)
        return is_mono(around) and sum(line.x1 > least for line in around) < _FILLED * len(around)

    def _is_forced(self, at: int) -> bool:
        """Returns whether a line ends although the next line's first word would have fitted on it."""
        a = self._lines[at]
        if has_leader(a) or at + 1 >= self._end:
            return True
        b = self._lines[at + 1]
        around = self._around(at)
        ends = sorted(line.x1 for line in around)
        width = ends[-1] - min(line.x0 for line in around)
        if len(ends) > _SOME and ends[-2] < ends[-1] - _RAGGED * width:
            return True  # ragged lines
        word = b.text.split(maxsplit=1)[0]
        return ends[-1] - a.x1 > (len(word) + _BLANKS) * b.letter_px * _ROOM

    def _around(self, at: int) -> Sequence[Line]:
        """Returns the lines of the column around line `at` that follow each other closely."""
        if (known := self._known.get(at)) is not None:
            return known
        low, high, start = at, at + 1, self._start
        while low > start and at - low < _NEAR and self._adjoin[low - 1 - start]:
            low -= 1
        while high < self._end and high - at < _NEAR and self._adjoin[high - 1 - start]:
            high += 1
        found = self._known[at] = self._lines[low:high]
        return found

    def _extra(self, at: int) -> float:
        """Returns how much further below line `at` the next line is than usual, in pixels.

        A baseline may be misjudged; then the gap on the line's other side is too small by as much.
        """
        usual = self._usual(at)
        found = [self._lines[at + 1].base - self._lines[at].base - usual]
        for low, high in ((at - 1, at + 1), (at, at + 2)):
            inside = low >= self._start and high < self._end
            if inside and all(self._adjoin[low - self._start : high - self._start]):
                found.append(self._lines[high].base - self._lines[low].base - 2 * usual)
        return min(found)

    def _usual(self, at: int) -> float:
        """Returns the usual distance of lines like `at` around it, in pixels."""
        lines, a = self._lines, self._lines[at]
        low, high = max(self._start, at - _FAR), min(self._end - 1, at + 1 + _FAR)
        near = (
            lines[k + 1].base - lines[k].base
            for k in sorted(range(low, high), key=lambda k: abs(k - at))
            if all(max(b.size, a.size) < _ALIKE * min(b.size, a.size) for b in lines[k : k + 2])
        )
        drops = [*islice((drop for drop in near if _TIGHT * a.size < drop < _MOST_DROP * a.size), _ENOUGH)]
        return quantiles(drops, n=10, method="inclusive")[_USUAL] if len(drops) >= _FEW else _PITCH * a.size


def _differ(a: Line, b: Line) -> bool:
    """Returns whether two lines have different type sizes."""
    small, large = (b, a) if b.size < a.size else (a, b)
    return large.size > _SIZES * small.size and large.letter_px > _WIDTHS * small.letter_px


def _adjoin(a: Line, b: Line) -> bool:
    """Returns whether two lines may be neighbours in one column."""
    if _differ(a, b):
        return False
    size = max(a.size, b.size)
    return _LEAST_DROP * size < b.base - a.base < _MOST_DROP * size
