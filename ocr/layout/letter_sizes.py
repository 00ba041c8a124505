"""Measures the size of a page's letters, and about how many there are at each place.

The page is examined in upright strips a few letters wide. In a strip, a line of text is a run of rows with
much ink, as high as its small letters: the x-height. That holds for any columns and for slightly turned pages.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ocr.imaging.ink import Mask

_STRIP_SHARE = 1 / 28
_MIN_STRIP_PX = 24
_WINDOW_PX = 25
_DENSE = 0.38
_HALVES, _BETWEEN_HALVES = 1.2, 0.18
_SMALLEST = 0.6
_MIN_X_HEIGHT_PX = 3
_LEVEL = 0.25
_MAX_X_HEIGHT_PX = 60
# The inked pixel columns of a letter per x-height: letters are about as wide as high, with white between them.
_LETTER_WIDTH = 0.68
_WORD = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Sections of text lines, one element each. x0, x1: the section's strip; top, bottom: its small letters, px.

    num_chars: the approximate number of characters, spaces included.
    """

    x0: npt.NDArray[np.int64]
    x1: npt.NDArray[np.int64]
    top: npt.NDArray[np.int64]
    bottom: npt.NDArray[np.int64]
    num_chars: npt.NDArray[np.float64]

    def within(self, x0: int, y0: int, x1: int, y1: int) -> "Lines":
        """Returns the sections whose middle lies in a box."""
        x, y = (self.x0 + self.x1) / 2, (self.top + self.bottom) / 2
        inside = (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
        return Lines(
            x0=self.x0[inside],
            x1=self.x1[inside],
            top=self.top[inside],
            bottom=self.bottom[inside],
            num_chars=self.num_chars[inside],
        )

    def share_in_rows(self) -> float:
        """Returns the share of characters in lines that go on at the same height in the strip to the right or left.

        Nearly all of a text's lines do; marks in a picture lie anywhere.
        """
        goes_on = np.zeros(len(self.top), dtype=np.bool_)
        for edge in np.unique(self.x0):
            left, right = np.flatnonzero(self.x1 == edge), np.flatnonzero(self.x0 == edge)
            apart = np.abs(self.bottom[left, None] - self.bottom[None, right])
            taller = np.maximum.outer((self.bottom - self.top)[left], (self.bottom - self.top)[right])
            near = apart <= np.maximum(1, _LEVEL * taller)
            goes_on[left] |= near.any(axis=1)
            goes_on[right] |= near.any(axis=0)
        return float(self.num_chars[goes_on].sum() / max(self.total_chars, 1.0))

    @property
    def total_chars(self) -> float:
        """The approximate number of characters in all sections."""
        return float(self.num_chars.sum())

    def x_height_px(self, share: float = 0.25) -> float:
        """Returns the height that a share of the text does not exceed, by its length in pixels; 0 without any."""
        heights = self.bottom - self.top
        return _weighted_percentile(heights, self.num_chars * heights, share)


def find_lines(text: Mask) -> Lines:
    """Returns the sections of text lines of a page. text: [H, W] bool."""
    width = text.shape[1]
    strip = max(_MIN_STRIP_PX, round(_STRIP_SHARE * width))
    num_strips = max(1, width // strip)
    edges = np.linspace(0, width, num_strips + 1).astype(np.int64)
    bits = _bits(text, edges)
    counts = _ones(bits).astype(np.int32)
    padded = np.pad(counts, ((1, 1), (0, 0)), mode="edge")
    smooth = ((padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4).astype(np.float32)
    most = _highest_near(smooth)
    dense = (smooth > _DENSE * most) & (smooth >= 0.04 * strip)
    starts_ends = np.diff(np.pad(dense, ((1, 1), (0, 0))).astype(np.int8), axis=0)
    strips, tops = np.nonzero(starts_ends.T == 1)
    _, bottoms = np.nonzero(starts_ends.T == -1)
    strips, tops, bottoms = _joined(strips, tops, bottoms, (smooth / np.maximum(most, 1)).astype(np.float32))
    heights = bottoms - tops
    kept = (heights >= _MIN_X_HEIGHT_PX) & (heights <= _MAX_X_HEIGHT_PX)
    strips, tops, bottoms = strips[kept], tops[kept], bottoms[kept]
    covered = _covered(bits, strips, tops, bottoms)
    heights = bottoms - tops
    usual = _weighted_percentile(heights, covered, 0.5)
    # Exponents are half as high as the letters beside them, and about as wide.
    chars = covered / (_LETTER_WIDTH * np.maximum(heights, _SMALLEST * usual))
    real = chars >= 1
    return Lines(
        x0=edges[strips][real],
        x1=edges[strips + 1][real],
        top=tops[real],
        bottom=bottoms[real],
        num_chars=chars[real],
    )


def _weighted_percentile(
    values: npt.NDArray[np.int64], weights: npt.NDArray[np.float64], share: float
) -> float:
    """Returns the value that a share of the weight does not exceed; 0 without any."""
    if not len(values):
        return 0.0
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][int(np.searchsorted(reached, share * reached[-1]))])


def _joined(
    strips: npt.NDArray[np.int64],
    tops: npt.NDArray[np.int64],
    bottoms: npt.NDArray[np.int64],
    profile_HS: npt.NDArray[np.float32],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Joins the two halves of figures and capitals, whose middle has less ink than their top and foot."""
    joined: list[list[int]] = []
    for strip, top, bottom in zip(strips.tolist(), tops.tolist(), bottoms.tolist(), strict=True):
        if joined and joined[-1][0] == strip:
            _, upper, end = joined[-1]
            near = top - end <= _HALVES * max(end - upper, bottom - top)
            if near and profile_HS[end:top, strip].min() >= _BETWEEN_HALVES:
                joined[-1][2] = bottom
                continue
        joined.append([strip, top, bottom])
    table = np.array(joined, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _highest_near(profile_HS: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Returns the highest value of the rows around each, strip by strip."""
    padded = np.pad(profile_HS, ((_WINDOW_PX, _WINDOW_PX), (0, 0)))
    highest = profile_HS.copy()
    # Doubling windows make a running maximum in a few passes.
    size, running = 1, padded
    while size * 2 <= 2 * _WINDOW_PX + 1:
        running = np.maximum(running[:-size], running[size:])
        size *= 2
    rest = 2 * _WINDOW_PX + 1 - size
    running = np.maximum(running[: len(running) - rest], running[rest:])
    highest[:] = running[: len(profile_HS)]
    return highest


def _bits(text: Mask, edges: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Returns the rows of each strip as bits: [H, strips, words]. edges: where strips begin, and the last one ends."""
    num_words = -(-int(np.diff(edges).max()) // _WORD)
    padded = np.zeros((len(text), len(edges) - 1, _WORD * num_words), np.bool_)
    for number, (left, right) in enumerate(pairwise(edges.tolist())):
        padded[:, number, : right - left] = text[:, left:right]
    return np.packbits(padded, axis=2).view(np.uint64)


def _ones(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Returns how many bits are set in the last axis. Source: H. S. Warren, Hacker's Delight, 5-1."""
    pairs = bits - (bits >> 1 & 0x5555555555555555)
    nibbles = (pairs & 0x3333333333333333) + (pairs >> 2 & 0x3333333333333333)
    octets = nibbles + (nibbles >> 4) & 0x0F0F0F0F0F0F0F0F
    ones: npt.NDArray[np.uint64] = (octets * 0x0101010101010101 >> 56).sum(axis=-1)
    return ones


def _covered(
    bits: npt.NDArray[np.uint64],
    strips: npt.NDArray[np.int64],
    tops: npt.NDArray[np.int64],
    bottoms: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Returns how many pixel columns have ink in each section. Sections come strip by strip, from top to bottom."""
    height, _, num_words = bits.shape
    if not len(strips):
        return np.zeros(0)
    # One row below the last, as reduceat() begins another stretch where a section ends.
    below = np.zeros((1, num_words), np.uint64)
    flat = np.concatenate([bits.transpose(1, 0, 2).reshape(-1, num_words), below])
    ends = np.stack([strips * height + tops, strips * height + bottoms], axis=1).ravel()
    return _ones(np.bitwise_or.reduceat(flat, ends, axis=0)[::2]).astype(np.float64)
