"""Gives the words of a text the boxes of words that were seen on its page by other means. Torch-free.

What was seen (a PDF's own text, or what a line reader reads) may be wrong, in another order, and split otherwise. A
word that is not found among it has no box, unless it stands between two that are, and as much was seen there.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rapidfuzz.distance import LCSseq

from ocr.transcript.matched_letters import Matches, May, matched
from ocr.types import Block, ParsedText, Word

BoxPx = tuple[int, int, int, int]

_ENOUGH = 0.6  # the least share of a word's letters that are found
_SHORT = 2  # letters, all of which must be found
_IN_ONE_LINE = 0.4  # and of those in the line of most, for a word that goes on in the next line
_STRAY = 0.34  # a seen word of which less is found, and that makes up less of the word, is another's
_ALIKE = 2.5  # the most that the numbers of letters of a word and of its place differ by, as a factor
_MOST_BETWEEN = 4  # words between two that are found
_SAME_LINE = 0.5  # of the lower one's height: words that overlap by as much are in one line
_NARROW = 0.06  # of its height: less than a full stop's width is no place
_MARGIN = 0.012  # of the page's longer side: how far a word's middle may be outside its region
_MARKS = frozenset("*#|_`~$\\{}<>")  # of markdown and LaTeX
_ALIKE_SIGNS = str.maketrans(
    {"’": "'", "‘": "'", "‚": ",", "“": '"', "”": '"', "„": '"'}
    | dict.fromkeys("–—−‐‑", "-")
    | dict.fromkeys("•◦▪●·", "*")
)


@dataclass(frozen=True, slots=True)
class _Letters:
    """The letters of words, as they are compared: text, and for each the number of its word."""

    text: str
    owners: Sequence[int]
    spans: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, words: Sequence[str]) -> "_Letters":
        pieces = [_compared(word) for word in words]
        owners = [number for number, piece in enumerate(pieces) for _ in piece]
        spans, end = [], 0
        for piece in pieces:
            spans.append((end, end + len(piece)))
            end += len(piece)
        return cls("".join(pieces), owners, spans)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a word stands: its box, and the numbers of the first and the last seen word that it lies on."""

    box: BoxPx
    first: int
    last: int


def with_seen_words(parsed: ParsedText, seen: Sequence[Word], longer_px: int) -> ParsedText:
    """Returns the text with the boxes of its words; unchanged where it has places of words, or none has a box.

    seen: the page's words, lines in any order. longer_px: the page's longer side. A word of a block with a box of its
    own lies in that box.
    """
    names = parsed.text.split()
    shown = [(word.text, word.box_px) for word in seen if word.box_px is not None]
    if parsed.words or not names or not shown:
        return parsed
    regions = _regions(names, parsed.blocks)
    boxes = boxes_among(names, shown, regions, margin_px=round(_MARGIN * longer_px))
    if not any(boxes):
        return parsed
    words = (Word(text=name, box_px=box) for name, box in zip(names, boxes, strict=True))
    return replace(parsed, words=tuple(words))


def boxes_among(
    names: Sequence[str],
    seen: Sequence[tuple[str, BoxPx]],
    regions: Sequence[BoxPx | None] | None = None,
    margin_px: int = 0,
) -> list[BoxPx | None]:
    """Returns for each word the box in which it was seen, None where it was not.

    seen: words with their boxes, those of a line from left to right. regions: for each word a box that its middle lies
    in, give or take margin_px, None where any place will do.
    """
    own, theirs = _Letters.of(names), _Letters.of([text for text, _ in seen])
    boxes = [box for _, box in seen]
    found = matched(own.text, theirs.text, _within(own, theirs, boxes, regions, margin_px))
    lines = _lines(boxes)
    places = _Places(own, theirs, boxes, lines, found)
    known = [places.of(number) for number in range(len(names))]
    for number, place in _between(own, theirs, boxes, lines, known):
        if regions is None or _lies_in(place.box, regions[number], margin_px):
            known[number] = place
    return [None if place is None else place.box for place in known]


def _compared(word: str) -> str:
    """Returns a word's letters as they are compared: without capitals, marks and the finer points of signs."""
    plain = unicodedata.normalize("NFKC", word.translate(_ALIKE_SIGNS)).casefold()
    return "".join(letter for letter in plain if letter not in _MARKS and not letter.isspace()) or plain


def _regions(names: Sequence[str], blocks: Sequence[Block]) -> list[BoxPx | None] | None:
    """Returns for each word the box of its block; None for words of blocks without one. None if no block has one."""
    if not any(block.box_px for block in blocks):
        return None
    written = [(_compared(word), block.box_px) for block in blocks for word in block.text.split()]
    found: list[BoxPx | None] = [None] * len(names)
    own = [_compared(name) for name in names]
    for step in LCSseq.opcodes([word for word, _ in written], own):
        if step.tag == "equal":
            found[step.dest_start : step.dest_end] = [
                box for _, box in written[step.src_start : step.src_end]
            ]
    return found


def _within(
    own: _Letters,
    theirs: _Letters,
    boxes: Sequence[BoxPx],
    regions: Sequence[BoxPx | None] | None,
    margin_px: int,
) -> May | None:
    """Returns what tells whether an own letter may be a seen one, by their regions; None where each may."""
    if regions is None:
        return None
    kept = {
        region: [_lies_in(boxes[number], region, margin_px) for number in theirs.owners]
        for region in set(regions)
    }
    rows = [kept[regions[number]] for number in own.owners]
    return lambda at, seen: rows[at][seen]


