"""Joins what is found on a page at several scales: each line as it is seen where its type size suits the finder.

Type that is large for the finder is found in pieces or not at all; on the page reduced it is like any other.
Numpy only.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ocr.line_reader.found_lines import TextLine

# Type sizes in the finder's input. Of single words and numbers of 30 px some are found in pieces, of 60 px half; of
# those under 8 px the ends are seen better at a larger scale.
_LEAST_PX, _BEST_PX, _LARGE_PX = 8.0, 15.0, 25.0
_CAPS = 0.7  # of the type size: a line's ink is in this band above its baseline
_ALIKE = 1.6  # of type sizes: pieces of a line are so many times larger or smaller at most
# Of the smaller of two bands, unlike and alike: lines that share more are one, or one of them is none.
_SHARED = 0.4, 0.1
# In type sizes: the ends of lines are found as near as that; a line of a few letters is shorter, and easily none.
_BEYOND, _LONG = 0.5, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The lines that were found on a page reduced by scale."""

    scale: float
    lines: Sequence[TextLine]

    def sizes_px(self) -> list[float]:
        """Returns their type sizes in the finder's input."""
        return [line.size * self.scale for line in self.lines]

    def misfit(self, line: TextLine) -> float:
        """Returns how far a line's type is from the size that is found best, as a logarithm."""
        return abs(math.log(line.size * self.scale / _BEST_PX))


def is_worth_halving(first: Look, far: Look) -> bool:
    """Tells whether lines are too large for the first look and small for one at a quarter of its scale."""
    return any(size > _LARGE_PX for size in first.sizes_px()) or any(
        _LEAST_PX <= size < _BEST_PX for size in far.sizes_px()
    )


def merged(looks: Sequence[Look], letters: Callable[[Sequence[TextLine]], int]) -> list[TextLine]:
    """Returns the lines of several looks at a page, none twice, in no order.

    looks: the closest first. Its lines stay where no other look saw larger ones. letters: how many letters and digits
    lines surely have, asked where lines of one look are not those of another.
    """
    kept = [(line, looks[0]) for line in looks[0].lines]
    least = _LARGE_PX / looks[0].scale
    seen = ((line, look) for look in looks[1:] for line in look.lines if line.size * look.scale >= _LEAST_PX)
    large = [(line, look) for line, look in seen if line.size > least]
    for line, look in sorted(large, key=lambda found: found[1].misfit(found[0])):
        # That cannot be there too.
        rivals = [it for it in kept if _share(line, it[0]) > _SHARED[_are_alike(line, it[0])]]
        is_long = line.right - line.left > _LONG * line.size
        is_whole = bool(rivals) and all(_is_piece(other, of, line, look) for other, of in rivals)
        if (is_long and is_whole) or 0 < letters([line]) > letters([other for other, _ in rivals]):
            kept = [found for found in kept if found not in rivals] + [(line, look)]
    return [line for line, _ in kept]


def _are_alike(one: TextLine, other: TextLine) -> bool:
    return 1 / _ALIKE < one.size / other.size < _ALIKE


def _is_piece(piece: TextLine, of: Look, line: TextLine, look: Look) -> bool:
    """Returns whether one look's line is a piece of another's, or all of it, that suits its look less."""
    return (
        look.misfit(line) < of.misfit(piece)
        and (_are_alike(line, piece) or piece.size * of.scale > _LARGE_PX)
        and line.left - piece.left < _BEYOND * line.size
        and piece.right - line.right < _BEYOND * line.size
    )


def _share(one: TextLine, other: TextLine) -> float:
    """Returns what share of the smaller line's band lies in the other's."""
    left, right = max(one.left, other.left), min(one.right, other.right)
    if left >= right:
        return 0.0
    bases = [line.baseline[left - line.left : right - line.left] for line in (one, other)]
    top = np.maximum(*(base - _CAPS * line.size for base, line in zip(bases, (one, other), strict=True)))
    height = np.clip(np.minimum(*bases) - top, 0, None)
    return float(height.sum()) / min(_CAPS * line.size * (line.right - line.left) for line in (one, other))
