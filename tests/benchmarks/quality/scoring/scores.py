"""Scores one reading: errors, words found in any order, skipped paragraphs and loops."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rapidfuzz.distance import Levenshtein

from pipeline.evaluate import Edits, character_edits, normalise, word_edits
from tests.benchmarks.quality.readings.engines import Reading
from tests.benchmarks.quality.scoring.order import line_tau

SKIP = 80  # truth characters missing in a row
LOOP = 200  # characters in a row that the truth lacks
_ANCHOR = 8  # agreement shorter than this, inside a disagreement, is chance
_MOVED = 0.6  # a run with this share of its words in another place was moved

_FOLDED = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´ʹʼ＇", "'"),
        **dict.fromkeys("“”„‟″＂", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("•∙·●◦", "•"),
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
        "…": "...",
    }
)
_LEADERS = re.compile(r"\s*(?:\.\s*){4,}")
_RULES = re.compile(r"^[^\S\n]*(?:[-\u2010-\u2015−_=~*.·•…][^\S\n]*){5,}$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Counts of a multiset comparison. shared: words in both, as often as in both."""

    shared: int
    in_truth: int
    in_text: int

    @property
    def f1(self) -> float:
        total = self.in_truth + self.in_text
        return 2 * self.shared / total if total else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The score of a page. folded: errors with similar punctuation taken as equal.

    num_invented: non-space characters read. num_skips: runs of at least SKIP truth characters that the reading lacks,
    there and elsewhere. num_loops: runs of at least LOOP characters that the truth lacks, there and elsewhere, and one
    for the status "repeated". Both on folded texts: a row of dots is no paragraph. tau: Kendall's of the lines' order,
    if enough were found.
    """

    name: str
    category: str
    status: str
    confidence: float | None
    characters: Edits
    folded: Edits
    words: Edits
    bag: Words
    num_skips: int
    num_loops: int
    num_invented: int
    tau: float | None

    @property
    def broken(self) -> bool:
        return bool(self.num_skips or self.num_loops)


def score(name: str, category: str, truth: str, reading: Reading, *, any_case: bool = False) -> Score:
    """Returns the score of a page's reading against its truth. any_case: capitals are as good as small letters.

    Lines that are nothing but a typed rule are no text, neither in the truth nor in the reading.
    """
    truth, reading = _RULES.sub("", truth), replace(reading, text=_RULES.sub("", reading.text))
    if any_case:
        truth, reading = truth.lower(), replace(reading, text=reading.text.lower())
    skips, loops = _breaks(normalise(fold(truth)), normalise(fold(reading.text)))
    return Score(
        name=name,
        category=category,
        status=reading.status,
        confidence=reading.confidence,
        characters=character_edits(truth, reading.text),
        folded=character_edits(fold(truth), fold(reading.text)),
        words=word_edits(truth, reading.text),
        bag=_bag(truth, reading.text),
        num_skips=skips,
        num_loops=loops + (reading.status == "repeated"),
        num_invented=len("".join(reading.text.split())) if not truth.strip() else 0,
        tau=line_tau(fold(truth), fold(reading.text)),
    )


def fold(text: str) -> str:
    """Returns text with curly quotes, dashes, bullets and ligatures as their plainest look-alikes.

    Leaders (four dots or more, spaced or not, as between a title and its page number) become one ellipsis: no reader
    would write down how many dots there are.
    """
    return _LEADERS.sub(" ... ", text.translate(_FOLDED).replace("''", '"'))


def _bag(truth: str, text: str) -> Words:
    wanted, found = Counter(normalise(truth).split()), Counter(normalise(text).split())
    shared = (wanted & found).total()
    return Words(shared=shared, in_truth=wanted.total(), in_text=found.total())


def _breaks(truth: str, text: str) -> tuple[int, int]:
    """Returns skips and loops. Text that one place lacks and another has in excess was moved, not lost."""
    differences = list(_differences(truth, text))
    lost = [wanted for wanted, got in differences if len(wanted) - len(got) >= SKIP]
    added = [got for wanted, got in differences if len(got) - len(wanted) >= LOOP]
    all_lost = " ".join(wanted for wanted, _ in differences)
    all_added = " ".join(got for _, got in differences)
    skips = sum(1 for run in lost if not _is_in(run, all_added))
    loops = sum(1 for run in added if not _is_in(run, all_lost))
    return skips, loops


def _is_in(run: str, other: str) -> bool:
    """Returns whether most of the run's words, weighted by length, are among the other's, in any order."""
    words = Counter(run.split())
    shared = words & Counter(other.split())
    return _length(shared) >= _MOVED * _length(words)


def _length(words: Counter[str]) -> int:
    return sum(len(word) * count for word, count in words.items())


def _differences(truth: str, text: str) -> Iterator[tuple[str, str]]:
    """Yields (truth, reading) of the stretches between agreements of at least _ANCHOR characters."""
    truth_start = text_start = 0
    for block in Levenshtein.opcodes(truth, text).as_matching_blocks():
        if block.size and block.size < _ANCHOR:
            continue
        if block.a > truth_start or block.b > text_start:
            yield truth[truth_start : block.a], text[text_start : block.b]
        truth_start, text_start = block.a + block.size, block.b + block.size
