"""Finds where the words of a line stand: between the spaces that were read, and from ink to ink. Torch-free."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import fmean

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import ASCENT, DESCENT
from ocr.line_reader.found_lines import Floats

Mask = npt.NDArray[np.bool_]

_INK = 0.35  # of the darkest: a column with as much has some
# In the image's heights: how far a letter's ink may reach from where it was read.
_REACH = 0.6


@dataclass(frozen=True, slots=True)
class Letter:
    """A character that was read. text: it, or a space. x: its middle in the line's image, in pixels."""

    text: str
    x: float
    chance: float


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A word in a line's image. start, end: its first pixel column, and the one behind its last."""

    text: str
    start: float
    end: float
    confidence: float


def placed_words(image: Floats, letters: Sequence[Letter], *, above: float, below: float) -> list[PlacedWord]:
    """Returns the words of a line with the columns in which they stand.

    image: [H, W], normalised, ink about 1. above, below: how far it reaches from the baseline, in type sizes.
    The letters' places are those of CTC's peaks, which are within the letters or beside them; so a word ends where the
    widest white between it and the next begins, and where there is none, half way.
    """
    words = [
        list(group)
        for is_word, group in groupby(letters, lambda letter: not letter.text.isspace())
        if is_word
    ]
    if not words:
        return []
    height, width = image.shape
    top, bottom = (round(height * (above + side) / (above + below)) for side in (-ASCENT, DESCENT))
    inked: Mask = image[max(0, top) : max(1, bottom)].max(0) > _INK
    reach = round(_REACH * height)
    starts = [_first_ink(inked, round(words[0][0].x), reach)]
    ends = []
    for before, after in pairwise(words):
        left, right = _white(inked, before[-1].x, after[0].x)
        ends.append(left)
        starts.append(right)
    last = width - 1 - round(words[-1][-1].x)
    ends.append(width - _first_ink(inked[::-1], last, reach))
    return [
        PlacedWord(
            text="".join(letter.text for letter in word),
            start=start,
            end=max(end, start + 1),
            confidence=fmean(letter.chance for letter in word),
        )
        for word, start, end in zip(words, starts, ends, strict=True)
    ]


def _first_ink(inked: Mask, x: int, reach: int) -> float:
    """Returns the first inked column of those from `reach` before x up to x; x where there is none."""
    begin = max(0, x - reach)
    found = np.flatnonzero(inked[begin : x + 1])
    return float(begin + found[0]) if len(found) else float(max(0, x))


def _white(inked: Mask, left: float, right: float) -> tuple[float, float]:
    """Returns the widest run of columns without ink between two places, (start, end); their middle twice if none is."""
    begin, end = max(0, int(left)), min(len(inked), int(right) + 1)
    middle = (left + right) / 2
    return max(_runs(inked[begin:end], begin), key=lambda run: run[1] - run[0], default=(middle, middle))


def _runs(inked: Mask, offset: int) -> Iterator[tuple[float, float]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[True], inked, [True]]).astype(np.int8)))
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield float(offset + start), float(offset + end)
