"""A page's text in pieces, as a reader shows it: words with their boxes, and what stands between them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from storage.queries.browsing import MATCH_MARKS
from storage.types import WordRow

_SPACES = re.compile(r"(\s+)")
_OPEN, _CLOSE = map(re.escape, MATCH_MARKS)
_MATCH = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
# Words below these are marked.
_SURE, _FAIR = 0.95, 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A word, or the white space between two. box: "x0 y0 x1 y1" in page pixels, "" where it is not known.

    level: "low", "fair" or "sure"; "" where the confidence is not known. percent: the confidence, None if unknown.
    """

    text: str
    is_word: bool
    box: str = ""
    level: str = ""
    percent: int | None = None


def pieces(text: str, words: Sequence[WordRow]) -> Iterator[Piece]:
    """Yields the whole text in pieces. words: those of text.split(), in its order, or none."""
    left = iter(words)
    for part in _SPACES.split(text):
        if not part:
            continue
        if part.isspace():
            yield Piece(text=part, is_word=False)
        else:
            yield _piece(part, next(left, None))


def _piece(part: str, word: WordRow | None) -> Piece:
    if word is None:
        return Piece(text=part, is_word=True)
    return Piece(
        text=part,
        is_word=True,
        box="" if word["box"] is None else " ".join(map(str, word["box"])),
        level=level(word["confidence"]),
        percent=None if word["confidence"] is None else round(100 * word["confidence"]),
    )


def level(confidence: float | None) -> str:
    """Returns the name of a confidence's colour."""
    if confidence is None:
        return ""
    return "sure" if confidence >= _SURE else "fair" if confidence >= _FAIR else "low"


def marked(snippet: str) -> Iterator[tuple[str, bool]]:
    """Yields a snippet in parts, and whether each is a match."""
    for number, part in enumerate(_MATCH.split(snippet)):
        if part:
            yield part, number % 2 == 1
