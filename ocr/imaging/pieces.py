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
    first = np.flatnonzero(np.append(True, (np.diff(row) != 0) | (start[1:] - end[:-1] > gap_px)))
    num_inked = np.add.reduceat(end - start, first)
    row, start, end = row[first], start[first], end[np.append(first[1:], len(end)) - 1]
    # Which stretches of the row above touch each: their places in a line of all rows, one after the other.
    wide = ink.shape[1] + 1
    above = np.searchsorted(row * wide + end, (row - 1) * wide + start)
    behind = np.searchsorted(row * wide + start, (row - 1) * wide + end, "right")
    num_above = np.maximum(behind - above, 0)
    one = np.repeat(np.arange(len(row)), num_above)
    other = np.arange(len(one)) + np.repeat(above + num_above - np.cumsum(num_above), num_above)
    piece = np.arange(len(row))  # of each stretch: the number of the last one that hangs together with it
    while (last := np.maximum(piece[one], piece[other])).size:
        before = piece.copy()
        for side in (piece[one], piece[other], one, other):
            np.maximum.at(piece, side, last)
        piece = piece[piece]
        if np.array_equal(piece, before):
            break
    order = np.argsort(piece, kind="stable")
    begins = np.flatnonzero(np.diff(piece[order], prepend=-1))
    bounds = [np.minimum.reduceat(own[order], begins).tolist() for own in (start, row)]
    bounds += [np.maximum.reduceat(own[order], begins).tolist() for own in (end, row + 1)]
    bounds.append(np.add.reduceat(num_inked[order], begins).tolist())
    return [Piece(x0=x0, y0=y0, x1=x1, y1=y1, ink=num) for x0, y0, x1, y1, num in zip(*bounds, strict=True)]
