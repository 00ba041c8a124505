"""Turns text into marks, both as the model wrote it and as the character head sees it.

A mark is a character that is not white space; repeated ones count once, since two equal letters side by
side are one run of cells. Characters that are easily confused (capitals and small letters, dashes,
zero and o) are one mark, which is enough to find places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

import numpy as np
import numpy.typing as npt

from ocr.character_head.second_opinion import NUM_RESERVED

OTHER = 1  # the class of characters without one of their own
_ALIKE = str.maketrans({
    **dict.fromkeys("1I|!¡ı", "l"), **dict.fromkeys("0", "o"), **dict.fromkeys("‐‑–—−", "-"),
    **dict.fromkeys("‘’‚´`", "'"), **dict.fromkeys("“”„", '"'), **dict.fromkeys("•·∙", "."),
})  # fmt: skip
_SAME_GAP_CELLS = 12  # equal runs no further apart are one mark, as in `. . .`

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenMarks:
    """The marks of several texts, one after another.

    mark: [T] classes. text: [T] the number of the text. letters: the T characters as they were written. times: [T] how
    many characters each stands for.
    """

    mark: Ints
    text: Ints
    letters: str
    times: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMarks:
    """The marks of a page, row by row of cells. mark: [S] classes; row; x0, x1: the cells it covers, [x0, x1)."""

    mark: Ints
    row: Ints
    x0: Ints
    x1: Ints


@lru_cache(maxsize=2)  # a model's characters are those of every page
def alike(characters: str) -> Ints:
    """Returns the mark of each class, [classes]: the first class that looks like it. Cached and read-only."""
    first = _marks_of(characters)
    found = np.array([*range(NUM_RESERVED), *(first[_look(letter)] for letter in characters)], np.int64)
    found.flags.writeable = False
    return found


def written_marks(texts: Sequence[str], characters: str) -> WrittenMarks:
    """Returns the marks of texts. characters: those of the classes from NUM_RESERVED on."""
    marks_of = _marks_of(characters)
    words = ["".join(text.split()) for text in texts]
    letters = "".join(words)
    marks = {letter: marks_of.get(_look(letter), OTHER) for letter in set(letters)}
    mark = np.array([marks[letter] for letter in letters], np.int64)
    number = np.repeat(np.arange(len(texts)), [len(word) for word in words])
    first = np.ones(len(mark), bool)
    first[1:] = (mark[1:] != mark[:-1]) | (number[1:] != number[:-1])
    kept = "".join(compress(letters, first.tolist()))
    times = np.diff(np.append(np.flatnonzero(first), len(mark)))
    return WrittenMarks(mark=mark[first], text=number[first], letters=kept, times=times)


def seen_marks(cells_HW: npt.NDArray[np.int16], characters: str) -> SeenMarks:
    """Returns the runs of equal cells as marks. characters: those of the classes from NUM_RESERVED on."""
    filled = cells_HW > 0
    changes = np.ones((cells_HW.shape[0], cells_HW.shape[1] + 1), bool)
    changes[:, 1:-1] = cells_HW[:, 1:] != cells_HW[:, :-1]
    row, x0 = np.nonzero(changes[:, :-1] & filled)
    x1 = np.nonzero(changes[:, 1:] & filled)[1] + 1
    mark = alike(characters)[cells_HW[row, x0]]
    first = np.ones(len(mark), bool)
    first[1:] = (mark[1:] != mark[:-1]) | (row[1:] != row[:-1]) | (x0[1:] - x1[:-1] > _SAME_GAP_CELLS)
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], len(mark)) - 1
    return SeenMarks(mark=mark[starts], row=row[starts], x0=x0[starts], x1=x1[ends[: len(starts)]])


@lru_cache(maxsize=2)
def _marks_of(characters: str) -> Mapping[str, int]:
    """Returns the first class for each group of similar characters."""
    found: dict[str, int] = {}
    for index, character in enumerate(characters):
        found.setdefault(_look(character), index + NUM_RESERVED)
    return found


def _look(character: str) -> str:
    return character.lower().translate(_ALIKE) if character != "I" else "l"
