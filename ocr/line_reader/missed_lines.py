"""Reads lines, and ends of lines, that the finder missed: where a page's ink stands in a row that no line covers.

On most pages no such ink is left. A row of it tells by itself where a line's baseline is, and how large its type; only
what is then read for sure is text: of signatures, stamps and drawings next to nothing is.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.views import UInt8Array
from ocr.imaging.ink import find_ink, long_runs
from ocr.imaging.measures import ASCENT, DESCENT, ONE_ROW
from ocr.imaging.pieces import Piece, pieces
from ocr.imaging.profiles import Mask
from ocr.imaging.quantiles import quantiles
from ocr.line_reader.found_lines import Box, Floats, ReadLine, TextLine
from ocr.line_reader.language import strange_lines
from ocr.line_reader.levelling import View
from ocr.line_reader.line_images import normalised
from ocr.line_reader.reading import LineReader
from ocr.paragraphs.line_tables import Rule

# Pages are analysed with about so many pixels, A4 at 90 dpi: pen strokes are two of them wide, and it takes some 15 ms.
# Of strips, which are so many times as long as wide, that holds for each such part.
_ANALYSIS_PX, _STRIP = 750_000, 4
# A quarter as high and as wide, for type that is higher than so many of its pixels.
_COARSE_PX, _COARSE_LEAST_PX = _ANALYSIS_PX // 16, 7
# Less ink than this share of the page is a mark or two. On 461 photographs and drawings without print more than this
# share is picture, or the paper is darker than this, or less is ink; on 13 handwritten pages none of these.
_LEAST_INK, _MOST_PICTURE, _LEAST_PAPER = 0.008, 0.03, 150
_THICK_PX, _SLANT = 8, 0.05  # of the analysis: what is thicker is no rule, nor what is higher for its width
# Around a line, in pixels of the analysis: specks and the ends of letters.
_AROUND_PX = 2
# The same: white within a word, and the least height and width of what may be a letter.
_GAP_PX, _LEAST_PX = 3, 3
# Of a page whose lines slope by more than so much over its width, rules are so long, and such a share of the width.
_LEVEL_PX, _RULE_PX, _RULE_SHARE = 3, 40, 1 / 24
_SPARSE = 0.05  # frames and strokes of a pen have less ink in their bounds than type
# Rows are looked at, the largest first, until so many after each other are no text: pictures and pens make many, but
# few that are as high as the page's lines, in type sizes, and these are looked at before.
_MOST_ALIKE, _MOST_OTHERS, _MOST_PIECES, _AS_HIGH = 40, 5, 400, (0.35, 1.5)
# Levels by which a plain ground differs from its middle shade, marks twice as much; a bar code has less ground.
_ON_GROUND, _LEAST_GROUND = 20, 0.72
# Of pieces in one row: white between them, in heights of the lower one or in type sizes of the page; the height that
# they share, of the lower one; how many times as high as the other one is at most, but for points and dashes.
_APART, _SHARED_HEIGHT, _ALIKE = 1.1, 0.5, 3.5
_LEAST_SHAPE = 1.5  # a row is so many times as wide as high
_DASH = 1.6  # a dash is so many times as wide as capitals are high at most
# How high small letters and capitals are, in type sizes, where rows of pixels with so much of the ink of the fullest
# ones, one in so many, are theirs. Fewer rows in between, of their height, may have less.
_SMALL_LETTERS, _CAPITALS, _FULLEST, _HOLE = (0.43, 0.4), (0.7, 0.15), 8, 0.12
_INK = 0.4
_MANY_PX = 100_000  # of more in a row not all tell its slope
_SLANTED = 0.25  # in type sizes: by so much at its ends a row is slanted otherwise than its page
# In type sizes: the band above the baseline in which ink goes on beside a line, and in how many columns at least.
_BAND, _LETTER = (0.65, 0.02), 0.2
# How far from it at least and at most, and that many times the widest white between its words; once other columns' rows
# were read; and where the line above or below, so near, goes on.
_BESIDE, _BESIDE_AT_LAST, _IN_SPANNED, _WIDER = (0.8, 1.1), (1.6, 1.6), (2.5, 2.5), 1.1
_NEXT = 2.0
_HUGE = 8.0  # of the page's type size: such lines cover ink only if they were read for sure
# A row's line is none if more of its width than this is where lines were read.
_ON_OTHERS = 0.5
# What is read for sure is text with so many letters and digits; fewer must be surer.
_SURE, _FEWEST, _FEW, _SURELY = 0.9, 4, 3, 0.97
# A number beside a line may have fewer digits: so far from it and from its baseline, and so high, in type sizes.
_NEAR, _LEVEL, _DIGITS = 4.0, 0.15, (0.5, 0.95)
# A lengthened line is read so surely, by no more less surely than before, and each word that it gains so surely.
_LENGTHENED, _LESS_SURE, _GAINED = 0.85, 0.1, 0.8
# A page is doubtful for a line that was read so surely and has so many letters and digits.
_LIKELY, _LIKELY_STRANGE = (0.75, 8), (0.85, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInk:
    """A page's ink without rules and pictures, [h, w], the page reduced by scale.

    may_be_written: whether ink outside its lines tells of writing: not on dark pages, those with pictures or few marks.
    coarse: that of the page much reduced, as long strokes of large type count as rules and pictures; or None.
    rules, uprights: the page's rules in either direction, in pixels of the whole page; none in `coarse`.
    on_grounds: the ink on dark grounds, [h, w]: bars of a head, which hold text, and bar codes, which do not.
    bands: where lines were seen to be.
    """

    text: Mask
    on_grounds: Mask
    scale: float
    may_be_written: bool
    coarse: "PageInk | None" = None
    rules: tuple[Rule, ...] = ()
    uprights: tuple[Box, ...] = ()
    bands: dict[TextLine, tuple[tuple[slice, slice], Mask]] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, grey: UInt8Array, most_px: int = _ANALYSIS_PX) -> "PageInk":
        """Returns the ink of a page, [H, W] uint8, reduced to at most so many pixels."""
        num_px = min(grey.size, _STRIP * min(grey.shape) ** 2)
        scale = min(1.0, math.sqrt(most_px / num_px))
        height, width = (max(1, round(side * scale)) for side in grey.shape)
        page = Image.fromarray(grey).resize((width, height), Image.Resampling.BOX)
        found = find_ink(page)
        is_coarse = most_px <= _COARSE_PX
        coarse = None if is_coarse else cls.of(np.asarray(page), _COARSE_PX)
        grounds = np.zeros_like(found.text) if is_coarse else _on_grounds(np.asarray(page), found.pictures)
        level, upright = ((), ()) if is_coarse else (pieces(found.level), pieces(found.upright))
        return cls(
            text=found.text | grounds,
            on_grounds=grounds & ~found.text,
            scale=scale,
            may_be_written=bool(
                quantiles(np.asarray(page), [0.5])[0] >= _LEAST_PAPER
                and np.count_nonzero(found.text) >= _LEAST_INK * found.text.size
                and np.mean(found.pictures) <= _MOST_PICTURE
            ),
            coarse=coarse and replace(coarse, scale=coarse.scale * scale),
            rules=tuple(
                Rule(x0=rule.x0 / scale, x1=rule.x1 / scale, y=(rule.y0 + rule.y1) / 2 / scale)
                for rule in level
                if rule.ink < _THICK_PX * rule.width and rule.height < _SLANT * rule.width
            ),
            uprights=tuple(
                (rule.x0 / scale, rule.y0 / scale, rule.x1 / scale, rule.y1 / scale) for rule in upright
            ),
        )

    def outside(self, lines: Iterable[TextLine], boxes: Iterable[Box] = ()) -> Mask:
        """Returns the ink that is neither of these lines nor in these boxes, [h, w]."""
        left = self.text.copy()
        for line in lines:
            if line not in self.bands:
                self.bands[line] = self._band(line)
            place, is_beside = self.bands[line]
            left[place] &= is_beside
        for box in boxes:
            (top, foot), columns = self._rows(*np.array(box[1::2], np.float32)), self._columns(*box[::2])
            left[int(top) : int(foot), columns] = False
        return left

    def _band(self, line: TextLine) -> tuple[tuple[slice, slice], Mask]:
        """Returns where a line is in the ink, (rows, columns), and what of that it does not cover."""
        columns = self._columns(line.left, line.right)
        x = ((np.arange(columns.start, columns.stop) + 0.5) / self.scale).astype(np.intp)
        base = line.baseline[np.clip(x - line.left, 0, len(line.baseline) - 1)]
        top, foot = self._rows(base - ASCENT * line.size, base + DESCENT * line.size)
        rows = slice(int(top.min(initial=len(self.text))), int(foot.max(initial=0)))
        y = np.arange(rows.start, rows.stop)[:, None]
        return (rows, columns), (y < top) | (y >= foot)

    def _rows(self, top: Any, foot: Any) -> Any:
        sides = (top * self.scale - _AROUND_PX, foot * self.scale + (_AROUND_PX + 1))
        return np.clip(sides, 0, len(self.text)).astype(np.intp)

    def _columns(self, left: float, right: float) -> slice:
        first = max(0, int(left * self.scale) - _AROUND_PX)
        return slice(first, max(first, min(self.text.shape[1], int(right * self.scale) + _AROUND_PX + 1)))

    def goes_on(
        self, outside: Mask, read: ReadLine, slope: float, most: tuple[float, float]
    ) -> tuple[int, int]:
        """Returns how far ink outside lines goes on beside a line, with no more white between."""
        line, (height, width) = read.line, outside.shape
        size, reach = line.size * self.scale, [line.left, line.right]
        whites = [after.left - word.right for word, after in pairwise(read.words)]
        apart = float(np.clip(_WIDER * max(whites, default=0.0) / line.size, *most)) * size
        offsets = np.arange(-_BAND[0] * size, -_BAND[1] * size)[:, None]
        for side, step in enumerate((-1, 1)):
            first, end = int(reach[side] * self.scale), (-1, width)[side]
            base = line.baseline[-side] * self.scale + offsets
            for number in (math.ceil(apart), width):  # few lines go on
                x = np.arange(first, end, step)[:number].clip(0, width - 1)
                rows = (base + slope * (x - first)).clip(0, height - 1).astype(np.intp)
                if not len(inked := np.flatnonzero(outside[rows, x].any(0))):
                    break
            wide = np.flatnonzero(np.diff(inked, prepend=0) > apart)
            inked = inked[: wide[0]] if len(wide) else inked
            if len(inked) > _LETTER * size:
                reach[side] += step * math.ceil(inked[-1] / self.scale)
        return reach[0], reach[1]

    def unread(self, lines: Iterable[TextLine], boxes: Iterable[Box] = ()) -> float:
        """Returns the share of the ink outside these lines and boxes, 0 where that need not be writing."""
        if not self.may_be_written:
            return 0.0
        return int(np.count_nonzero(self.outside(lines, boxes))) / int(np.count_nonzero(self.text))

    def rows(self, outside: Mask, size: float, view: View) -> tuple[list[Piece], list[Piece]]:
        """Returns the ink outside lines in rows as high as the page's type size, and in others, the largest first.

        They are as the page's lines are level: where these slope, so do its rules.
        """
        height, width = outside.shape
        on_page = partial(self._above, view)
        if slopes := np.ptp(on_page([0, width], [[0], [height]]), axis=1).max() > _LEVEL_PX:
            rows = np.rint(on_page(np.arange(width), np.arange(height)[:, None])).astype(np.intp)
            outside = np.take_along_axis(outside, rows.clip(0, height - 1), 0)
            outside &= ~long_runs(outside, max(_RULE_PX, round(_RULE_SHARE * width)))[0]
        found: list[Piece] = []
        largest = sorted(pieces(outside, _GAP_PX), key=lambda piece: -piece.width * piece.height)[
            :_MOST_PIECES
        ]
        for piece in sorted(largest, key=lambda piece: piece.x0):
            near = [row for row in found if _are_one_row(row, piece, _APART * size * self.scale)]
            if near:
                max(near, key=lambda row: _in_common(row, piece)).take(piece)
            else:
                found.append(piece)
        least_px = _COARSE_LEAST_PX if self.coarse is None else _LEAST_PX
        large = (row for row in found if row.height >= least_px and row.width >= _LEAST_PX)
        kept = [row for row in large if row.ink > _SPARSE * row.width * row.height]
        kept.sort(key=lambda row: -row.width * row.height)
        least, most = (share * size * self.scale for share in _AS_HIGH)
        alike = [row for row in kept if least <= row.height <= most]
        others = [row for row in kept if not least <= row.height <= most]
        for row in kept if slopes else ():
            ends = np.array([row.x0, row.x1])
            row.y0, row.y1 = int(on_page(ends, row.y0).min()), math.ceil(on_page(ends, row.y1).max())
        return alike, others

    def _above(self, view: View, x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns how far down the page's ink is what stands at (x, y) of it levelled."""
        return view.above(np.asarray(x) / self.scale, np.asarray(y) / self.scale) * self.scale

    def on_page(self, row: Piece) -> Box:
        """Returns the bounds of a row in pixels of the whole page, with white beside it."""
        x0, y0, x1, y1 = (side / self.scale for side in (row.x0 - 1, row.y0, row.x1 + 1, row.y1))
        return x0, y0, x1, y1


