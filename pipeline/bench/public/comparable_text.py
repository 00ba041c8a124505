"""Text as olmOCR-bench compares it, and where one text stands in another with some letters wrong."""

import re
import unicodedata

import numpy as np
from numpy.typing import NDArray

_BREAK = re.compile(r"</?(?:br|b|i)\s?/?>", re.IGNORECASE)
_EMPHASIS = re.compile(r"(\*\*|__|\*|_)(.*?)\1")
_SPACE = re.compile(r"\s+")
# Variants of hyphens and quotes count as one, and the micro sign as the Greek letter.
_VARIANTS = {"-": "–—‑‒−", "'": "‘’‚", '"': "“”„", "_": "＿", "\u03bc": "\u00b5"}
_SAME = str.maketrans({variant: plain for plain, its in _VARIANTS.items() for variant in its})


def comparable(text: str) -> str:
    """Returns a text without emphasis, with single spaces, in NFC, and with one kind of hyphen and quote.

    Source: the principles in olmOCR-bench's README, "Markdown syntax is allowed, but ignored".
    """
    text = _BREAK.sub(" ", text)
    for _ in range(2):  # ** within _, or the other way round
        text = _EMPHASIS.sub(r"\2", text)
    return unicodedata.normalize("NFC", _SPACE.sub(" ", text)).translate(_SAME)


def is_near(wanted: str, ratio: float, most_edits: int, least: float = 0.0) -> bool:
    """Returns whether a ratio of rapidfuzz, 0 to 100, allows so many edits of a text, and is at least least, 0 to 1."""
    return ratio / 100 >= max(least, 1 - most_edits / max(1, len(wanted)))


def near_starts(wanted: str, text: str, most_edits: int) -> list[int]:
    """Returns the places in a text, ascending, from which it goes on as wanted but for so many edits at most.

    Source: Sellers 1980, The theory and computation of evolutionary distances; from the end, so that ends are starts.
    """
    if not wanted:
        return []
    letters: NDArray[np.uint32] = np.frombuffer(text[::-1].encode("utf-32-le"), np.uint32)
    places = np.arange(len(letters) + 1)
    edits: NDArray[np.int64] = np.zeros(len(letters) + 1, np.int64)
    for number, letter in enumerate(reversed(wanted), 1):
        row = np.empty_like(edits)
        row[0] = number
        row[1:] = np.minimum(edits[:-1] + (letters != ord(letter)), edits[1:] + 1)
        edits = np.minimum.accumulate(row - places) + places  # letters of the text that are left out
    ends = np.flatnonzero(edits[1:] <= most_edits) + 1
    return sorted(len(letters) - int(end) for end in ends)
