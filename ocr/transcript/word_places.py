"""Gives the words of a text the boxes of letters that were found on the page, in about the text's order. Torch-free."""

from collections.abc import Sequence
from statistics import median

from rapidfuzz.distance import Levenshtein

from ocr.types import Word

BoxPx = tuple[int, int, int, int]
Box = tuple[float, float, float, float]

_ENOUGH = 0.5  # the least share of a word's letters with a place


def words_among(text: str, letters: Sequence[tuple[str, Box]]) -> list[tuple[str, Box | None]]:
    """Returns the words of the text, split at white space, each with the box around its letters.

    letters: one character each, none of them white space, with their boxes. A word of which fewer than half the letters
    are among them has None; so has one whose letters stand in several lines, but for those in the line of most.
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
    for word in text.split():
        words.append((word, _around(places[start : start + len(word)])))
        start += len(word)
    return words


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