def _on_grounds(grey: UInt8Array, pictures: Mask) -> Mask:
    """Returns what stands on plain grounds that count as pictures, as they are darker than the paper: heads, bars."""
    found = np.zeros_like(pictures)
    for area in pieces(pictures):
        part = grey[area.y0 : area.y1, area.x0 : area.x1].astype(np.int16)
        far = np.abs(part - np.median(part))
        rows, columns = (np.flatnonzero(np.median(far, axis) <= _ON_GROUND) for axis in (1, 0))
        if len(rows) and len(columns):  # without the paper around it
            inner = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
            if np.mean(far[inner] <= _ON_GROUND) > _LEAST_GROUND:
                found[area.y0 : area.y1, area.x0 : area.x1][inner] |= far[inner] > 2 * _ON_GROUND
    return found


def with_missed(
    ink: PageInk, darkness: Floats, found: Sequence[ReadLine], boxes: Sequence[Box], reader: LineReader
) -> tuple[list[ReadLine], bool]:
    """Returns the lines, lengthened where ink goes on beside them, with those of rows of ink that are no line's.

    And whether one more is likely text, but was not read for sure. ink, darkness: of the page, darkness [H, W] in 0..1.
    boxes: where other lines are.
    """
    lines, likely = list(found), []
    if not found:
        return lines, False
    view, size = View.of(read.line for read in lines), float(np.median([read.line.size for read in lines]))

    def lengthen(most: tuple[float, float], begin: int = 0) -> None:
        outside = _outside(ink, lines, boxes)
        for number, before in enumerate(lines[begin:], begin):
            line, slope = before.line, view.slope_at(before.line.middle)
            left, right = ink.goes_on(outside, before, slope, most)
            if before.text.strip() and (left < line.left or right > line.right):
                again = reader.read(darkness, [line.between(left, right, slope)])
                if again and _is_more(again[0], before):
                    lines[number] = again[0]
                    outside = _outside(ink, lines, boxes)  # what it has gained is no other's

    for look in filter(None, (ink.coarse, ink)):  # large type first: the finer look sees parts of it as rules
        if look is ink:
            lengthen(_BESIDE)
        outside = _outside(look, lines, boxes)
        for rows, most in zip(look.rows(outside, size, view), (_MOST_ALIKE, _MOST_OTHERS), strict=True):
            num_unread = 0
            for row in rows:
                if num_unread == most:
                    break
                is_beside = _is_beside(look.on_page(row), lines)
                if row.width < _LEAST_SHAPE * row.height and not is_beside:
                    continue
                num_unread += 1
                slope = view.slope_at((row.y0 + row.y1) / 2 / look.scale)
                best = _surest(darkness, row, look.scale, slope, size, look.text & ~outside, reader)
                if best is None or _stands_on_others(best.line, lines):
                    continue
                if not _is_sure(best, is_beside):
                    likely += [best.line] if _is_likely(best) else []
                    continue
                num_unread = 0
                lines.append(best)
                if _is_spanned(best.line, lines):
                    lengthen(_IN_SPANNED, len(lines) - 1)
    lengthen(_BESIDE_AT_LAST)
    sure = [read for read in lines if read.confidence > _SURE]
    return lines, not all(_stands_on_others(line, sure) for line in likely)


