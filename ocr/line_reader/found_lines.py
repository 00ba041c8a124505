"""A line of text on a page, as found: its ends, its baseline and its type size; and as read."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import ASCENT, DESCENT

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TextLine:
    """A line of text in page pixels.

    left, right: its ends. baseline: [right - left] float32, y of the baseline at each pixel column, so a line may be
    slanted or curved. size: its type size.
    """

    left: int
    right: int
    baseline: Floats
    size: float

    @property
    def middle(self) -> float:
        """The baseline's height in the middle of the line."""
        return float(np.median(self.baseline))

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Its bounds (x0, y0, x1, y1), ascenders and descenders included."""
        top, bottom = float(self.baseline.min()), float(self.baseline.max())
        return float(self.left), top - ASCENT * self.size, float(self.right), bottom + DESCENT * self.size


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLine:
    """A line and its text. confidence: the mean probability of its characters, 0 to 1; 0 where nothing was read."""

    line: TextLine
    text: str
    confidence: float
