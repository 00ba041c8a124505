"""A page's text in pieces, as a reader shows it: words with their boxes, and what stands between them."""

import re
from collections.abc import Iterator, Sequence

from storage.queries.browsing import MATCH_MARKS
from storage.types import WordRow

_SPACES = re.compile(r"(\s+)")
_OPEN, _CLOSE = map(re.escape, MATCH_MARKS)
_MATCH = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
# Words below these are marked.
_SURE, _FAIR = 0.95, 0.8


def pieces(text: str, words: Sequence[WordRow]) -> Iterator[dict[str, object]]:
    """Yields the whole text in pieces: words, and the white space between two. words: those of text.split(), or none.

    box: "x0 y0 x1 y1" in page pixels, "" where it is not known. level: "low", "fair" or "sure"; "" where the confidence
    is not known. percent: the confidence, None if unknown.
    """
    left = iter(words)
    for part in filter(None, _SPACES.split(text)):
        word = None if part.isspace() else next(left, None)
        box, sure = (word["box"], word["confidence"]) if word is not None else (None, None)
        yield {
            "text": part,
            "is_word": not part.isspace(),
            "box": "" if box is None else " ".join(map(str, box)),
            "level": level(sure),
            "percent": None if sure is None else round(100 * sure),
        }


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
