"""Turns runs of equal cells into letters: decides how many each run stands for, and where the spaces are.

The head was trained with each character's advance width, so letters of a word touch and a space leaves cells empty.
A run twice as wide as its letter is two letters; a gap explained by a too narrow letter next to it is no space.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.int16]

# Advance widths in ems, approximately those of common book and office typefaces.
_WIDTHS = (
    ("ijl|!'’‘‚`´.,:;·", 0.26), ("I1ftr()[]{}-‐/\\\"“”„", 0.34), ("J°ªº", 0.42), ("szckvxya?*", 0.49),
    ("bdeghnopquL$#+=<>~^_023456789–§", 0.54), ("•FPSTZEBXYKVARß&", 0.65), ("CDGHNOUQw", 0.73), ("mM%æ", 0.84),
    ("W@—…œ", 0.95),
)  # fmt: skip
_USUAL = 0.54
_WIDE_ENOUGH = 0.4  # of an em: narrower letters tell little about the size
_NARROW = 0.34
_FEW = 3
_SPACE = 0.25
_STRAY = 0.4  # of its letter's width: a run this narrow next to another is a misreading
_SEEN_OFTEN = 4
# The cost of taking a run for two letters: those that often come in pairs, others, and those that never do.
_OFTEN, _SELDOM, _NEVER = 1.5, 5.0, 1e9
_PAIRED = frozenset("lsetofprmcndgz0123456789")
_SINGLE = frozenset("•,;’‘“”–—…·")
_DOT = 5.0
# Usual errors, in cells, of a run's length and of the distance to the next run; below, the costs of a gap within a
# word, of one between words, of each excess cell of a space, and the highest cost.
_LENGTH_OFF, _ADVANCE_OFF = 1.0, 0.8
_UNLIKE = 0.1  # of a letter's width: how much typefaces differ
_SPLIT, _SPACED, _WIDER, _SURE = 4.0, 1.0, 0.3, 16.0
_MOST = 200  # equal characters in a row
_TYPED = 0.78  # the narrow letters' width as a share of the wider ones', above which type is typewriter's


@lru_cache(maxsize=4)
def widths(characters: str) -> npt.NDArray[np.float64]:
    """Returns each class's advance width in ems, [classes].

    characters: see ocr.character_head.second_opinion.read_cells.
    """
    known = {letter: width for letters, width in _WIDTHS for letter in letters}
    bases = (unicodedata.normalize("NFD", character)[0] for character in characters)
    return np.array([_USUAL, _USUAL, *(known.get(base, _USUAL) for base in bases)])


@dataclass(slots=True)
class Runs:
    """Runs of equal cells in one line. mark: [R] classes; start, end: [R] the cells they cover."""

    mark: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]

    @classmethod
    def of(cls, line: Cells) -> "Runs":
        """Returns the runs of a line of cells."""
        edges = np.flatnonzero(np.diff(line)) + 1
        start, end = np.append(0, edges)[: len(line)], np.append(edges, len(line))[: len(line)]
        filled = line[start] > 0
        return cls(line[start][filled].astype(np.int64), start[filled], end[filled])

    @property
    def length(self) -> npt.NDArray[np.int64]:
        """The number of cells of each run, [R]."""
        return self.end - self.start

    def without_strays(self, expected: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Returns for each run whether it is more than a slip of a cell or two between touching letters, [R]."""
        touches = np.zeros(len(self.mark), bool)
        touches[1:] |= self.start[1:] == self.end[:-1]
        touches[:-1] |= self.start[1:] == self.end[:-1]
        kept: npt.NDArray[np.bool_] = ~(touches & (self.length < _STRAY * expected))
        return kept


