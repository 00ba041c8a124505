"""Gives the words of a text the boxes of letters that were found on the page, in about the text's order. Torch-free."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from rapidfuzz.distance import Levenshtein

from ocr.types import Word

BoxPx = tuple[int, int, int, int]
Box = tuple[float, float, float, float]

_ENOUGH = 0.5  # the least share of a word's letters with a place


def words_among(text: str, letters: Sequence[tuple[str, Box]]) -> list[tuple[str, Box | None]]:
    """Returns the words of the text, split at white space, each with the box around its letters.

    letters: one character each, none of them white space, with their boxes. A word of which fewer than half the letters
    are among them has None, or what is left between its neighbours where those stand in one line with it, as do the
    dots between a chapter and its page. Of a word with letters in several lines those in the line of most count.
    """
    own = "".join(text.split())
    places: list[Box | None] = [None] * len(own)
    seen = "".join(letter for letter, _ in letters)
    if own == seen:
        places = [box for _, box in letters]
    else:
        for step in Levenshtein.opcodes(seen, own):
            length = step.src_end - step.src_start
            if (
                length == step.dest_end - step.dest_start
            ):  # equal, or one letter for another in the same place
                found = letters[step.src_start : step.src_end]
                places[step.dest_start : step.dest_end] = [box for _, box in found]
    words: list[tuple[str, Box | None]] = []
    start = 0
    for line in text.splitlines():
        own_words: list[tuple[str, Box | None]] = []
        for word in line.split():
            own_words.append((word, _around(places[start : start + len(word)])))
            start += len(word)
        words += _filled(own_words)
    return words


def _filled(line: Sequence[tuple[str, Box | None]]) -> list[tuple[str, Box | None]]:
    """Returns a line's words, those without a place between their neighbours, as wide as their letters."""
    found = list(line)
    known = [number for number, (_, box) in enumerate(line) if box is not None]
    for before, after in pairwise(known):
        left, right = line[before][1], line[after][1]
        assert left is not None
        assert right is not None
        x0, x1, y0, y1 = left[2], right[0], max(left[1], right[1]), min(left[3], right[3])
        if after == before + 1 or x0 >= x1 or y0 >= y1:
            continue
        names = [word for word, _ in line[before + 1 : after]]
        unit, at = (x1 - x0) / (sum(map(len, names)) + len(names) + 1), x0
        for number, name in enumerate(names, before + 1):
            found[number] = (name, (at + unit, y0, at + (1 + len(name)) * unit, y1))
            at += (1 + len(name)) * unit
    return found


def on_page(
    words: Sequence[tuple[str, Box | None]], scale: float, width_px: int, height_px: int
) -> tuple[Word, ...]:
    """Returns the words with their boxes in pixels, inside the page. scale: pixels for a unit of the boxes."""
    return tuple(Word(text=text, box_px=_inside(box, scale, width_px, height_px)) for text, box in words)


def _around(places: Sequence[Box | None]) -> Box | None:
    known = [box for box in places if box is not None]
    if len(known) < _ENOUGH * len(places):
        return None
    middle = median((y0 + y1) / 2 for _, y0, _, y1 in known)
    line = [box for box in known if box[1] <= middle <= box[3]] or known
    x0, y0, x1, y1 = zip(*line, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def _inside(box: Box | None, scale: float, width_px: int, height_px: int) -> BoxPx | None:
    if box is None:
        return None
    x0, y0, x1, y1 = (round(side * scale) for side in box)
    clipped = max(0, x0), max(0, y0), min(width_px, x1), min(height_px, y1)
    return clipped if clipped[0] < clipped[2] and clipped[1] < clipped[3] else None
