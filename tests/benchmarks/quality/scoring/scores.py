"""Scores one reading: errors, and words found in any order."""

import re
from collections import Counter
from dataclasses import dataclass

from pipeline.evaluate import Edits, character_edits, normalise
from tests.benchmarks.quality.readings.engines import Reading

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
# Typed rules, and boxes to tick, which forms draw and their truth does not have.
_DRAWN = re.compile(r"^[^\S\n]*(?:[-\u2010-\u2015−_=~*.·•…][^\S\n]*){5,}$|[□☐☑☒][^\S\n]?", re.MULTILINE)


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
    """The score of a page. folded: errors with similar punctuation taken as equal."""

    name: str
    category: str
    status: str
    confidence: float | None
    characters: Edits
    folded: Edits
    bag: Words


def score(name: str, category: str, truth: str, reading: Reading, *, any_case: bool = False) -> Score:
    """Returns the score of a page's reading against its truth. any_case: capitals are as good as small letters.

    Lines that are nothing but a typed rule, and boxes to tick, are no text, neither in the truth nor in the reading.
    """
    truth, text = (_DRAWN.sub("", each) for each in (truth, reading.text))
    if any_case:
        truth, text = truth.lower(), text.lower()
    return Score(
        name=name,
        category=category,
        status=reading.status,
        confidence=reading.confidence,
        characters=character_edits(truth, text),
        folded=character_edits(fold(truth), fold(text)),
        bag=_bag(truth, text),
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
