"""Tells the levels of a document's headings, by their sizes over all of its pages and by their numbers.

A page alone cannot: its largest heading may be a chapter's or a paragraph's. Sizes are clustered over the document,
numbers (1, 1.1, 1.1.1) say which of these are above which, and short lines that have a heading's size, number or entry
in the contents are headings too. Only headings are kept, and what may be one: pages are looked at one by one.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from storage.export.rows import BlockRow, PageRow
from storage.types import WordRow

HEADINGS = {"title": 1, "sub_title": 2}
DEEPEST, RUNNING_HEAD, ENTRY = 6, 0, -1
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,5})\.?\s+[^\W\d_]")
_NAMED = re.compile(r"([^\W\d_]{3,})\s+(?:\d{1,3}|[IVXLC]{1,6}|[A-Z])\b")
_ENTRY = re.compile(r"(.*?\S)\s*(?:(?:[.·…_]\s?){3,}|\t)\s*(?:\d{1,4}|[ivxlc]{1,7})")
_PAGE_NUMBER = re.compile(r"\s(?:\d{1,4}|[ivxlc]{1,7})\Z")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,60}>|\]\([^()\s]*\)|[\W_]")
_BEGINS, _GOES_ON = re.compile(r"[^\W_]"), re.compile(r"[.,;:…-]$")
_LONGEST, _LONGEST_LINE, _MOST_LINES, _MOST_ENTRIES = 120, 300, 2, 10_000
_LINE_PITCH = 1.2  # of a line's height, from one to the next
# Sizes are counted in steps of 2%. A cluster reaches so many of them from its middle; a rare size so near a common one
# is that one, measured badly, and so rare a number says nothing. Larger than the text by so much is large.
_STEP, _REACH, _NEAR, _RARE = math.log(1.02), 4, 5, 0.2
_LARGE = 1.1
# So many entries are a table of contents. What is so much smaller than the same text elsewhere repeats it. A title is
# so many steps larger than all headings, more where none is numbered. The first headings may have sizes of their own.
_FEW, _LARGER, _TITLE, _TITLE_ALONE, _FIRST = 3, 1.3, 2, 5, 2
_POINTS = 10.0  # the size of the text where nothing says how large a page is


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """What is, or may be, a heading. key: its letters. size: in points. style: its number's depth, or a word.

    entry: its letters without the number of a page at its end, "" if there is none.
    """

    page: int
    key: str
    entry: str
    size: float
    style: int | str | None
    is_heading: bool
    is_large: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The headings of a document. levels: page number -> letters of a heading -> its level, from 1.

    RUNNING_HEAD and ENTRY, a line of the contents, are the levels of what repeats a heading and is none.
    """

    levels: Mapping[int, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[PageRow]) -> "Outline":
        """Returns the outline of a document's pages; they need words for the sizes of headings to be exact."""
        entries: dict[str, int] = {}  # letters of an entry -> the page of the contents
        largest: dict[str, float] = {}  # letters of a heading -> its size where it is largest
        found: list[_Candidate] = []
        for row in rows:
            for one in _candidates(row, entries, largest):
                largest[one.key] = max(one.size, largest.get(one.key, 0.0))
                found.append(one)
        listed = Counter(one.page for one in found if one.entry and one.entry in largest)

        def repeated(one: _Candidate) -> int | None:
            if one.entry and (one.entry in entries or (one.entry in largest and listed[one.page] >= _FEW)):
                return ENTRY
            return RUNNING_HEAD if one.size * _LARGER < largest[one.key] else None

        named = {one.style for one in found if one.is_heading and isinstance(one.style, str)}
        alike = (one for one in found if one.is_heading or one.style in named)  # "Section 3", too
        ranks = _Ranks.of([one for one in alike if one.size > 0 and repeated(one) is None])
        levels: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for one in found:
            if (level := repeated(one)) is not None:
                levels[one.page].setdefault(one.key, level)
            elif one.is_heading or ranks.has(one) or entries.get(one.key, one.page) != one.page:
                levels[one.page][one.key] = ranks.level(one)
        return cls(levels=dict(levels))

    def level(self, page: int, text: str) -> int | None:
        """Returns the level of a text on a page; None for what is no heading, and repeats none."""
        own = self.levels.get(page)
        return own.get(letters(text)) if own else None