class LetterWidths:
    """The widths of a page's letters, to tell one letter from two. Built from all lines of the page."""

    def __init__(self, lines: Sequence[Runs], characters: str) -> None:
        self._names = ["", "\ufffd", *characters]
        self._usual = widths(characters)
        self._widths = self._usual.copy()
        self._words = np.array([False, False, *map(str.isalpha, characters)])
        self._pairs = np.array([_NEVER, _NEVER, *map(_pair, characters)])
        typeset = [runs for runs in lines if not _is_typed(runs, self._usual)]
        if not typeset:
            return
        every = np.concatenate([runs.mark for runs in typeset])
        ratio = np.concatenate([runs.length / _scale(runs, self._usual) for runs in typeset])
        order = np.argsort(every, kind="stable")
        marks, firsts, counts = np.unique(every[order], return_index=True, return_counts=True)
        for mark, first, count in zip(marks, firsts, counts, strict=True):
            if count >= _SEEN_OFTEN:
                seen = _median(ratio[order[first : first + count]])
                usual = float(self._usual[mark])
                self._widths[mark] = min(max(seen, 0.7 * usual), 1.5 * usual)

    def read(self, runs: Runs) -> tuple[str, float]:
        """Returns the text of a line, and its type size in cells' widths."""
        em_cells = _scale(runs, self._widths)
        typed = _is_typed(runs, self._usual)
        if typed:
            expected = np.full(len(runs.mark), _typed_width(runs))
        else:
            expected = np.maximum(1.0, self._widths[runs.mark] * em_cells)
        kept = runs.without_strays(expected)
        runs, expected = Runs(runs.mark[kept], runs.start[kept], runs.end[kept]), expected[kept]
        if not len(runs.mark):
            return "", em_cells
        count, spaced = self._decide(runs, expected, expected if typed else _SPACE * em_cells)
        names = self._names
        text = "".join(
            names[mark] * number + (" " if blank else "")
            for mark, number, blank in zip(runs.mark.tolist(), count.tolist(), spaced.tolist(), strict=True)
        )
        return text.rstrip(), em_cells

    def _decide(
        self, runs: Runs, expected: npt.NDArray[np.float64], space: npt.NDArray[np.float64] | float
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Returns how many letters each run is and whether a space follows, each [R], by the best fit of widths."""
        length = runs.length.astype(float)
        gap = np.append(runs.start[1:] - runs.end[:-1], 0)
        many = np.maximum(2, np.rint(length / expected))
        many = np.where(self._words[runs.mark], 2, np.minimum(many, _MOST))
        costs = []
        for number, rare in ((np.ones(len(gap)), 0.0), (many, self._pairs[runs.mark])):
            fits = (length - number * expected) ** 2 / (_LENGTH_OFF**2 + (_UNLIKE * expected) ** 2) + rare
            advance = length + gap - number * expected
            touching = np.where(gap > 0, _SPLIT + (advance / _ADVANCE_OFF) ** 2, 0.0)
            off = advance - space
            apart = np.where(off > 0, _WIDER * off, (off / _ADVANCE_OFF) ** 2) + np.where(
                gap > 0, _SPACED, 1e9
            )
            costs += [fits + np.minimum(touching, _SURE), fits + np.minimum(apart, _SURE * (1 + (gap < 1)))]
        best = np.argmin(costs, axis=0)
        return np.where(best >= 2, many, 1).astype(np.int64), best % 2 == 1


def _pair(character: str) -> float:
    if character in _SINGLE:
        return _NEVER
    return _DOT if character == "." else _OFTEN if character in _PAIRED else _SELDOM


def _is_typed(runs: Runs, usual: npt.NDArray[np.float64]) -> bool:
    """Returns whether all letters are equally wide; False without enough narrow ones to tell."""
    narrow = usual[runs.mark] <= _NARROW
    wide = usual[runs.mark] >= _USUAL
    if wide.sum() < 2:
        wide = usual[runs.mark] >= _WIDE_ENOUGH
    if narrow.sum() < 2 or wide.sum() < 2:
        return False
    length = runs.length
    return float(length[narrow].sum() / narrow.sum()) > _TYPED * _median(length[wide])


def _typed_width(runs: Runs) -> float:
    """Returns the mean width of the runs that are one letter."""
    length = runs.length
    single = length[length < 1.5 * _median(length)]
    return max(1.0, float(single.mean()))


def _scale(runs: Runs, usual: npt.NDArray[np.float64]) -> float:
    """Returns the type size in cells' widths, given letters' widths in ems."""
    width = usual[runs.mark]
    told = width >= _WIDE_ENOUGH
    ratio = runs.length[told] / width[told] if told.sum() >= _FEW else runs.length / width
    return max(1.0, _median(ratio)) if len(ratio) else 1.0


def _median(values: npt.NDArray[Any]) -> float:
    """Returns the upper median; numpy's own takes ten times as long."""
    middle = len(values) // 2
    return float(np.partition(values, middle)[middle])
