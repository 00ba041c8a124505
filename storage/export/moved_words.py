"""Gives the words of a corrected text the boxes of the words that were read."""

from collections.abc import Sequence
from itertools import groupby

from rapidfuzz.distance import Levenshtein

from storage.types import BoxPx, WordRecord


def moved(words: Sequence[WordRecord], text: str) -> list[WordRecord]:
    """Returns the words of the text, with the boxes of those words, which were read in the same place.

    A word that stands for one that was read has its box; so have several for as many. Words that were joined have the
    box around them, and one that was parted is parted by its letters. Others have no box. What is not as it was read
    has no confidence.
    """
    names = text.split()
    read = [word.text for word in words]
    if names == read:
        return list(words)
    found: list[WordRecord] = []
    for is_equal, steps in groupby(Levenshtein.opcodes(read, names), key=lambda step: step.tag == "equal"):
        first, *others = steps
        last = others[-1] if others else first
        old, new = words[first.src_start : last.src_end], names[first.dest_start : last.dest_end]
        if is_equal:
            found += old
        else:
            found += [
                WordRecord(text=name, box_px=box) for name, box in zip(new, _boxes(old, new), strict=True)
            ]
    return found


def _boxes(old: Sequence[WordRecord], new: Sequence[str]) -> list[BoxPx | None]:
    boxes = [word.box_px for word in old]
    if len(old) == len(new):
        return boxes
    known = [box for box in boxes if box is not None]
    if len(new) == 1 and known and len(known) == len(old):
        x0, y0, x1, y1 = zip(*known, strict=True)
        return [(min(x0), min(y0), max(x1), max(y1))]
    if len(old) == 1 and known:
        return list(_parted(known[0], new))
    return [None] * len(new)


def _parted(box: BoxPx, names: Sequence[str]) -> list[BoxPx]:
    """Returns a box for each name, side by side in the box, as wide as their letters, with a space between."""
    x0, y0, x1, y1 = box
    total = sum(map(len, names)) + len(names) - 1
    parts: list[BoxPx] = []
    before = 0
    for name in names:
        left, right = before / total, (before + len(name)) / total
        parts.append((round(x0 + left * (x1 - x0)), y0, round(x0 + right * (x1 - x0)), y1))
        before += len(name) + 1
    return parts