def letters(text: str) -> str:
    """Returns the letters and digits of a text or of its markdown, in small letters."""
    return _MARKUP.sub("", text).casefold()


def block_words(row: PageRow) -> list[list[WordRow]]:
    """Returns the words of each block; empty lists where those of the page are not known, or another text's."""
    lengths = [len(block["text"].split()) for block in row["blocks"]]
    if sum(lengths) != len(row["words"]):
        return [[] for _ in lengths]
    left = iter(row["words"])
    return [[next(left) for _ in range(length)] for length in lengths]


def _candidates(row: PageRow, entries: dict[str, int], headings: Container[str]) -> Iterator[_Candidate]:
    blocks = [
        (one, line_height(one, words)) for one, words in zip(row["blocks"], block_words(row), strict=True)
    ]
    body = body_height([(height, len(block["text"])) for block, height in blocks if block["label"] == "text"])
    dpi = row["dpi"]
    scale = 72 / dpi if dpi else _POINTS / body if body else 0.0
    for block, height in blocks:
        text = block["text"]
        for line in text.split("\n") if len(entries) < _MOST_ENTRIES else ():
            if len(line) <= _LONGEST_LINE and (entry := _ENTRY.fullmatch(line)) is not None:
                entries.setdefault(letters(entry[1]), row["page"])
        is_heading = block["label"] in HEADINGS and any(map(str.isalpha, text))
        if not is_heading and not (block["label"] == "text" and _may_be_heading(text)):
            continue
        key, style, is_large = letters(text), _style(text), height > _LARGE * body
        if is_heading or is_large or style is not None or key in entries or key in headings:
            yield _Candidate(
                page=row["page"],
                key=key,
                entry=letters(text[: ending.start()]) if (ending := _PAGE_NUMBER.search(text)) else "",
                size=height * scale,
                style=style,
                is_heading=is_heading,
                is_large=is_large,
            )


def _may_be_heading(text: str) -> bool:
    if len(text) > _LONGEST or text.count("\n") >= _MOST_LINES or "\t" in text or _GOES_ON.search(text):
        return False
    first = _BEGINS.match(text)
    return first is not None and not first[0].islower() and any(map(str.isalpha, text))


def _style(text: str) -> int | str | None:
    if (number := _NUMBERED.match(text)) is not None:
        return number[1].count(".") + 1
    named = _NAMED.match(text)
    return None if named is None else named[1].casefold()


def line_height(block: BlockRow, words: Sequence[WordRow]) -> float:
    """Returns how high its lines are, in pixels, ascenders and descenders included; 0 if that is not known."""
    heights = [word["box"][3] - word["box"][1] for word in words if word["box"] is not None]
    if heights:
        return float(median(heights))
    box, num_lines = block["box"], block["text"].count("\n") + 1
    return 0.0 if box is None else (box[3] - box[1]) / (1 + _LINE_PITCH * (num_lines - 1))


def body_height(heights: Iterable[tuple[float, int]]) -> float:
    """Returns the height of most of a page's text. heights: with the number of characters of each."""
    ordered = sorted(heights)
    half = sum(length for _, length in ordered) / 2
    for height, length in ordered:
        half -= length
        if half <= 0:
            return height
    return 0.0