def _lies_in(box: BoxPx, region: BoxPx | None, margin_px: int) -> bool:
    if region is None:
        return True
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    left, top, right, bottom = region
    return left - margin_px <= x <= right + margin_px and top - margin_px <= y <= bottom + margin_px


def _lines(boxes: Sequence[BoxPx]) -> list[int]:
    """Returns the number of each word's line: one that is right of the one before, at its height, goes on with it."""
    lines: list[int] = []
    for number, (x0, y0, _, y1) in enumerate(boxes):
        line = 0
        if number:
            before = boxes[number - 1]
            height = min(y1 - y0, before[3] - before[1])
            overlaps = min(y1, before[3]) - max(y0, before[1]) >= _SAME_LINE * height
            line = lines[-1] + (not overlaps or x0 < before[0])
        lines.append(line)
    return lines


@dataclass(frozen=True, slots=True)
class _Places:
    """Makes boxes of matched letters."""

    own: _Letters
    theirs: _Letters
    boxes: Sequence[BoxPx]
    lines: Sequence[int]
    found: Matches

    def of(self, number: int) -> _Place | None:
        """Returns where a word stands; None where too few of its letters were found."""
        start, end = self.own.spans[number]
        partners, equal = self.found.partner[start:end], self.found.is_same[start:end]
        same, length = sum(equal), end - start
        if same < _ENOUGH * length or (length <= _SHORT and same < length):
            return None
        hits = sorted(j for j in partners if j >= 0)
        count = Counter(self.theirs.owners[j] for j in hits)
        kept = self._together(count, length)
        same = sum(
            is_same and self.theirs.owners[j] in kept for j, is_same in zip(partners, equal, strict=True)
        )
        hits = [j for j in hits if self.theirs.owners[j] in kept]
        if not hits or same < max(_IN_ONE_LINE * length, _ENOUGH * (hits[-1] - hits[0] + 1)):
            return None
        x0, x1 = self._edges(number, hits)
        tops, bottoms = zip(*((self.boxes[seen][1], self.boxes[seen][3]) for seen in kept), strict=True)
        box = round(x0), min(tops), round(x1), max(bottoms)
        return _Place(box, kept[0], kept[-1]) if _is_place(box) else None

    def _together(self, count: Counter[int], length: int) -> list[int]:
        """Returns those of the seen words that stand side by side in one line and have most of the letters."""
        held = [
            seen
            for seen in sorted(count)
            if count[seen] >= _STRAY * len(range(*self.theirs.spans[seen])) or count[seen] >= _STRAY * length
        ]
        groups = (
            [seen for _, seen in group]
            for _, group in groupby(enumerate(held), lambda at: (at[1] - at[0], self.lines[at[1]]))
        )
        return max(groups, key=lambda group: sum(count[seen] for seen in group), default=[])

    def _edges(self, number: int, hits: Sequence[int]) -> tuple[float, float]:
        """Returns the left and right edge of a word: whole seen words, cut where another word has a part of them."""
        first, last = hits[0], hits[-1]
        begin, _ = self.theirs.spans[self.theirs.owners[first]]
        _, end = self.theirs.spans[self.theirs.owners[last]]
        if not self._is_others(range(begin, first)):
            first = begin
        if not self._is_others(range(last + 1, end)):
            last = end - 1
        return self._edge(first, 0), self._edge(last, 1)

    def _is_others(self, letters: range) -> bool:
        """Returns whether any of these seen letters, which are not the word's, is another word's."""
        return any(self.found.is_taken[j] for j in letters)

    def _edge(self, letter: int, side: int) -> float:
        owner = self.theirs.owners[letter]
        start, end = self.theirs.spans[owner]
        x0, _, x1, _ = self.boxes[owner]
        return x0 + (x1 - x0) * (letter - start + side) / (end - start)


def _between(
    own: _Letters,
    theirs: _Letters,
    boxes: Sequence[BoxPx],
    lines: Sequence[int],
    known: Sequence[_Place | None],
) -> Iterator[tuple[int, _Place]]:
    """Yields words that were not found, between two of one line that were, with the places of what was seen there."""
    taken = {seen for place in known if place for seen in range(place.first, place.last + 1)}
    start = 0
    for end, after in enumerate(known):
        if after is None:
            continue
        before = known[start - 1] if start else None
        numbers, start = range(start, end), end + 1
        if (
            before is None
            or not 0 < len(numbers) <= _MOST_BETWEEN
            or lines[before.last] != lines[after.first]
        ):
            continue
        there = range(before.last + 1, after.first)
        if not there or any(seen in taken for seen in there):
            continue
        if len(there) == len(numbers):
            for number, seen in zip(numbers, there, strict=True):
                if _is_alike(own.spans[number], theirs.spans[seen]) and _is_place(boxes[seen]):
                    yield number, _Place(boxes[seen], seen, seen)
        elif len(numbers) == 1 and _is_alike(
            own.spans[numbers[0]], (theirs.spans[there[0]][0], theirs.spans[there[-1]][1])
        ):
            tops, bottoms = zip(*(boxes[seen][1::2] for seen in there), strict=True)
            box = boxes[there[0]][0], min(tops), boxes[there[-1]][2], max(bottoms)
            yield numbers[0], _Place(box, there[0], there[-1])


def _is_place(box: BoxPx) -> bool:
    """Returns whether something can be written in a box."""
    x0, y0, x1, y1 = box
    return x1 - x0 >= max(1, _NARROW * (y1 - y0))


def _is_alike(span: tuple[int, int], other: tuple[int, int]) -> bool:
    """Returns whether two stretches are of about as many letters."""
    short, long = sorted((span[1] - span[0], other[1] - other[0]))
    return long <= _ALIKE * short