def _outside(ink: PageInk, lines: Sequence[ReadLine], boxes: Sequence[Box]) -> Mask:
    """Returns the ink outside these lines, of which pictures that were read as a huge letter are none."""
    most = _HUGE * float(np.median([read.line.size for read in lines]))
    sure = (read for read in lines if read.line.size < most or read.confidence > _SURE)
    return ink.outside((read.line for read in sure if read.text.strip() or read.is_rule), boxes)


def _surest(
    darkness: Floats, row: Piece, scale: float, slope: float, size: float, covered: Mask, reader: LineReader
) -> ReadLine | None:
    """Returns what is read in a row, whether of small letters or of capitals; None for specks.

    size: the page's type size, which is tried first. covered: the ink of lines, which is none of the row's.
    """
    x0, y0, ink = _ink_of(darkness, row, scale, covered)
    found: list[ReadLine] = []
    for own in (slope, _slope_of(ink)):  # that of stamps is their own
        if own != slope and abs(own - slope) * row.width < _SLANTED * size * scale:
            break
        height = (row.height - abs(own) * row.width) / scale
        either = (_line(ink, x0, y0, own, letters) for letters in (_SMALL_LETTERS, _CAPITALS))
        lines = sorted(filter(None, either), key=lambda line: abs(math.log(line.size / size)))
        if lines and height < _AS_HIGH[1] * size:
            lines.append(_below_ascenders(lines[0], row.y0 / scale, own, size))
        for line in lines:
            found += reader.read(darkness, [line])
            if found and found[-1].confidence > _SURELY and found[-1].num_letters >= _FEWEST:
                return found[-1]
    return max(found, key=lambda read: read.confidence, default=None)


