"""Decides whether a text layer's typefaces say what they show, by having the line reader read words of them.

Each typeface of a document is looked at once, whichever of its pages comes first.
"""

import asyncio
import unicodedata
from collections import Counter, OrderedDict
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from pipeline.device.line_readers import LineReaders
from pipeline.types import FontSample, Page

# The most typefaces that are remembered; those of a document come close together.
_MOST_KNOWN = 4096
# The share of the characters that may be read otherwise: a small or decorative typeface is read badly.
_MOST_WRONG = 0.5
# How often digits may be read as others, counting those that mostly are.
_EXCHANGED = 2

_Key = tuple[str, str]


class FontLooks:
    """Compares typefaces with what is drawn. For use in one event loop."""

    def __init__(self, lines: LineReaders) -> None:
        self._lines = lines
        self._looks: OrderedDict[_Key, asyncio.Task[bool]] = OrderedDict()

    async def wrong(self, page: Page, samples: Sequence[FontSample]) -> list[str]:
        """Returns the typefaces that say something else than is drawn.

        samples: sorted by typeface; empty ones of a typeface of which others came with an earlier page.
        """
        looks = {
            font: self._look(page, font, tuple(its)) for font, its in groupby(samples, attrgetter("font"))
        }
        return [font for font, look in looks.items() if not await asyncio.shield(look)]

    def _look(self, page: Page, font: str, samples: tuple[FontSample, ...]) -> asyncio.Task[bool]:
        key = page.sha256, font
        if key not in self._looks:
            self._looks[key] = asyncio.create_task(self._is_right(samples))
            if len(self._looks) > _MOST_KNOWN:
                self._looks.popitem(last=False)
        return self._looks[key]

    async def _is_right(self, samples: tuple[FontSample, ...]) -> bool:
        if not any(sample.text for sample in samples):
            return False  # nobody knows any more
        read = await asyncio.wrap_future(self._lines.samples(samples))
        return agree([sample.text for sample in samples], read)


def agree(texts: Sequence[str], read: Sequence[str]) -> bool:
    """Returns whether what was read of words is what their layer says. read: for each word; "" where nothing was.

    Some letters are misread in any typeface. Digits are more telling: none may mostly be another.
    """
    from rapidfuzz.distance import Levenshtein  # imported late: most runs compare nothing

    pairs = [(_plain(text), _plain(found)) for text, found in zip(texts, read, strict=True)]
    wrong = sum(min(len(text), Levenshtein.distance(text, found)) for text, found in pairs)
    if wrong > _MOST_WRONG * sum(len(text) for text, _ in pairs):
        return False
    others, same = Counter[str](), Counter[str]()
    for own, found in ((_digits(text), _digits(found)) for text, found in pairs):
        if len(own) == len(found):
            for digit, seen in zip(own, found, strict=True):
                (same if digit == seen else others)[digit] += 1
    return sum(number for digit, number in others.items() if number > same[digit]) < _EXCHANGED


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
