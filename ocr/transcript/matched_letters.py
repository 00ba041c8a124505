"""Aligns the letters of two texts of one page whose blocks may come in another order. Torch-free.

Long runs of equal letters come first, wherever they stand; what is left between two of them is aligned by edit distance
with what is left beside their partners; at last short runs that stand only once in what is left.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import product

from rapidfuzz.distance import Levenshtein

# The least letters of a run: in all of both texts, and in what is left of them, where it must stand once.
_LONG, _SHORT = 12, 5
_MOST_PLACES = 8  # a sequence of letters in more places, such as a row of dots, is no beginning of a run
_ROOM, _MORE = 8, 1.5  # letters, and times the gap's own: how much of the seen text beside a gap is looked at
_NONE = -1

_AROUND, _DRIFT = 400, 12  # letters: how far runs that support each other are apart, and how far they shift
_OWN = 5  # how much more a run's own letters count than those of the runs that support it

May = Callable[[int, int], bool]
Run = tuple[int, int, int]


@dataclass(slots=True)
class Matches:
    """Which letter of the seen text each letter of the own text is.

    partner: for each own letter the seen one's index, -1 for none. Each seen letter has one own letter at most.
    is_same: whether both are equal; others only stand in the same place.
    """

    own: str
    seen: str
    partner: list[int] = field(init=False)
    is_same: list[bool] = field(init=False)
    is_taken: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        self.partner = [_NONE] * len(self.own)
        self.is_same = [False] * len(self.own)
        self.is_taken = [False] * len(self.seen)

    def take(self, at: int, seen: int, *, is_same: bool = True) -> None:
        """Makes two letters partners."""
        self.partner[at], self.is_same[at], self.is_taken[seen] = seen, is_same, True

    def is_free(self, at: int, seen: int) -> bool:
        """Returns whether neither of two letters has a partner."""
        return self.partner[at] == _NONE and not self.is_taken[seen]


def matched(own: str, seen: str, may: May | None = None) -> Matches:
    """Returns the alignment of two texts without white space. may: whether two letters, by index, may be partners."""
    found = Matches(own, seen)
    _take_runs(found, may or _always, _LONG, _MOST_PLACES)
    for _ in range(2):
        _fill(found, may or _always)
        _take_runs(found, may or _always, _SHORT, 1)
    _fill(found, may or _always)
    return found


def _always(at: int, seen: int) -> bool:
    return True


def _take_runs(found: Matches, may: May, least: int, places: int) -> None:
    """Makes the letters of runs partners, those with the most support first. places: how often one may begin."""
    runs = list(_runs(found, may, least, places))
    heap = [
        (-support - _OWN * length, -length, start, partner)
        for (length, start, partner), support in zip(runs, _supports(runs), strict=True)
    ]
    heapify(heap)
    while heap:
        support, size, start, partner = heappop(heap)
        free = [k for k in range(-size) if found.is_free(start + k, partner + k)]
        if len(free) < least:
            continue
        first, length = _longest(free)
        if length < -size:  # another run took some of it: the rest waits for its turn
            if length >= least:
                heappush(
                    heap, (support + (_OWN + 1) * (-size - length), -length, start + first, partner + first)
                )
            continue
        for k in range(length):
            found.take(start + k, partner + k)


def _supports(runs: Sequence[Run]) -> list[int]:
    """Returns for each run the letters of all runs that it goes on with: near it, and as far from their partners.

    So of two places with the same letters the one counts around which more of the text is the same.
    """
    cells: dict[tuple[int, int], list[Run]] = defaultdict(list)
    for run in runs:
        cells[run[1] // _AROUND, (run[1] - run[2]) // _DRIFT].append(run)
    supports = []
    for _, start, partner in runs:
        offset = start - partner
        row, column = start // _AROUND, offset // _DRIFT
        near = (
            other
            for down, across in product((-1, 0, 1), repeat=2)
            for other in cells.get((row + down, column + across), ())
        )
        supports.append(
            sum(
                length
                for length, first, second in near
                if abs(first - start) <= _AROUND and abs(first - second - offset) <= _DRIFT
            )
        )
    return supports


def _longest(numbers: Sequence[int]) -> tuple[int, int]:
    """Returns the longest stretch of consecutive numbers, (first, count)."""
    best = (numbers[0], 1)
    start, count = numbers[0], 0
    for number in numbers:
        start, count = (start, count + 1) if number == start + count else (number, 1)
        best = max(best, (start, count), key=lambda stretch: stretch[1])
    return best


def _runs(found: Matches, may: May, least: int, places: int) -> Iterator[Run]:
    """Yields the maximal runs of equal free letters, (length, start in own, start in seen)."""
    own, seen = found.own, found.seen
    where: dict[str, list[int]] = defaultdict(list)
    for j in _free_starts(found.is_taken, least):
        where[seen[j : j + least]].append(j)
    starts = list(_free_starts([partner != _NONE for partner in found.partner], least))
    own_count: dict[str, int] = defaultdict(int)
    for i in starts:
        own_count[own[i : i + least]] += 1
    for i in starts:
        gram = own[i : i + least]
        there = where.get(gram, ())
        if not there or len(there) > places or own_count[gram] > max(places, 1):
            continue
        for j in there:
            if not may(i, j):
                continue
            if i and j and own[i - 1] == seen[j - 1] and found.is_free(i - 1, j - 1) and may(i - 1, j - 1):
                before = own[i - 1 : i - 1 + least]
                if 0 < len(where.get(before, ())) <= places and own_count[before] <= max(places, 1):
                    continue  # the run began earlier
            end = 1
            while (
                i + end < len(own)
                and j + end < len(seen)
                and own[i + end] == seen[j + end]
                and found.is_free(i + end, j + end)
                and may(i + end, j + end)
            ):
                end += 1
            if end >= least:
                yield end, i, j


def _free_starts(is_taken: Sequence[bool], length: int) -> Iterator[int]:
    """Yields where so many letters that are not taken begin."""
    free = 0
    for end, taken in enumerate(is_taken, 1):
        free = 0 if taken else free + 1
        if free >= length:
            yield end - length


def _fill(found: Matches, may: May) -> None:
    """Aligns what is left between runs with what is left beside their partners."""
    own = found.own
    start = 0
    while start < len(own):
        if found.partner[start] != _NONE:
            start += 1
            continue
        end = start
        while end < len(own) and found.partner[end] == _NONE:
            end += 1
        beside = _beside(found, start, end)
        gap = "".join(found.seen[j] for j in beside)
        for step in Levenshtein.opcodes(own[start:end], gap) if beside else ():
            if step.tag not in ("equal", "replace"):
                continue
            for k in range(min(step.src_end - step.src_start, step.dest_end - step.dest_start)):
                i, j = start + step.src_start + k, beside[step.dest_start + k]
                if may(i, j):
                    found.take(i, j, is_same=step.tag == "equal")
        start = end


def _beside(found: Matches, start: int, end: int) -> list[int]:
    """Returns the indexes of the free seen letters beside the partners of a gap's neighbours, in order."""
    most = round(_MORE * (end - start)) + _ROOM
    before = found.partner[start - 1] if start else _NONE
    after = found.partner[end] if end < len(found.own) else _NONE
    behind: list[int] = []
    if before != _NONE or start == 0:
        j = before + 1
        while j < len(found.seen) and len(behind) < most and not found.is_taken[j]:
            behind.append(j)
            j += 1
    ahead: list[int] = []
    if after != _NONE or end == len(found.own):
        j = (after if after != _NONE else len(found.seen)) - 1
        while j >= 0 and len(ahead) < most and not found.is_taken[j]:
            ahead.append(j)
            j -= 1
    return (
        sorted({*behind, *ahead})
        if not behind or not ahead or behind[0] <= ahead[0]
        else [*behind, *ahead[::-1]]
    )
