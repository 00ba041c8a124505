"""Reads initials that are lines high, which the finder takes for pictures, and joins them with their words."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ocr.imaging.pieces import pieces
from ocr.imaging.profiles import Mask
from ocr.line_reader.found_lines import ReadLine, Shades, TextLine, shared
from ocr.line_reader.reading import LineReader
from ocr.types import BoxPx

# How a line goes on beside its initial, perhaps with a part of that read as a mark.
_GOES_ON = re.compile(r"(?:\S{1,2} )?(?:[^\W\d_A-Z]|[^\W\d_a-z]{2})")
_STEM = re.compile(r"^[l|1]$")
# In type sizes of the lines beside it: how far to their left it may begin, and within them; to their right, its height,
# how far its top and its foot may be from theirs, what is white before its line, and from line to line.
_REACH, _INTO, _LEAST, _MOST, _TOP, _FOOT, _GAP = 6.0, 2.0, 1.6, 5.5, 0.6, 0.4, 1.6
_CAPITAL = 0.7  # a capital's height
_PITCH = (0.8, 2.2)
_WIDEST = 1.6  # of its height
_INK = 102  # darkness beyond the paper's, of 255
_SURE = 0.75  # of what is read
_SHARED = 0.5


def with_initials(darkness: Shades, found: Sequence[ReadLine], reader: LineReader) -> list[ReadLine]:
    """Returns the lines, those that begin beside a large letter with that. darkness: the page's, [H, W]."""
    lines, follows = list(found), _follows([read.line for read in found])
    for number in np.flatnonzero(follows.any(1) & ~follows.any(0)).tolist():
        read, below = found[number], found[int(follows[number].argmax())].line
        if not _GOES_ON.match(read.text) or (box := _initial(darkness, read.line, below)) is None:
            continue
        x0, y0, x1, y1 = box
        beside = [own for own in lines if own.line.left < x1 < own.line.right and _is_beside(own.line, box)]
        feet = [float(own.line.baseline[0]) for own in found if own is read or _is_beside(own.line, box)]
        near = (y for y in feet if abs(y - y1) < _FOOT * read.line.size)  # Q goes below it
        foot = min(near, default=max(feet))
        baseline = np.full(x1 - x0, foot, np.float32)
        large = TextLine(left=x0, right=x1, baseline=baseline, size=(foot - y0) / _CAPITAL)
        (initial,) = reader.read(darkness, [large])
        letter = _STEM.sub("I", initial.text.strip("\"'“„«‘ "))
        if initial.confidence < _SURE or len(letter) != 1 or not letter.isupper():
            continue
        again = reader.read(darkness, [own.line.between(x1, own.line.right) for own in beside])
        cut = dict(zip(map(id, beside), again, strict=True))
        cut[id(read)] = _joined(cut.get(id(read), read), letter, x0, initial.confidence)
        kept = (own for own in lines if own is read or shared(own.line.box, box) <= _SHARED)
        lines = [cut.get(id(own), own) for own in kept]
    return lines


def _initial(darkness: Shades, line: TextLine, below: TextLine) -> BoxPx | None:
    """Returns the box of the ink to the left of a line and the next ones that is one stroke, as high as two of them."""
    size, base = line.size, float(line.baseline[0])
    top = max(0, round(base - (_CAPITAL + 2 * _TOP) * size))
    left, right = max(0, round(line.left - _REACH * size)), round(line.left + _INTO * size)
    window = darkness[top : round(base + _MOST * size), left:right]
    ink = window > int(np.median(window)) + _INK
    for piece in pieces(ink):
        x0, y0, x1, y1 = piece.x0, piece.y0, piece.x1, piece.y1
        is_high = y1 - y0 >= _LEAST * size and top + y1 >= below.middle - _FOOT * size
        at_top = abs(top + y0 - (base - _CAPITAL * size)) <= _TOP * size
        inside = x0 > 0 and y1 < len(ink) and left + x1 + _GAP * size >= line.left
        if is_high and at_top and inside and x1 - x0 <= _WIDEST * (y1 - y0):
            return left + x0, top + y0, left + x1, top + y1
    return None


def _follows(lines: Sequence[TextLine]) -> Mask:
    """Returns [N, N] whether the second line of a pair is right below the first, in its column."""
    places = [(it.left, it.right, it.middle, it.size) for it in lines]
    left, right, middle, size = np.array(places).reshape(-1, 4).T
    pitch = (middle - middle[:, None]) / size[:, None]
    found: Mask = np.minimum(right, right[:, None]) > np.maximum(left, left[:, None])
    found &= (_PITCH[0] <= pitch) & (pitch <= _PITCH[1])
    return found


def _is_beside(line: TextLine, box: BoxPx) -> bool:
    return box[1] < line.middle and line.middle - _CAPITAL * line.size < box[3]


def _joined(read: ReadLine, letter: str, left: int, confidence: float) -> ReadLine:
    """Returns a line with its initial, which begins at `left`."""
    whole = read.line.between(min(left, read.line.left), read.line.right)
    words, text = list(read.words), read.text.lstrip()
    if len(words) > 1 and not any(map(str.isalnum, words[0].text)):  # a part of the initial, read as a mark
        text = text.removeprefix(words[0].text).lstrip()
        del words[0]
    if words:
        sure = min(confidence, words[0].confidence)
        words[0] = words[0]._replace(text=letter + words[0].text, left=float(left), confidence=sure)
    return replace(read, line=whole, text=letter + text, words=tuple(words))
