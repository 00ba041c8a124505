"""Reads lines, and ends of lines, that the finder missed: where a page's ink stands in a row that no line covers.

On most pages no such ink is left. A row of it tells by itself where a line's baseline is, and how large its type; only
what is then read for sure is text: of signatures and drawings next to nothing is.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
from PIL import Image
from rapidfuzz import fuzz

from ocr.imaging.measures import DESCENT, ONE_ROW
from ocr.imaging.pieces import Piece
from ocr.imaging.profiles import Mask
from ocr.line_reader.found_lines import Box, ReadLine, Shades, TextLine, TurnedLines
from ocr.line_reader.language import strange_lines
from ocr.line_reader.levelling import View
from ocr.line_reader.line_images import normalised
from ocr.line_reader.page_ink import AS_HIGH, CAPITALS, PageInk, lines_of_ink
from ocr.line_reader.reading import LineReader
from ocr.line_reader.turned_lines import read_turned
from ocr.line_reader.unread_letters import is_hollow

# Rows are looked at, the largest first, until so many after each other are no text: pictures and pens make many, but
# few that are as high as the page's lines, and these are looked at before.
_MOST_ALIKE, _MOST_OTHERS = 40, 5
_LEAST_SHAPE = 1.5  # a row is so many times as wide as high
# More strokes than that cross a row of pixels of text, but for numbers beside a line, and so many for each time that it
# is as wide as high. Of 1,529 rows on 315 pages 525 have less; all that is text has three, and 1.0.
_FEW_STROKES, _STROKES = 2, 0.9
_TAILS = 0.1  # in type sizes: tails of letters are longer
_INK = 0.4
_MANY_PX = 100_000  # of more in a row not all tell its slope
# In type sizes: by so much at its ends a row is slanted otherwise than its page; by more than this slope no stamp is,
# nor is it a larger share of the page.
_SLANTED, _STEEP, _STAMP = 0.15, 0.7, 0.15
# Handwriting is slanted in many rows: of 11 stamps on 315 pages none is found after six that are none.
_IN_VAIN = 8
# How far from a line ink goes on at least and at most, in type sizes; once other columns' rows were read; and where the
# lines above and below go on.
_BESIDE, _BESIDE_AT_LAST, _IN_SPANNED = (0.8, 1.1), (1.6, 1.6), (2.5, 2.5)
# In type sizes: how near the lines above and below are, and how near their ends where a column ends.
_NEXT, _ALIGNED = 2.0, 0.25
# Of the page's type size: such lines may be of outlined letters; such ones cover ink only if they were read for sure.
_LARGE, _HUGE = 1.5, 8.0
# A row's line is none if more of its width than this is where lines were read.
_ON_OTHERS = 0.5
# What is read for sure is text with so many letters and digits; fewer must be surer; two do on a dark ground.
_SURE, _FEWEST, _FEW, _SURELY, _ON_GROUND = 0.9, 4, 3, 0.97, 0.9
# A number beside a line may have fewer digits: so far from it and from its baseline, and so high, in type sizes. A name
# is as near its signature.
_NEAR, _LEVEL, _DIGITS = 4.0, 0.15, (0.5, 0.95)
# A lengthened line is read so surely, by no more less surely than before, and each word that it gains so surely.
_LENGTHENED, _LESS_SURE, _GAINED = 0.85, 0.1, 0.8
# A page is doubtful for a line that was read so surely and has so many letters and digits; unless it is as much like
# one near it, per cent, as a signature is like the name below it.
_LIKELY, _LIKELY_STRANGE, _LIKE_ANOTHER = (0.75, 8), (0.85, 6), 70


def with_missed(
    ink: PageInk, darkness: Shades, found: Sequence[ReadLine], boxes: Sequence[Box], reader: LineReader
) -> tuple[list[ReadLine], list[TurnedLines], bool]:
    """Returns the lines, lengthened where ink goes on beside them, with those of rows of ink that are no line's.

    And those of stamps, and whether one more is likely text, but was not read for sure, or is of outlined letters.
    ink, darkness: of the page, darkness [H, W]. boxes: where other lines are.
    """
    if not found:
        return [], [], False
    search = _Search(
        ink=ink, darkness=darkness, boxes=boxes, reader=reader, lines=list(found),
        view=View.of(read.line for read in found), size=float(np.median([read.line.size for read in found])),
    )  # fmt: skip
    for part in filter(None, (ink.coarse, ink)):  # large type first: the finer look sees parts of it as rules
        search.look(part)
    search.lengthen(ink, _BESIDE_AT_LAST)
    sure = [read for read in search.lines if read.confidence > _SURE]
    lacks_lines = any(
        not _stands_on_others(read.line, sure) and not search.is_said(read)
        for read in filter(_is_likely, search.unsure)
    ) or any(
        read.line.size > _LARGE * search.size and read.confidence < _SURELY and is_hollow(darkness, read.line)
        for read in (*search.lines, *search.unsure)
    )
    return search.lines, search.stamps, lacks_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """A search for missed lines. view, size: of the page's lines and of its type. unsure: others that were read.

    stamps, bands: lines of stamps, level and as they stand on the page. tried: where some were looked for.
    """

    ink: PageInk
    darkness: Shades
    boxes: Sequence[Box]
    reader: LineReader
    lines: list[ReadLine]
    view: View
    size: float
    unsure: list[ReadLine] = field(default_factory=list)
    stamps: list[TurnedLines] = field(default_factory=list)
    bands: list[ReadLine] = field(default_factory=list)
    tried: list[bool] = field(default_factory=list)

    def look(self, ink: PageInk) -> None:
        """Reads the rows of ink outside lines, and where these go on."""
        if ink.coarse is not None:
            self.lengthen(ink, _BESIDE)
        outside = self._outside(ink)
        groups = ink.rows(outside, self.size, self.view)
        for rows, most in zip(groups, (_MOST_ALIKE, _MOST_OTHERS), strict=True):
            num_unread = 0
            for row in rows:
                if num_unread == most:
                    break
                is_beside = _is_beside(ink.on_page(row), self.lines)
                if row.width < _LEAST_SHAPE * row.height and not is_beside:
                    continue
                num_unread += 1
                ground = ink.on_grounds[row.y0 : row.y1, row.x0 : row.x1]
                fewest = _FEW - bool(np.count_nonzero(ground) > _ON_GROUND * row.ink)
                shown = self._read(row, ink, outside) if _has_strokes(row, outside, is_beside) else ()
                for read in (it for it in shown if not _stands_on_others(it.line, self.lines)):
                    if not _is_sure(read, is_beside, fewest):
                        self.unsure.append(read)
                        continue
                    num_unread = 0
                    self.lines.append(read)
                    while self._take(len(self.lines) - 1, *self._spanned(self.lines[-1])):
                        pass  # further on others stand above and below

    def lengthen(self, ink: PageInk, most: tuple[float, float]) -> None:
        """Lengthens the lines beside which ink goes on in their column, with no more white between."""
        outside = self._outside(ink)
        for number, before in enumerate(self.lines):
            line = before.line
            left, right = ink.goes_on(outside, before, self.view.slope_at(line.middle), most)
            is_text = bool(before.text.strip()) and (left < line.left or right > line.right)
            if is_text and self._take(number, *self._in_column(line, left, right)):
                outside = self._outside(ink)  # what it has gained is no other's

    def _take(self, number: int, left: int, right: int) -> bool:
        """Reads a line from further left or to further right, and returns whether more is read so."""
        before = self.lines[number]
        if left == before.line.left and right == before.line.right:
            return False
        longer = before.line.between(left, right, self.view.slope_at(before.line.middle))
        for again in self.reader.read(self.darkness, [longer]):
            if _is_more(again, before):
                ends = round(again.words[0].left), round(again.words[-1].right)
                self.lines[number] = replace(again, line=longer.between(*ends))
                return True
        return False

    def _next_to(self, line: TextLine) -> list[TextLine]:
        """Returns the nearest lines in rows above and below one."""
        return [
            read.line
            for read in self.lines
            if ONE_ROW * line.size < abs(read.line.middle - line.middle) < _NEXT * line.size
            and max(read.line.left, line.left) < min(read.line.right, line.right)
        ]

    def _in_column(self, line: TextLine, left: int, right: int) -> tuple[int, int]:
        """Returns these ends, or a line's own where its column ends, as rows around tell, and another one begins."""
        near, apart = self._next_to(line), _ALIGNED * line.size
        around = [it.line for it in self.lines if abs(it.line.middle - line.middle) < _NEAR * line.size]
        if near and abs(min(its.left for its in near) - line.left) < apart:
            left = line.left if any(left < its.right <= line.left for its in around) else left
        if near and abs(max(its.right for its in near) - line.right) < apart:
            right = line.right if any(line.right <= its.left < right for its in around) else right
        return left, right

    def _spanned(self, read: ReadLine) -> tuple[int, int]:
        """Returns the ends of the lines above and below one, or of ink beside it, but for others in its row."""
        line, near = read.line, self._next_to(read.line)
        if not near:
            return line.left, line.right
        slope = self.view.slope_at(line.middle)
        left, right = self.ink.goes_on(self._outside(self.ink), read, slope, _IN_SPANNED)
        left, right = min(left, *(its.left for its in near)), max(right, *(its.right for its in near))
        for its in (other.line for other in self.lines):
            if abs(its.middle - line.middle) < ONE_ROW * min(its.size, line.size):
                left = max(left, its.right) if its.left < line.left else left
                right = min(right, its.left) if its.right > line.right else right
        return min(line.left, left), max(line.right, right)

    def _outside(self, ink: PageInk) -> Mask:
        """Returns the ink outside the lines, of which pictures that were read as a huge letter are none."""
        lines = (*self.lines, *self.bands)
        sure = (it for it in lines if it.line.size < _HUGE * self.size or it.confidence > _SURE)
        return ink.outside((read.line for read in sure if read.text.strip() or read.is_rule), self.boxes)

    def _read(self, row: Piece, ink: PageInk, outside: Mask) -> list[ReadLine]:
        """Returns what is read in a row, whether of small letters or of capitals, or as a stamp is; none of specks."""
        slope = self.view.slope_at((row.y0 + row.y1) / 2 / ink.scale)
        part = slice(max(0, row.y0 - 1), row.y1 + 1), slice(max(0, row.x0 - 1), row.x1 + 1)
        top, foot, left, right = (round(side / ink.scale) for it in part for side in (it.start, it.stop))
        window = self.darkness[top:foot, left:right]
        others = Image.fromarray(ink.text[part] & ~outside[part]).resize(window.shape[::-1])
        inked = (normalised(window) > _INK) & ~np.asarray(others)
        own, found = _slope_of(inked), list[ReadLine]()
        may_be_slanted = abs(own) < _STEEP and window.size < _STAMP * self.darkness.size
        is_slanted = may_be_slanted and abs(own - slope) * row.width > _SLANTED * self.size * ink.scale
        for at in (slope, own) if is_slanted else (slope,):
            if any(map(_is_sure, found)):
                break
            if at == own and self._is_stamp(left, top, window, own):
                return []
            shown = lines_of_ink(inked, left, top, at)
            lines = sorted(shown, key=lambda it: abs(math.log(it.size / self.size)))
            if lines and (row.height - abs(at) * row.width) / ink.scale < AS_HIGH[1] * self.size:
                lines.append(_below_ascenders(lines[0], row.y0 / ink.scale, at, self.size))
            for line in lines:
                read = self.reader.read(self.darkness, [line])
                found += filter(_is_sure, read) if at != slope else read  # or a signature, perhaps
                if found and found[-1].confidence > _SURELY and found[-1].num_letters >= _FEWEST:
                    return [_above_tails(found[-1], row.y1 / ink.scale)]
                if not any(its.num_letters for its in read):
                    break  # what shows no letter in the most likely size has none
        return sorted(found, key=lambda read: -read.confidence)[:1]

    def _is_stamp(self, left: int, top: int, window: Shades, slope: float) -> bool:
        """Returns whether lines are read for sure in a part of the page that is slanted as a stamp is: they are kept.

        window: the part, [h, w] from (left, top) on.
        """
        if len(self.tried) >= _IN_VAIN and not any(self.tried[-_IN_VAIN:]):
            return False
        beside = round(self.size)  # the finder needs paper around print
        window = np.pad(window, beside, constant_values=np.median(window))
        found = read_turned(window, -math.degrees(math.atan(slope)), self.reader, self.darkness)
        found = replace(found, left=left - beside, top=top - beside)
        there = [replace(read, line=_slanted(found, read.line)) for read in found.lines]
        is_new = [_is_sure(band) and not self.is_said(band) for band in there]
        sure, bands = (tuple(compress(lines, is_new)) for lines in (found.lines, there))
        if bands and not any(_stands_on_others(band.line, self.bands) for band in bands):
            self.stamps.append(replace(found, lines=sure))
            self.bands.extend(bands)
            self.unsure.extend(band for band in there if not _is_sure(band))
            self.lines[:] = [read for read in self.lines if not _stands_on_others(read.line, bands)]
        self.tried.append(bool(bands))
        return bool(bands)

    def is_said(self, read: ReadLine) -> bool:
        """Returns whether a line near one says the same and more, as what is printed below a signature."""
        return any(
            max(alike(read.text, other.text) for alike in (fuzz.ratio, fuzz.partial_ratio)) > _LIKE_ANOTHER
            and read.num_letters <= other.num_letters
            and abs(read.line.middle - other.line.middle) < _NEAR * max(read.line.size, other.line.size)
            for other in self.lines
        )


