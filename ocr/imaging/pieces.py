"""Finds what hangs together on a page: strokes, letters, words, by the white between them."""

from dataclasses import dataclass

import numpy as np

from ocr.imaging.profiles import Mask, runs


@dataclass(slots=True, kw_only=True)
class Piece:
    """A piece of ink: its bounds in pixels, x1 and y1 behind the last ones, and how many of them are ink."""

    x0: int
    y0: int
    x1: int
    y1: int
    ink: int

    @property
    def width(self) -> int:
        """Its width in pixels."""
        return self.x1 - self.x0

    @property
    def height(self) -> int:
        """Its height in pixels."""
        return self.y1 - self.y0

    def take(self, other: "Piece") -> None:
        """Becomes both pieces."""
        self.x0, self.x1 = min(self.x0, other.x0), max(self.x1, other.x1)
        self.y0, self.y1 = min(self.y0, other.y0), max(self.y1, other.y1)
        self.ink += other.ink


def pieces(ink: Mask, gap_px: int = 0) -> list[Piece]:
    """Returns the pieces of an image. gap_px: ink of one row with no more white between hangs together."""
    row, start, end = runs(ink)
    if not len(row):
        return []
    is_first = np.append(True, (np.diff(row) != 0) | (start[1:] - end[:-1] > gap_px))
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(row)) - 1
    num_inked = np.add.reduceat(end - start, first)
    found: dict[int, Piece] = {}
    above: list[tuple[int, int, int]] = []
    here: list[tuple[int, int, int]] = []
    y = -1
    stretches = zip(
        *(part.tolist() for part in (row[first], start[first], end[last], num_inked)), strict=True
    )
    for number, (own, x0, x1, num) in enumerate(stretches):
        if own != y:
            above, here, y = here if own == y + 1 else [], [], own
        piece = Piece(x0=x0, y0=own, x1=x1, y1=own + 1, ink=num)
        met = {other for left, right, other in above if left <= x1 and x0 <= right}
        if met:
            for other in met:
                piece.take(found.pop(other))
            above = [(a, b, number if other in met else other) for a, b, other in above]
            here = [(a, b, number if other in met else other) for a, b, other in here]
        found[number] = piece
        here.append((x0, x1, number))
    return list(found.values())
