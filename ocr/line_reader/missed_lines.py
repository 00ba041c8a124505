"""Reads lines, and ends of lines, that the finder missed: where a page's ink stands in a row that no line covers.

On most pages no such ink is left. A row of it tells by itself where a line's baseline is, and how large its type; only
what is then read for sure is text: of signatures, stamps and drawings next to nothing is.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ocr.imaging.measures import ONE_ROW
from ocr.imaging.pieces import Piece
from ocr.imaging.profiles import Mask
from ocr.line_reader.found_lines import Box, Floats, ReadLine, TextLine
from ocr.line_reader.language import strange_lines
from ocr.line_reader.levelling import View
from ocr.line_reader.line_images import normalised
from ocr.line_reader.page_ink import AS_HIGH, LEAST_PX, PageInk
from ocr.line_reader.reading import LineReader

# Rows are looked at, the largest first, until so many after each other are no text: pictures and pens make many, but
# few that are as high as the page's lines, and these are looked at before.
_MOST_ALIKE, _MOST_OTHERS = 40, 5
_LEAST_SHAPE = 1.5  # a row is so many times as wide as high
# How high small letters and capitals are, in type sizes, where rows of pixels with so much of the ink of the fullest
# ones, one in so many, are theirs. Fewer rows in between, of their height, may have less.
_SMALL_LETTERS, _CAPITALS, _FULLEST, _HOLE = (0.43, 0.4), (0.7, 0.15), 8, 0.12
_INK = 0.4
_MANY_PX = 100_000  # of more in a row not all tell its slope
_SLANTED = 0.25  # in type sizes: by so much at its ends a row is slanted otherwise than its page
# How far from a line ink goes on at least and at most, in type sizes; once other columns' rows were read; and where the
# line above or below, so near, goes on.
_BESIDE, _BESIDE_AT_LAST, _IN_SPANNED = (0.8, 1.1), (1.6, 1.6), (2.5, 2.5)
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
        if lines and height < AS_HIGH[1] * size:
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
    if len(columns) < LEAST_PX:
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