def _slanted(stamp: TurnedLines, line: TextLine) -> TextLine:
    """Returns a stamp's line on the page as it stands."""
    points = ((x, line.middle, x, line.middle) for x in (line.left, line.right))
    (left, top, *_), (right, foot, *_) = map(stamp.as_it_stands, points)
    ends = round(left), max(round(left) + 1, round(right))
    baseline = np.linspace(top, foot, ends[1] - ends[0], dtype=np.float32)
    return replace(line, left=ends[0], right=ends[1], baseline=baseline)


def _slope_of(ink: Mask) -> float:
    """Returns by how much ink goes down a pixel to the right along its longer axis."""
    every = 1 + ink.size // _MANY_PX
    y, x = np.nonzero(ink[::every, ::every])
    (across, both), (_, down) = np.cov(x, y) if len(x) > 1 else np.zeros((2, 2))
    return math.tan(math.atan2(2 * both, across - down) / 2)


def _below_ascenders(line: TextLine, top: float, slope: float, size: float) -> TextLine:
    """Returns a row's line in the page's type size if ascenders or capitals begin at its top, whatever is below it."""
    across = np.arange(line.right - line.left) - (line.right - line.left) / 2
    first = top + abs(slope) * len(across) / 2 + CAPITALS[0] * size
    return replace(line, baseline=(first + slope * across).astype(np.float32), size=size)


