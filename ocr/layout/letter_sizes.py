"""Measures the size of a page's letters, and about how many there are at each place.

The page is examined in upright strips a few letters wide. In a strip, a line of text is a run of rows with
much ink, as high as its small letters: the x-height (PAGE_ROWS of ocr.imaging.measures). That holds for any columns
and for slightly turned pages.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import LETTER_WIDTH, PAGE_ROWS
from ocr.imaging.profiles import Ints, Mask, letter_rows

Bits = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.float64]

# The width of a strip: some five letters of usual type, and no fewer than two.
_STRIP_SHARE, _MIN_STRIP_PX = 1 / 28, 24
# The least height by which letters are counted, as a share of the usual: exponents are half as high as the letters
# beside them, and about as wide.
_SMALLEST = 0.6
# Sections that end at heights nearer than this, as a share of the taller one's, are of one line.
_LEVEL = 0.25
_WORD = 64  # bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Sections of text lines, one element each. x0, x1: the section's strip; top, bottom: its small letters, px.

    num_chars: the approximate number of characters, spaces included.
    """

    x0: Ints
    x1: Ints
    top: Ints
    bottom: Ints
    num_chars: Counts

    def within(self, x0: int, y0: int, x1: int, y1: int) -> "Lines":
        """Returns the sections whose middle lies in a box."""
        x, y = (self.x0 + self.x1) / 2, (self.top + self.bottom) / 2
        return self._take((x >= x0) & (x < x1) & (y >= y0) & (y < y1))

    def _take(self, chosen: Mask) -> "Lines":
        return Lines(**{name: getattr(self, name)[chosen] for name in self.__slots__})

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
    strips, tops, bottoms = letter_rows(_ones(bits), strip, PAGE_ROWS)
    covered, heights = _covered(bits, strips, tops, bottoms), bottoms - tops
    usual = _weighted_percentile(heights, covered, 0.5)
    chars = covered / (LETTER_WIDTH * np.maximum(heights, _SMALLEST * usual))
    found = Lines(x0=edges[strips], x1=edges[strips + 1], top=tops, bottom=bottoms, num_chars=chars)
    return found._take(chars >= 1)


def _weighted_percentile(values: Ints, weights: Counts, share: float) -> float:
    """Returns the value that a share of the weight does not exceed; 0 without any."""
    if not len(values):
        return 0.0
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][int(np.searchsorted(reached, share * reached[-1]))])


def _bits(text: Mask, edges: Ints) -> Bits:
    """Returns the rows of each strip as bits: [H, strips, words]. edges: where strips begin, and the last one ends."""
    num_words = -(-int(np.diff(edges).max()) // _WORD)
    padded = np.zeros((len(text), len(edges) - 1, _WORD * num_words), np.bool_)
    for number, (left, right) in enumerate(pairwise(edges.tolist())):
        padded[:, number, : right - left] = text[:, left:right]
    return np.packbits(padded, axis=2).view(np.uint64)


def _ones(bits: Bits) -> Bits:
    """Returns how many bits are set in the last axis. Source: H. S. Warren, Hacker's Delight, 5-1."""
    pairs = bits - (bits >> 1 & 0x5555555555555555)
    nibbles = (pairs & 0x3333333333333333) + (pairs >> 2 & 0x3333333333333333)
    octets = nibbles + (nibbles >> 4) & 0x0F0F0F0F0F0F0F0F
    ones: Bits = (octets * 0x0101010101010101 >> 56).sum(axis=-1)
    return ones


def _covered(bits: Bits, strips: Ints, tops: Ints, bottoms: Ints) -> Counts:
    """Returns how many pixel columns have ink in each section. Sections come strip by strip, from top to bottom."""
    height, _, num_words = bits.shape
    if not len(strips):
        return np.zeros(0)
    # One row below the last, as reduceat() begins another stretch where a section ends.
    below = np.zeros((1, num_words), np.uint64)
    flat = np.concatenate([bits.transpose(1, 0, 2).reshape(-1, num_words), below])
    ends = np.stack([strips * height + tops, strips * height + bottoms], axis=1).ravel()
    return _ones(np.bitwise_or.reduceat(flat, ends, axis=0)[::2]).astype(np.float64)