def _ink_of(darkness: Floats, row: Piece, scale: float, covered: Mask) -> tuple[int, int, Mask]:
    """Returns a row's ink without that of lines, [h, w], and where on the page it begins."""
    x0, y0 = max(0, int((row.x0 - 1) / scale)), max(0, int((row.y0 - 1) / scale))
    window = darkness[y0 : math.ceil((row.y1 + 1) / scale), x0 : math.ceil((row.x1 + 1) / scale)]
    places = (
        np.minimum((start + np.arange(length)) * scale, end - 1).astype(np.intp)
        for start, length, end in zip((y0, x0), window.shape, covered.shape, strict=True)
    )
    return x0, y0, (normalised(window) > _INK) & ~covered[np.ix_(*places)]


def _slope_of(ink: Mask) -> float:
    """Returns by how much ink goes down a pixel to the right."""
    every = 1 + ink.size // _MANY_PX
    y, x = np.nonzero(ink[::every, ::every])
    return float(np.polyfit(x, y, 1)[0]) if len(x) and np.ptp(x) else 0.0


def _below_ascenders(line: TextLine, top: float, slope: float, size: float) -> TextLine:
    """Returns a row's line in the page's type size if ascenders or capitals begin at its top, whatever is below it."""
    across = np.arange(line.right - line.left) - (line.right - line.left) / 2
    first = top + abs(slope) * len(across) / 2 + _CAPITALS[0] * size
    return replace(line, baseline=(first + slope * across).astype(np.float32), size=size)


