"""A line of text on a page, as found: its ends, its baseline and its type size; and as read."""

import cmath
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import ASCENT, DESCENT

Floats = npt.NDArray[np.float32]
Shades = npt.NDArray[np.uint8]  # of a page or a part of it: how dark each pixel is, 0 is white
Ints = npt.NDArray[np.int64]
Box = tuple[float, float, float, float]

# In type sizes: the band above the baseline in which ink of a line is looked for; what reaches so far beyond it is a
# rule beside the line.
TOP, BOTTOM = 0.62, 0.02
ABOVE_LETTERS, BELOW_LETTERS = 0.9, 0.3
_SAMPLES = np.arange(12.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextLine:
    """A line of text in page pixels.

    left, right: its ends. baseline: [right - left] float32, y of the baseline at each pixel column, so a line may be
    slanted or curved. size: its type size. is_sure: whether it was found for sure; others are text if they are read so.
    """

    left: int
    right: int
    baseline: Floats
    size: float
    is_sure: bool = True

    @cached_property
    def middle(self) -> float:
        """The baseline's height in the middle of the line."""
        return float(middle_of(self.baseline))

    def between(self, left: int, right: int, slope: float = 0.0) -> "TextLine":
        """Returns the line cut or lengthened to these ends; beyond its own the baseline goes on with this slope."""
        if (left, right) == (self.left, self.right):
            return self
        x = np.arange(left - self.left, right - self.left)
        own = np.clip(x, 0, len(self.baseline) - 1)
        baseline = (self.baseline[own] + slope * (x - own)).astype(np.float32)
        return replace(self, left=left, right=right, baseline=baseline)

    def joined(self, after: "TextLine") -> "TextLine":
        """Returns the line with another that goes on with it as one; between them the baseline is straight."""
        right = max(self.right, after.right)
        begin = max(self.right, after.left)
        own = np.concatenate([np.arange(self.left, self.right), np.arange(begin, after.right)])
        baselines = np.concatenate([self.baseline, after.baseline[begin - after.left :]])
        widths = self.right - self.left, after.right - after.left
        baseline = np.interp(np.arange(self.left, right), own, baselines).astype(np.float32)
        size = float(np.average([self.size, after.size], weights=widths))
        return replace(self, right=right, baseline=baseline, size=size, is_sure=self.is_sure or after.is_sure)

    def band(self, darkness: Shades, columns: Ints, above: Any = TOP, below: Any = -BOTTOM) -> Shades:
        """Returns rows of the page's pixels along the line, [12, columns]; level beyond its ends.

        darkness: the page's, [H, W], with all of the columns. above, below: how far the rows reach from the baseline,
        in type sizes; [B] each for [12, B, columns].
        """
        step = (above + below) * self.size / _SAMPLES[-1]
        offsets = (np.multiply.outer(_SAMPLES, step) - above * self.size).astype(np.float32)
        base = self.baseline.take(columns - self.left, mode="clip")
        rows = np.rint(base + offsets[..., None]).clip(0, len(darkness) - 1).astype(np.intp)
        pixels: Shades = darkness.take(rows * darkness.shape[1] + columns)
        return pixels

    def box_of(self, word: "LineWord | TextLine") -> Box:
        """Returns the bounds of one of its words, or of itself, ascenders and descenders included, as of the line's."""
        first = min(max(0, int(word.left) - self.left), len(self.baseline) - 1)
        part = self.baseline[first : max(first + 1, int(word.right) - self.left)]
        top, bottom = float(part.min()) - ASCENT * self.size, float(part.max()) + DESCENT * self.size
        return float(word.left), top, float(word.right), bottom

    @cached_property
    def box(self) -> Box:
        """Its bounds (x0, y0, x1, y1), ascenders and descenders included."""
        return self.box_of(self)


class LineWord(NamedTuple):
    """A word of a line. left, right: its ends, in page pixels. confidence: as a line's."""

    text: str
    left: float
    right: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLine:
    """A line and its text. confidence: the mean probability of its characters, 0 to 1; 0 where nothing was read.

    words: those of text.split(), in its order. is_rule: it is a rule, printed or typed, and has no text. hole: how wide
    the widest of its ink is from which no letter was read, in type sizes.
    """

    line: TextLine
    text: str
    confidence: float
    words: tuple[LineWord, ...] = ()
    is_rule: bool = False
    hole: float = 0.0

    @property
    def num_letters(self) -> int:
        """The letters and digits of its text."""
        return sum(map(str.isalnum, self.text))

    @property
    def words_confidence(self) -> float:
        """Its confidence without words that hold no letter or digit: the marks of a leader are read less surely."""
        words = [word for word in self.words if any(map(str.isalnum, word.text))]
        if len(words) == len(self.words):
            return self.confidence
        unsure = sum((1 - word.confidence) * len(word.text) for word in words)
        return 1 - unsure / max(1, sum(len(word.text) + 1 for word in words))


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedLines:
    """Lines of a page, or of a part of it, that run from left to right once it is rotated clockwise by turn_deg.

    lines: in pixels of what was rotated. width_px, height_px, left, top: of it as it stands, and where it begins.
    """

    turn_deg: float
    lines: tuple[ReadLine, ...]
    width_px: int
    height_px: int
    left: int = 0
    top: int = 0

    @property
    def boxes(self) -> list[Box]:
        """Where the lines are on the page as it stands."""
        return [self.as_it_stands(read.line.box) for read in self.lines]

    def as_it_stands(self, box: Box) -> Box:
        """Returns the bounds on the page as it stands of what is in a box once it is rotated."""
        turn = cmath.rect(1, -math.radians(self.turn_deg))
        middle, across, down = complex(self.width_px, self.height_px) / 2, abs(turn.real), abs(turn.imag)
        turned = complex(across * middle.real + down * middle.imag, down * middle.real + across * middle.imag)
        begin = complex(self.left, self.top) + middle - turned * turn
        corners = [begin + complex(x, y) * turn for x in box[::2] for y in box[1::2]]
        x, y = [round(it.real, 3) for it in corners], [round(it.imag, 3) for it in corners]
        return min(x), min(y), max(x), max(y)


def middle_of(values: Floats) -> np.float32:
    """Returns the median of [N], as NumPy does in several times the time."""
    ordered = np.sort(values)
    middle: np.float32 = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return middle


def shared(box: Box, other: Box) -> float:
    """Returns the share of a box that lies in another, 0 to 1."""
    across, down = (max(0.0, min(box[n + 2], other[n + 2]) - max(box[n], other[n])) for n in (0, 1))
    return across * down / max(1.0, (box[2] - box[0]) * (box[3] - box[1]))