@dataclass(slots=True, kw_only=True)
class _Ranks:
    """Sizes and styles of headings -> levels. middles: of the clusters of sizes, in steps, the largest first."""

    middles: list[int]
    levels: dict[tuple[int, int | str | None], int] = field(default_factory=dict)
    base: int | None = None  # the level of what has one number

    @classmethod
    def of(cls, found: Sequence[_Candidate]) -> "_Ranks":
        """found: headings, in order, whose size is known."""
        title = found[0] if found and found[0].style is None else None
        counts = Counter(_steps(one.size) for one in found if one is not title)
        middles = _middles(counts, [_steps(one.size) for one in found[:_FIRST]])
        apart = _TITLE_ALONE if all(one.style is None for one in found) else _TITLE
        if title is not None and all(_steps(title.size) >= middle + apart for middle in middles):
            middles = [_steps(title.size), *middles]
        ranks = cls(middles=middles)
        ranks._rank(found)
        return ranks

    def _rank(self, own: Sequence[_Candidate]) -> None:
        groups: defaultdict[int, Counter[int | str | None]] = defaultdict(Counter)
        for one in own:
            groups[self._cluster(one.size)[0]][one.style] += 1
        numbered = Counter(one.style for one in own if isinstance(one.style, int))
        least = min((depth for depth in numbered if numbered[depth] >= _RARE * numbered.total()), default=1)
        above = number_above = 0
        for cluster, styles in sorted(groups.items()):
            number = styles.total()
            depths = [style for style in styles if isinstance(style, int) and styles[style] >= _RARE * number]
            if least in depths and self.base is None:
                self.base = above + 2 - least
            if depths and self.base is not None:
                first = self.base + min(depths) - 1
            else:  # "Chapter 1" stands above the chapter's name, smaller
                is_label = None not in styles and 2 * number_above >= number and above > 0
                first = above + (not is_label)
            for style in (None, *styles):
                level = self.base + style - 1 if isinstance(style, int) and self.base is not None else first
                self.levels[cluster, style] = max(1, min(level, DEEPEST))
            above, number_above = max(above, self.levels[cluster, None]), number

    def has(self, one: _Candidate) -> bool:
        """Returns whether other headings are like it: as large, where that is large, or numbered so."""
        if one.is_large and one.size > 0 and self._cluster(one.size)[1]:
            return True
        is_telling = isinstance(one.style, str) or (isinstance(one.style, int) and one.style > 1)
        return is_telling and any(style == one.style for _, style in self.levels)

    def level(self, one: _Candidate) -> int:
        """Returns the level of a heading."""
        if isinstance(one.style, int) and self.base is not None:
            return max(1, min(self.base + one.style - 1, DEEPEST))
        if not self.middles or one.size <= 0:
            return 1
        cluster, is_near = self._cluster(one.size)
        known = self.levels.get((cluster, one.style), self.levels.get((cluster, None), 1))
        is_below = not is_near and _steps(one.size) < self.middles[cluster]
        return min(known + is_below, DEEPEST)

    def _cluster(self, size: float) -> tuple[int, bool]:
        """Returns the cluster whose middle is the nearest, and whether the size is within its reach."""
        steps = _steps(size)
        cluster = min(range(len(self.middles)), key=lambda at: abs(self.middles[at] - steps), default=0)
        return cluster, bool(self.middles) and abs(self.middles[cluster] - steps) <= _REACH


def _steps(size: float) -> int:
    return round(math.log(size) / _STEP)


def _middles(counts: Counter[int], first: Sequence[int]) -> list[int]:
    """Returns the middles of clusters of sizes, the largest first. counts: size in steps -> headings.

    A size that one heading alone has counts where that is one of the first ones, or smaller than all others.
    """
    left, found = Counter(counts), dict[int, int]()

    def near(middle: int, reach: int) -> int:
        return sum(left[middle + apart] for apart in range(-reach, reach + 1))

    while left:
        middle = max(left, key=lambda steps: (near(steps, 1), near(steps, _REACH - 1), left[steps]))
        number = near(middle, _REACH)
        if not any(
            abs(middle - other) <= _NEAR and number <= max(1, _RARE * found[other]) for other in found
        ):
            found[middle] = number
        left = Counter({steps: many for steps, many in left.items() if abs(steps - middle) > _REACH})
    common = [middle for middle, number in found.items() if number > 1]
    kept = [
        middle for middle in found if found[middle] > 1 or middle in first or middle < min(common, default=0)
    ]
    return sorted(kept or found, reverse=True)
