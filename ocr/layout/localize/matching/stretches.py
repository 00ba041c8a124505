"""Finds stretches of text on the page: the same marks, one after another, in one row of cells."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ocr.layout.localize.matching.marks import Ints, SeenMarks, WrittenMarks

_GRAM = 3  # marks: pairs occur everywhere, and of four in a row one is misread too often
_MAX_GAP = 8  # marks that may differ between two runs of three that agree
_MIN_MARKS = 4  # that agree; three do so by chance
_MAX_PAIRS = 3_000  # places in the text x places on the page of one run of three; a page of dots has millions
_MAX_STRETCHES = 1_500  # a table of equal rows has tens of thousands
_ECLIPSED = 0.34  # a stretch this much shorter than another one of the same text is chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretches:
    """K stretches in the order of their ends in the text, each field [K].

    text: the numbers of their texts. start, end: the marks of the text that they cover. score: how many of those agree.
    first, last: their first and last mark on the page. row; x0, x1: the cells between those.
    """

    text: Ints
    start: Ints
    end: Ints
    score: Ints
    first: Ints
    last: Ints
    row: Ints
    x0: Ints
    x1: Ints

    def __len__(self) -> int:
        return len(self.start)

    def take(self, index: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> "Stretches":
        """Returns the stretches that an index selects."""
        return Stretches(**{name: getattr(self, name)[index] for name in self.__slots__})


def stretches(written: WrittenMarks, seen: SeenMarks) -> Stretches:
    """Returns every stretch of at least four marks, except those that a far longer one of the same text eclipses."""
    i, j = _pairs(_grams(written.mark, written.text), _grams(seen.mark, seen.row))
    shift, text, row = j - i, written.text[i], seen.row[j]
    order = np.lexsort((i, shift, row, text))
    i, j, shift, text, row = i[order], j[order], shift[order], text[order], row[order]
    step = np.diff(i)
    joined = (np.diff(shift) == 0) & (np.diff(row) == 0) & (np.diff(text) == 0) & (step <= _MAX_GAP)
    starts = np.flatnonzero(np.append(True, ~joined)) if len(i) else np.zeros(0, np.int64)
    ends = np.append(starts[1:], len(i)) - 1 if len(i) else starts
    covered = np.append(np.where(joined, np.minimum(step, _GRAM), _GRAM), _GRAM) if len(i) else starts
    totals = np.append(0, np.cumsum(covered))
    first, last = j[starts], j[ends] + _GRAM - 1
    found = Stretches(
        text=text[starts],
        start=i[starts],
        end=i[ends] + _GRAM,
        score=totals[ends + 1] - totals[starts],
        first=first,
        last=last,
        row=row[starts],
        x0=seen.x0[first],
        x1=seen.x1[last],
    )
    found = found.take(found.score >= _MIN_MARKS)
    found = _nearest(found.take(_lasting(found, len(written.mark))), seen, len(written.mark))
    return found.take(np.lexsort((found.start, found.end)))


def _grams(mark: Ints, group: Ints) -> Ints:
    """Returns a number for every run of three marks, [len - 2]; -1 where it crosses two groups."""
    if len(mark) < _GRAM:
        return np.zeros(0, np.int64)
    code = (mark[:-2] << 32) + (mark[1:-1] << 16) + mark[2:]
    return np.where(group[:-2] == group[2:], code, -1)


def _pairs(written: Ints, seen: Ints) -> tuple[Ints, Ints]:
    """Returns pairs of equal runs: indexes i into the text's runs and j into the page's."""
    order = np.argsort(seen, kind="stable")
    ordered = seen[order]
    low, high = np.searchsorted(ordered, written, "left"), np.searchsorted(ordered, written, "right")
    there = np.where(written >= 0, high - low, 0)
    nth, times = _occurrence(written)
    # For a run with very many places, only those about as early on the page as in the text are tried.
    count = np.minimum(there, np.maximum(1, _MAX_PAIRS // times))
    middle = (nth + 0.5) / times * there
    low = low + np.clip(middle - count / 2, 0, there - count).astype(np.int64)
    i = np.repeat(np.arange(len(written)), count)
    within = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
    return i, order[np.repeat(low, count) + within]


def _occurrence(values: Ints) -> tuple[Ints, Ints]:
    """Returns for each value its running number among equal values, from 0, and how many equal values there are."""
    order = np.argsort(values, kind="stable")
    _, starts, number, times = np.unique(
        values[order], return_index=True, return_inverse=True, return_counts=True
    )
    nth, total = np.empty_like(order), np.empty_like(order)
    nth[order] = np.arange(len(values)) - starts[number]
    total[order] = times[number]
    return nth, total


def _nearest(found: Stretches, seen: SeenMarks, length: int) -> Stretches:
    """Returns at most _MAX_STRETCHES: for the same text those about as early on the page as in the text."""
    if len(found) <= _MAX_STRETCHES:
        return found
    away = np.abs(found.start / length - found.first / len(seen.mark))
    order = np.lexsort((away, found.start))
    nth, _ = _occurrence(found.start[order])
    kept = order[np.argsort(nth, kind="stable")[:_MAX_STRETCHES]]
    return found.take(np.sort(kept))


def _lasting(found: Stretches, length: int) -> npt.NDArray[np.bool_]:
    """Returns for each stretch whether it has a mark of the text that no far longer stretch covers."""
    longest = [0] * length
    starts, ends, scores = found.start.tolist(), found.end.tolist(), found.score.tolist()
    for k in np.argsort(found.score, kind="stable").tolist():
        start, end = starts[k], ends[k]
        longest[start:end] = [scores[k]] * (end - start)
    return np.array(
        [
            score >= _ECLIPSED * min(longest[start:end])
            for start, end, score in zip(starts, ends, scores, strict=True)
        ],
        bool,
    )
