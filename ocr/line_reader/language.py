"""Tells lines that look like no language of Europe: other scripts, handwriting and mirrors read as Latin letters.

The letters of such a line follow each other as in no word, or are too few for its length, and none of them was read for
sure. Torch-free.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

from ocr.line_reader.found_lines import ReadLine

# The end of a word, and letters without their accents.
LETTERS = "\0abcdefghijklmnopqrstuvwxyz"
STEPS_A_BIT, MOST = 0.75, 9
# A row for each two letters, a digit for each that may follow them.
_ROWS = Path(__file__).with_name("letter_costs.txt").read_text(encoding="ascii").split()
_WORD = re.compile(r"[^\W\d_⁰-⁹₀-₉²³¹¼-¾]{3,}")
# Signs of formulas and of programs, each of which counts as an ordinary letter: their names are words of no language.
_SIGN = re.compile(r"[^\s\w.,;:!?'\"‘’“”–—-]|_")
_PLAIN = str.maketrans("ßøđłæœðþıŋħŧſ", "sodlaodtinhts")
# Bits that a letter costs in ordinary text, and how many letters' worth of that a line is given beforehand.
_ORDINARY, _BEFOREHAND = 3.5, 6
# Fitted by logistic regression on lines of 15 scripts (half of those tried), of mirrored and of ordinary pages.
_BIAS, _UNSURE, _COST, _SURE = -8.0, 3.6, 4.1, 0.01
_LEAST_SIZES = 4  # in type sizes: shorter lines tell too little
# Letters and signs that were read in each type size of a line, a letter being about half of one, and how surely: lines
# of a script that none of them resembles, such as Tamil, have fewer. Those of 10 type sizes and more tell.
_SPARSE, _SPARSE_UNSURE, _SPARSE_SIZES, _SPARSE_ODDS = 0.75, 0.8, 10, 5.0
# What of a strange line is right: most where the odds are low, as of hand-like type, and a third where they are high.
# Of two faxes that can hardly be read 42% is right, of other scripts next to nothing, and lines do not tell which is
# which.
_LEAST_RIGHT, _MORE_RIGHT, _HALF_ODDS, _SLOPE = 0.3, 0.5, 2.0, 1.2
# A page is in doubt for a line of at least such a length (28 letters) and odds with so many letters in words, so many
# of its marks; for as much of strange lines as 15% of all with odds of 4; or if all are more unusual than so, by as
# much as 20 type sizes of strange lines are: ordinary pages have mean odds below -4. Formulas are strange too, but
# short or hardly words, and signatures of functions short; both are few beside their text.
_LONG_SIZES, _SURELY, _IN_WORDS, _MOSTLY_WORDS = 14, 2.0, 10, 0.4
_STRANGE, _UNUSUAL, _LEAST_ODDS, _MUCH = 0.6, -3.0, -8.0, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StrangeLine:
    """A line that looks like no language. odds: their logarithm, over 0."""

    line: ReadLine
    odds: float

    @property
    def right(self) -> float:
        """The share of its characters that is likely right."""
        return _LEAST_RIGHT + _MORE_RIGHT / (1 + math.exp((self.odds - _HALF_ODDS) / _SLOPE))


def strange_lines(lines: Sequence[ReadLine]) -> list[StrangeLine]:
    """Returns those of the lines that look like no language that the reader knows."""
    rated = ((line, _odds(line)) for line in lines if _can_tell(line))
    return [StrangeLine(line=line, odds=odds) for line, odds in rated if odds > 0]


def is_in_doubt(strange: Sequence[StrangeLine], lines: Sequence[ReadLine]) -> bool:
    """Returns whether a page's strange lines are more than a name or a stamp. lines: all of the page's."""
    long = [it.line for it in strange if it.odds > _SURELY and _sizes(it.line) >= _LONG_SIZES]
    fewest = (max(_IN_WORDS, _MOSTLY_WORDS * len("".join(line.text.split()))) for line in long)
    are_words = any(len(letter_costs(line.text)) >= least for line, least in zip(long, fewest, strict=True))
    surely = are_words or any(map(_is_sparse, long))
    told = [(_sizes(line), max(_LEAST_ODDS, _odds(line))) for line in lines if _can_tell(line)]
    evidence = sum(_sizes(found.line) * found.odds for found in strange)
    is_unusual = sum(size * (odds - _UNUSUAL) for size, odds in told) > _MUCH
    return surely or is_unusual or evidence > _STRANGE * sum(size for size, _ in told)


def _can_tell(line: ReadLine) -> bool:
    return _sizes(line) >= _LEAST_SIZES and any(map(str.isalnum, line.text))


def _sizes(line: ReadLine) -> float:
    """Returns a line's length in type sizes; a letter is about half of one."""
    return (line.line.right - line.line.left) / line.line.size


@lru_cache(maxsize=512)  # a page's lines are asked about several times
def letter_costs(text: str) -> list[float]:
    """Returns what each letter of a text's words costs after those before it, in bits; of words of three letters."""
    places = chain.from_iterable(map(sequences, _WORD.findall(text)))
    return [int(_ROWS[len(LETTERS) * first + second][last]) / STEPS_A_BIT for first, second, last in places]


def sequences(word: str) -> Iterator[tuple[int, int, int]]:
    """Yields a word's letters as places in LETTERS, each after the two before it. Signs that are none are left out."""
    plain = unicodedata.normalize("NFKD", word.lower().translate(_PLAIN))
    places = [0, 0, *(place for place in map(LETTERS.find, plain) if place > 0), 0]
    yield from zip(places, places[1:], places[2:], strict=False)


def _is_sparse(line: ReadLine) -> bool:
    sizes = _sizes(line)
    is_unsure = line.confidence < _SPARSE_UNSURE and sizes >= _SPARSE_SIZES
    return is_unsure and len("".join(line.text.split())) < _SPARSE * sizes


def _odds(line: ReadLine) -> float:
    if _is_sparse(line):
        return _SPARSE_ODDS
    costs, ordinary = letter_costs(line.text), _BEFOREHAND + len(_SIGN.findall(line.text))
    cost = (sum(costs) + _ORDINARY * ordinary) / (len(costs) + ordinary)
    return _BIAS + _UNSURE * math.log(1 - line.words_confidence + _SURE) + _COST * cost