def _above_tails(read: ReadLine, foot: float) -> ReadLine:
    """Returns a line whose letters' tails, which end at a row's foot, were taken for parts of small letters."""
    line, high = read.line, CAPITALS[0] * read.line.size
    if line.baseline.max() + _TAILS * line.size < foot or not set("gjpqy").intersection(read.text):
        return read
    size = high / (CAPITALS[0] + DESCENT)
    return replace(read, line=replace(line, baseline=line.baseline - np.float32(DESCENT * size), size=size))


def _stands_on_others(line: TextLine, lines: Iterable[ReadLine]) -> bool:
    """Returns whether a row's line is where lines were read: ink such as a sheet's edge may reach around them."""
    on_others = 0
    for other in (read.line for read in lines if read.text.strip()):
        left, right = max(line.left, other.left), min(line.right, other.right)
        if left < right:
            base, its = (it.baseline[(left + right) // 2 - it.left] for it in (line, other))
            on_others += (right - left) * (abs(base - its) < ONE_ROW * min(line.size, other.size))
    return bool(on_others > _ON_OTHERS * (line.right - line.left))


def _is_more(longer: ReadLine, before: ReadLine) -> bool:
    """Returns whether a lengthened line was read as surely, with more letters, none of them a pen's or a stamp's."""
    least, line = max(_LENGTHENED, before.confidence - _LESS_SURE), before.line
    gained = (word for word in longer.words if word.left < line.left or word.right > line.right)
    return (
        longer.confidence > least
        and longer.num_letters > before.num_letters
        and all(word.confidence > _GAINED for word in gained if any(map(str.isalnum, word.text)))
    )


def _has_strokes(row: Piece, outside: Mask, is_beside: bool) -> bool:
    """Returns whether ink in a row may be letters, by how many strokes a row of its pixels crosses."""
    part = outside[row.y0 : row.y1, row.x0 : row.x1]
    num = int(np.count_nonzero(np.diff(part, prepend=False, append=False), axis=1).max(initial=0)) // 2
    return num > _FEW_STROKES * (not is_beside) and num * row.height >= _STROKES * row.width


def _is_beside(row: Box, lines: Iterable[ReadLine]) -> bool:
    """Returns whether a row stands beside a line and is as high as its digits, as a number with what it counts."""
    x0, y0, x1, y1 = row
    return any(
        abs(read.line.middle - y1) < _LEVEL * read.line.size
        and max(read.line.left - x1, x0 - read.line.right) < _NEAR * read.line.size
        and _DIGITS[0] * read.line.size < y1 - y0 < _DIGITS[1] * read.line.size
        for read in lines
        if read.confidence > _SURE
    )


def _is_sure(read: ReadLine, is_beside: bool = False, fewest: int = _FEW) -> bool:
    if is_beside and "".join(filter(str.isalnum, read.text)).isdecimal():
        return read.confidence > _SURELY
    least = _SURE if read.num_letters >= _FEWEST else _SURELY
    return read.confidence > least and read.num_letters >= fewest and not strange_lines([read])


def _is_likely(read: ReadLine) -> bool:
    """Returns whether an unsure line is text more likely than not: by its letters, or though they are strange."""
    if read.confidence > _SURE and len(set(filter(str.isdigit, read.text))) >= _FEW:
        return True  # a number, and no markers of a chart
    is_strange = bool(strange_lines([replace(read, confidence=1.0, words=())]))
    least, fewest = _LIKELY_STRANGE if is_strange else _LIKELY
    return read.confidence > least and read.num_letters >= fewest
