"""Finds where the words of a line stand: between the spaces that were read, and from ink to ink. Torch-free.

And tells of letters that were lost among them: ink as high as letters from which none was read.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from ocr.imaging.measures import ASCENT, DESCENT
from ocr.imaging.profiles import Mask, runs
from ocr.line_reader.found_lines import Floats, LineWord
from ocr.paragraphs.text_lines import Span

_INK = 0.35  # of the darkest: a column with as much has some
# In the image's heights: how far a letter's ink may reach from where it was read.
_REACH = 0.6
# In type sizes: how far behind a letter's ink it may have been read, and the least that parts two words, for programs
# that read a PDF's text take what stands closer for one word.
_LAG, _SPACE = 0.3, 0.1
# The same, of holes: the band above the baseline in which ink counts, clear of leaders and underlines; how far a letter
# may reach to the left and to the right of where it was read, as CTC's peaks are within letters or behind them; white
# between lost letters; and how high these are, as no dash is.
_TOP, _FOOT = 0.62, 0.12
_BEFORE, _BEHIND, _GAP, _HIGH = 0.8, 0.5, 0.35, 0.3
_STEMS = 0.75  # of the columns with ink the others are so high: those of a slanted dash are not
# How much of the columns has ink, and of the area: a bar that blacks out words has more.
_LEAST, _DENSEST = 0.4, 0.8


class Letter(NamedTuple):
    """A character that was read. text: it, or a space. x: its middle in the line's image, in pixels."""

    text: str
    x: float
    chance: float


def placed_words(image: Floats, letters: Sequence[Letter], *, above: float, below: float) -> list[LineWord]:
    """Returns the words of a line with the columns of its image, not of the page, in which they stand.

    image: [H, W], normalised, ink about 1. above, below: how far it reaches from the baseline, in type sizes.
    The letters' places are those of CTC's peaks, which are within the letters or behind them; so a word ends where the
    white at the space that was read begins, and where there is none, at that space. Words keep at least _SPACE apart.
    """
    words, spaces = _parted(letters)
    if not words:
        return []
    height, width = image.shape
    top, bottom = (round(height * (above + side) / (above + below)) for side in (-ASCENT, DESCENT))
    inked: Mask = image[max(0, top) : max(1, bottom)].max(0) > _INK
    reach, size = round(_REACH * height), height / (above + below)
    starts = [_first_ink(inked, round(words[0][0].x), reach)]
    ends, (begins, stops) = [], (its.tolist() for its in runs(~inked))
    for (before, after), space in zip(pairwise(words), spaces, strict=True):
        near = slice(*(bisect_right(begins, x) for x in (starts[-1], after[0].x)))
        ended = before[-1].x - _LAG * size
        left, right = _white(zip(begins[near], stops[near], strict=True), ended, space, after[0].x)
        lacking = max(0.0, _SPACE * size - (right - left))
        ends.append(left - lacking / 2)
        starts.append(right + lacking / 2)
    last = width - 1 - round(words[-1][-1].x)
    ends.append(width - _first_ink(inked[::-1], last, reach))
    texts = ["".join([letter.text for letter in word]) for word in words]
    sure = [sum([letter.chance for letter in word]) / len(word) for word in words]
    ends = [max(end, start + 1) for start, end in zip(starts, ends, strict=True)]
    return list(map(LineWord, texts, starts, ends, sure))


def widest_hole(image: Floats, letters: Sequence[Letter], *, above: float, below: float) -> float:
    """Returns how wide the widest stretch of ink between letters is from which none was read, in type sizes, or 0.

    At a line's ends icons and boxes stand. image, above, below: as for placed_words().
    """
    size = len(image) / (above + below)
    ink = image[round((above - _TOP) * size) : round((above - _FOOT) * size)] > _INK
    is_lost: Mask = np.any(ink, axis=0)
    places, length = np.array([x for text, x, _ in letters if not text.isspace()] or [0.0]), len(is_lost)
    sides = (np.rint(places + side * size).clip(0, length).astype(np.intp) for side in (-_BEFORE, _BEHIND))
    begun, ended = (np.bincount(side, minlength=length + 1)[:length] for side in sides)
    is_lost &= np.cumsum(begun - ended) == 0
    is_lost[: round(places[0])] = is_lost[round(places[-1]) :] = False
    columns, widest = np.flatnonzero(is_lost), 0
    for run in np.split(columns, np.flatnonzero(np.diff(columns) > _GAP * size) + 1) if len(columns) else ():
        part = ink[:, run[0] : run[-1] + 1]
        heights = (len(part) - part[::-1].argmax(0) - part.argmax(0))[part.any(0)]
        is_high = np.quantile(heights, _STEMS) >= _HIGH * size
        if is_high and len(run) >= _LEAST * part.shape[1] and part.mean() <= _DENSEST:
            widest = max(widest, part.shape[1])
    return widest / size


def _parted(letters: Sequence[Letter]) -> tuple[list[list[Letter]], list[float]]:
    """Returns the letters of each word, and where the spaces between two words were read."""
    groups = [list(group) for _, group in groupby(letters, lambda letter: letter.text.isspace())]
    words = [group for group in groups if not group[0].text.isspace()]
    between = groups[groups.index(words[0]) :] if words else []
    return words, [sum(letter.x for letter in group) / len(group) for group in between[1:-1:2]]


def _first_ink(inked: Mask, x: int, reach: int) -> float:
    """Returns the first inked column of those from `reach` before x up to x; x where there is none."""
    begin = max(0, x - reach)
    found = np.flatnonzero(inked[begin : x + 1])
    return float(begin + found[0]) if len(found) else float(max(0, x))


def _white(white: Iterable[Span], ended: float, space: float, after: float) -> Span:
    """Returns the columns without ink between two words, (start, end): those widest and nearest to the space's place.

    white: all that begins in the first word or behind it. ended: where its last letter is read at the earliest. Where
    there are none, the space's place is returned twice. after: where the first letter behind is read, in its ink or
    behind it: white that goes on further stands behind that, as in `char *  name`.
    """
    kept = ((a, b) for a, b in white if b > ended)
    near = ((b - a - max(0.0, a - space, space - b) - 2 * max(0.0, b - after), a, b) for a, b in kept)
    return max(near, default=(0.0, space, space))[1:]