def _in_common(row: Piece, piece: Piece) -> int:
    return min(row.y1, piece.y1) - max(row.y0, piece.y0)


def _are_one_row(row: Piece, piece: Piece, least_px: float) -> bool:
    high, low = max(row.height, piece.height), min(row.height, piece.height)
    return (
        piece.x0 - row.x1 < max(_APART * low, least_px)
        and _in_common(row, piece) >= _SHARED_HEIGHT * low
        and (
            high < _ALIKE * low
            or any(
                it.height <= _LEAST_PX and it.width <= max(2 * _LEAST_PX, _DASH * high) for it in (row, piece)
            )
        )
    )


def _is_spanned(line: TextLine, lines: Iterable[ReadLine]) -> bool:
    """Returns whether the line above or below reaches beyond this one, which is justified perhaps."""
    return any(
        ONE_ROW * line.size < abs(read.line.middle - line.middle) < _NEXT * line.size
        and read.line.left < line.right
        and read.line.right > line.left
        and read.line.right - read.line.left > line.right - line.left + line.size
        for read in lines
    )


def _line(ink: Mask, x0: int, y0: int, slope: float, letters: tuple[float, float]) -> TextLine | None:
    """Returns the line that a row's ink shows if most of it is of letters so high; None for specks."""
    height, dense = letters
    down = np.rint(slope * (np.arange(ink.shape[1]) - ink.shape[1] / 2)).astype(np.intp)
    own = np.arange(len(ink))[:, None] + down[None]
    level = np.take_along_axis(ink, np.clip(own, 0, len(ink) - 1), 0) & (own >= 0) & (own < len(ink))
    profile = level.sum(1)
    columns = np.flatnonzero(level.any(0))
    if len(columns) < _LEAST_PX:
        return None
    full = np.flatnonzero(profile > dense * np.sort(profile)[-max(1, len(profile) // _FULLEST)])
    holes = np.flatnonzero(np.diff(full) > max(2, _HOLE * len(profile))) + 1
    band = max(np.split(full, holes), key=len)
    top, foot = y0 + int(band[0]), y0 + int(band[-1]) + 1
    first, end = int(columns[0]), int(columns[-1]) + 1
    baseline = (foot + slope * (np.arange(first, end) - ink.shape[1] / 2)).astype(np.float32)
    return TextLine(left=x0 + first, right=x0 + end, baseline=baseline, size=(foot - top) / height)


def _stands_on_others(line: TextLine, lines: Iterable[ReadLine]) -> bool:
    """Returns whether a row's line is where lines were read: ink such as a sheet's edge may reach around them."""
    shared = sum(
        max(0, min(line.right, read.line.right) - max(line.left, read.line.left))
        for read in lines
        if read.text.strip()
        and abs(read.line.middle - line.middle) < ONE_ROW * min(line.size, read.line.size)
    )
    return shared > _ON_OTHERS * (line.right - line.left)


def _is_more(longer: ReadLine, before: ReadLine) -> bool:
    """Returns whether a lengthened line was read as surely, with more letters, none of them a pen's or a stamp's."""
    least, line = max(_LENGTHENED, before.confidence - _LESS_SURE), before.line
    gained = (word for word in longer.words if word.left < line.left or word.right > line.right)
    return (
        longer.confidence > least
        and longer.num_letters > before.num_letters
        and all(word.confidence > _GAINED for word in gained)
    )


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


def _is_sure(read: ReadLine, is_beside: bool) -> bool:
    if is_beside and "".join(filter(str.isalnum, read.text)).isdecimal():
        return read.confidence > _SURELY
    least = _SURE if read.num_letters >= _FEWEST else _SURELY
    return read.confidence > least and read.num_letters >= _FEW and not strange_lines([read])


def _is_likely(read: ReadLine) -> bool:
    """Returns whether an unsure line is text more likely than not: by its letters, or though they are strange."""
    is_strange = bool(strange_lines([replace(read, confidence=1.0, words=())]))
    least, fewest = _LIKELY_STRANGE if is_strange else _LIKELY
    return read.confidence > least and read.num_letters >= fewest
