"""Tells printed rules from text: dashes, dots, stars in a row that the finder took for a line. Numpy only.

A line that is nothing but a rule has no characters, typed or drawn: how many marks it has says nothing, and a reader
miscounts them or takes them for letters. Dots or strokes that lead from a word to the next are its line's characters.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import ONE_ROW
from ocr.line_reader.found_lines import Floats, ReadLine

_MARKS = re.compile(
    r"[-\u2010-\u2015−_=~∼*★·•∙⋅‧.…:'`,|+#\s]+"
    r"|\w?\s?[-\u2010-\u2015_~∼][-\u2010-\u2015_~∼.,'\s]{20,}\w?"  # a border, with strokes at its corners
)
_LEADER = re.compile(r"[._…·\s]+")
_LEAST_MARKS, _LEAST_PIECES = 5, 3  # fewer are an ellipsis, asterisks between sections, a dash in a cell
_LEADS = 1.5  # in type sizes: dots so near a word lead from it or to it
_UNSURE = 0.8  # marks are read as letters with less confidence than letters are
_LETTERS = re.compile(r"[^\W\d_]{2}")
# Of a row of marks, measured on some 900 lines of text and 400 of rules: how high it is at most, in sizes of the page's
# type, and how high where it was read without confidence, as stars are; how like itself it is, a period on.
_LOW, _STARS, _EVEN = 0.36, 0.6, 0.9
# Of the ink near the densest rows, so many type sizes above and below: the share that is in them; and how many columns,
# in type sizes, have more ink beside them, which is a letter.
_NEAR, _ALONE, _TALL = 0.5, 0.85, 0.1
_EDGE = 0.2  # of the densest row: rows with less are not the marks'
_INK = 0.3
_LONGEST = 0.25  # of the line: a period
# How like itself a printed border is, a period on: 0.8 where it is clear; lines of text 0.3 at most.
_ORNAMENT = 0.55


@dataclass(frozen=True, slots=True)
class Marks:
    """What a line shows if it has nothing but low ink. height: of its ink, in the line's type sizes.

    likeness: the correlation with itself, a mark on.
    """

    height: float
    likeness: float


def marks_of(image: Floats, size_px: float) -> Marks | None:
    """Returns the marks that an image of a line shows, None where it has letters.

    image: [H, W], normalised, ink about 1. size_px: the line's type size in its pixels.
    """
    ink = np.clip(image, 0, 1)
    rows = ink.mean(1)
    top, end = _band(rows)
    near = slice(max(0, top - round(_NEAR * size_px)), end + round(_NEAR * size_px))
    if rows[top:end].sum() < _ALONE * rows[near].sum():
        return None
    profile = ink[top:end].max(0)
    inked = np.flatnonzero(profile > _INK)
    if not len(inked) or (ink[near].max(0) > np.maximum(profile, _INK)).sum() > _TALL * size_px:
        return None
    return Marks((end - top) / size_px, _likeness(profile[None, inked[0] : inked[-1] + 1]))


def _band(rows: Floats) -> tuple[int, int]:
    """Returns the rows around the densest one that hold its marks: the first, and the one behind the last."""
    peak = int(rows.argmax())
    empty = np.flatnonzero(rows <= _EDGE * rows[peak])
    above, below = empty[empty < peak], empty[empty > peak]
    return int(above[-1]) + 1 if len(above) else 0, int(below[0]) if len(below) else len(rows)


def is_ornament(image: Floats) -> bool:
    """Returns whether an image of a line, [H, W] and normalised, shows the same again and again, as a border does."""
    return _likeness(np.clip(image, 0, 1)) > _ORNAMENT


def _likeness(marks: Floats) -> float:
    """Returns the best correlation of marks, [H, W], with themselves, moved by more than a mark; 0 for one mark."""
    moved = marks - marks.mean(1, keepdims=True)
    length = moved.shape[1]
    found = np.fft.rfft(moved, 1 << (2 * length - 1).bit_length())
    products = np.fft.irfft((found * found.conj()).sum(0))[:length]
    sums = np.concatenate([[0.0], np.cumsum((moved * moved).sum(0))])
    lags = np.arange(int(_LONGEST * length))
    norms = np.sqrt((sums[-1] - sums[lags]) * sums[length - lags])
    alike: npt.NDArray[np.float64] = products[lags] / np.maximum(norms, 1e-6)
    beyond = np.flatnonzero(alike < _INK)
    return float(alike[beyond[0] :].max()) if len(beyond) else 0.0


def rules_among(lines: Sequence[ReadLine], marks: Sequence[Marks | None]) -> Iterator[int]:
    """Yields the numbers of the lines that are rules or pieces of one. marks: what each of them shows."""
    # The type size of the page's words; that of its largest line where there are none.
    sizes = [read.line.size for read in lines if read.confidence > _UNSURE and _LETTERS.search(read.text)]
    usual = median(sizes) if sizes else max((read.line.size for read in lines), default=0.0)
    even = {
        number
        for number, (read, own) in enumerate(zip(lines, marks, strict=True))
        if own is not None and own.likeness > _EVEN and own.height * read.line.size < _STARS * usual
    }
    low = {n: 1 for n, read in enumerate(lines) if _is_mark(read, marks[n], usual, is_even=n in even)}
    words = [read for n, read in enumerate(lines) if n not in low and read.text.strip()]
    for number in low:
        read = lines[number]
        beside = [other for other in words if _in_row(read, other)]
        if _LEADER.fullmatch(read.text) and any(_apart(read, other) < _LEADS for other in beside):
            continue
        row = [number] if beside else [other for other in low if _in_row(read, lines[other])]
        many = sum(len("".join(lines[other].text.split())) for other in row) >= _LEAST_MARKS
        if many or len(row) >= _LEAST_PIECES or even.intersection(row):
            yield number


def may_be_rule(read: ReadLine) -> bool:
    """Returns whether a line was read as marks, or unsurely: others are none, whatever marks they show."""
    return bool(_MARKS.fullmatch(read.text)) or not (read.text and read.confidence > _UNSURE)


def _is_mark(read: ReadLine, marks: Marks | None, usual: float, *, is_even: bool) -> bool:
    """Returns whether a line is read as marks, or unsurely where only an even row or a few low ones are."""
    if marks is None or not may_be_rule(read) or _MARKS.fullmatch(read.text):
        return bool(_MARKS.fullmatch(read.text))
    return is_even or (len(read.text) < _LEAST_MARKS and marks.height * read.line.size < _LOW * usual)


def _in_row(read: ReadLine, other: ReadLine) -> bool:
    return abs(read.line.middle - other.line.middle) < ONE_ROW * max(read.line.size, other.line.size)


def _apart(read: ReadLine, other: ReadLine) -> float:
    """Returns the white between two lines of a row, in type sizes."""
    white = max(read.line.left, other.line.left) - min(read.line.right, other.line.right)
    return white / max(read.line.size, other.line.size)
