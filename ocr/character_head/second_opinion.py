"""Gives a second opinion on a page, by the encoder's character head, to check the decoded text against.

The head names the character in each cell of 4 x 16 px without reading: it knows no words and no order, so it
neither stops early nor invents. A character covers a run of equal cells, in several rows where it is large;
two equal letters in a row are one run. Text is therefore compared by its marks: without white space, and with
repeated letters written once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # torch-free, as processes that localize texts use it too
    from encoders.types import VisionTokens

NUM_RESERVED = 2  # classes before the characters' own: no character, another character
_OTHER = "\ufffd"
_GRAM = 3
_SHORT = 5
# Patterns in pictures pass for a few characters, and the text that the decoder invents shares none with those.
_FEW = 64
_INVENTED = 0.1
# A pattern of dots or strokes passes for hundreds of characters, which make up no words.
_MANY, _FEW_IN_WORDS = 60, 12
_WORD = re.compile(r"[^\W_]{3,}")
_WINDOW_CELLS = 12
_SAME_LINE = (
    0.25  # neighbouring rows of one line of text agree in more than half of their cells, others in 6%
)
_TAGS = re.compile(
    r"<\|ref\|>[^<]*+<\|/ref\|>|<\|det\|>[^<]*+<\|/det\|>|<\|[^<>|]*+\|>|</?(?:table|tr|td|th|thead|tbody)>"
)
_REPEATED = re.compile(r"(.)\1+")


@dataclass(frozen=True, kw_only=True)
class SecondOpinion:
    """The marks that the character head sees on a page.

    num_marks: the number of characters, without white space and with repeated letters once. lines: the marks of each
    row of cells that has any, top to bottom; a row crosses columns, and large text fills several rows.
    """

    num_marks: int
    lines: tuple[str, ...]

    @cached_property
    def known_grams(self) -> frozenset[str]:
        """Every mark and every three in a row of any line. Computed on first use, as most readings never need them."""
        return frozenset(chain.from_iterable((*line, *grams(line)) for line in self.lines))

    def found(self, text: str) -> float | None:
        """Returns the share of a text that the head sees too, by its runs of three marks; None for an empty text.

        A text of up to five marks is judged by its single marks, as one misread mark would leave it without a run.
        """
        written = marks(text)
        own = grams(written) if len(written) > _SHORT else list(written)
        return sum(map(self.known_grams.__contains__, own)) / len(own) if own else None

    def written(self, text: str) -> float | None:
        """Returns the share of the head's runs of three marks that are in the text; None where it sees none."""
        own = frozenset(grams(marks(text)))
        seen = [gram for line in self.lines for gram in grams(line)]
        return sum(map(own.__contains__, seen)) / len(seen) if seen else None

    @property
    def is_pattern(self) -> bool:
        """True if the head sees many marks with hardly a word among them: dots, hatching, a halftone; not text.

        Three different letters or digits in a row count as part of a word, since dots pass for "oooo" with an
        occasional
        "c". Contents with leaders and blank forms have words, however many dots are next to them.
        """
        if self.num_marks < _MANY:
            return False
        words = (word for line in self.lines for word in _WORD.findall(line))
        return sum(len(set(gram)) == _GRAM for word in words for gram in grams(word)) < _FEW_IN_WORDS

    def is_none_of(self, text: str) -> bool:
        """Returns whether a text is not on the page at all: the head sees next to nothing, and nothing of the text."""
        if self.num_marks >= _FEW:
            return False
        found = self.found(text)
        return found is None or found < _INVENTED


def visible(raw: str) -> str:
    """Returns a model's output without grounding regions and table tags: the part that is printed on the page."""
    return _TAGS.sub(" ", raw) if "<" in raw else raw


def marks(text: str) -> str:
    """Returns the marks of a text: its characters without white space, repeated ones once."""
    return _REPEATED.sub(r"\1", "".join(text.split()))


def grams(line: str) -> list[str]:
    """Returns every run of three characters."""
    return [line[start : start + _GRAM] for start in range(len(line) - _GRAM + 1)]


def opinion_of(page: "VisionTokens", characters: str | None) -> SecondOpinion | None:
    """Returns the head's opinion of a page; None for a model without a head, or whose head's classes have no names."""
    if page.cells_HW is None or characters is None:
        return None
    return read_cells(page.cells_HW.cpu().numpy(), characters)


def read_cells(cells_HW: npt.NDArray[np.int16], characters: Sequence[str]) -> SecondOpinion:
    """Returns the opinion for a page's cells. characters: those of the classes from NUM_RESERVED on."""
    names = ["", _OTHER, *characters]
    starts = _starts(cells_HW)
    rows = (cells_HW[row][starts[row]] for row in np.flatnonzero(starts.any(1)))
    lines = tuple("".join(map(names.__getitem__, row.tolist())) for row in rows)
    return SecondOpinion(
        num_marks=int((starts & ~_continued(cells_HW)).sum()),
        lines=lines,
    )


def _starts(cells_HW: npt.NDArray[np.int16]) -> npt.NDArray[np.bool_]:
    """Returns for each cell whether a run of equal characters begins there."""
    starts = cells_HW > 0
    starts[:, 1:] &= cells_HW[:, 1:] != cells_HW[:, :-1]
    return starts


def _continued(cells_HW: npt.NDArray[np.int16]) -> npt.NDArray[np.bool_]:
    """Returns for each cell whether it only continues the row above: its character, or its line of text."""
    above = np.zeros_like(cells_HW)
    above[1:] = cells_HW[:-1]
    above_right = np.zeros_like(cells_HW)
    above_right[:, :-1] = above[:, 1:]
    filled = (cells_HW > 0) & (above > 0)
    same_mark = filled & ((cells_HW == above) | (cells_HW == above_right))
    same_line = filled & (_around(filled & (cells_HW == above)) > _SAME_LINE * _around(filled))
    continued: npt.NDArray[np.bool_] = same_mark | same_line
    return continued


def _around(flags_HW: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Returns how many flags of the same row are set within 12 cells to either side."""
    padded = np.pad(flags_HW.astype(np.int64), ((0, 0), (_WINDOW_CELLS + 1, _WINDOW_CELLS)))
    sums = padded.cumsum(1)
    width = 2 * _WINDOW_CELLS + 1
    counts: npt.NDArray[np.int64] = sums[:, width:] - sums[:, :-width]
    return counts
