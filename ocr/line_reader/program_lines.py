"""Keeps lines of program code whole, and says how far they are indented: type of one width, full of signs. Numpy only.

The space of such type is as wide as white between cells, where lines are taken apart and put behind each other.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from ocr.line_reader.found_lines import ReadLine

# What programs have and running text hardly has.
_SIGNS = re.compile(r"[;{}=<>\[\]_#|$\\]|\w\(|\)$|:$|^(?:--|//|/?\*)|->")
_LONG, _FEW = 8, 3  # the least characters of a line, and lines, that tell the width of characters
_SAME, _MOSTLY = 0.04, 0.6  # of the width, and of the lines
_UNEVEN = 1.3  # how much longer than the shortest line the longest must be
_WITHIN = 0.6  # in characters: how much wider or narrower a line may be
_WIDEST = 12.0  # the same, of white within a line
_ONE_ROW = 0.3  # in type sizes


def character_px(lines: Sequence[ReadLine]) -> float:
    """Returns the width of a character in the page's programs, in pixels; 0 where it shows none."""
    long = [read for read in lines if len(read.text) >= _LONG and _SIGNS.search(read.text)]
    if len(long) < _FEW:
        return 0.0
    width = median(_width(read) / len(read.text) for read in long)
    alike = [read for read in long if abs(_width(read) / len(read.text) - width) < _SAME * width]
    widths = list(map(_width, alike))
    is_mono = len(alike) >= max(_FEW, _MOSTLY * len(long)) and max(widths) > _UNEVEN * min(widths)
    told = [_is_on_grid(read) for read in alike if " " in read.text]  # one word is on any grid
    return width if is_mono and sum(told) >= max(_FEW, _MOSTLY * len(told)) else 0.0


def is_program(texts: Sequence[str]) -> bool:
    """Returns whether enough of the lines have signs that programs have."""
    return sum(_SIGNS.search(text) is not None for text in texts) >= _MOSTLY * len(texts)


def fits(text: str, width: float, char_px: float) -> bool:
    """Returns whether a text is so wide in type of one width. width, char_px: in pixels."""
    own = len(text) * char_px
    return abs(width - own) < max(_WITHIN * char_px, _SAME * own)


def whole_lines(lines: Sequence[ReadLine], char_px: float) -> list[ReadLine]:
    """Returns the lines, those that are pieces of one line of a program as one. char_px: 0 returns them as they are."""
    if not char_px:
        return list(lines)
    found: list[ReadLine] = []
    for read in sorted(lines, key=lambda read: read.line.left):
        piece = fits(read.text, _width(read), char_px)
        place = next((n for n, own in enumerate(found) if piece and _meets(own, read, char_px)), None)
        if place is None:
            found.append(read)
        elif read.line.right > found[place].line.right + _WITHIN * char_px:
            found[place] = _joined(found[place], read, char_px)
    return found


def _is_on_grid(read: ReadLine) -> bool:
    """Returns whether a line's words begin where they do in type of one width; in other type some are off."""
    char_px, at = _width(read) / len(read.text), 0
    for word in read.words:
        at = max(at, read.text.find(word.text, at))
        if abs(word.left - read.line.left - at * char_px) > _WITHIN * char_px:
            return False
        at += len(word.text)
    return True


def _width(read: ReadLine) -> float:
    return float(read.line.right - read.line.left)


def _meets(own: ReadLine, read: ReadLine, char_px: float) -> bool:
    """Returns whether a piece follows a line of a program, or is read twice."""
    gap = read.line.left - own.line.right
    is_level = abs(own.line.middle - read.line.middle) < _ONE_ROW * own.line.size
    is_within = gap < 0 and read.line.right <= own.line.right + _WITHIN * char_px
    is_own = is_within and read.text.strip() in own.text
    near = -_WITHIN * char_px <= gap <= _WIDEST * char_px
    return is_level and fits(own.text, _width(own), char_px) and (near or is_own)


def _joined(own: ReadLine, read: ReadLine, char_px: float) -> ReadLine:
    size = len(own.text) + len(read.text)
    confidence = (own.confidence * len(own.text) + read.confidence * len(read.text)) / size
    text = own.text + " " * max(1, round((read.line.left - own.line.right) / char_px)) + read.text
    line = replace(own.line.joined(read.line), size=max(own.line.size, read.line.size))
    return replace(own, line=line, text=text, confidence=confidence, words=(*own.words, *read.words))
