"""The writer of a page, which makers of HTML blocks ask for words, and what all of them need."""

import html
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ocr.training.pages.words.text import TextSource, random_word
from ocr.training.pictures.source import Pictures

_TAG = re.compile(r"<[^>]*>")
ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi"]


@dataclass(slots=True, kw_only=True)
class Writer:
    """The state of one page being written. width_pt: of a column; size_pt: of the running text.

    measure, measure_code: return the width in points of a text in the regular face of running text, and in that of
    code. images: encoded pictures by name.
    """

    rng: random.Random
    source: TextSource
    pictures: Pictures
    category: str
    width_pt: float
    size_pt: float
    measure: Callable[[str], float]
    measure_code: Callable[[str], float]
    columns: int = 1
    images: dict[str, bytes] = field(default_factory=dict)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def words(self, low: int, high: int) -> str:
        """Returns a few consecutive words, escaped."""
        return html.escape(self.source.phrase(self.rng, self.category, self.rng.randint(low, high)))

    def sentence(self, max_chars: int = 120) -> str:
        """Returns running text up to a full stop where there is one, escaped."""
        text = self.source.paragraph(self.rng, self.category, max_chars)
        return html.escape(text[: text.rfind(". ") + 1] or text)

    def text(self, max_chars: int = 900) -> str:
        return html.escape(self.source.paragraph(self.rng, self.category, max_chars))

    def value(self) -> str:
        """Returns a random number, price, date, code or word, escaped."""
        return html.escape(random_word(self.rng))

    def number(self, digits: int = 3) -> int:
        return self.rng.randrange(1, 10 ** self.rng.randint(1, digits))

    def label(self, word: str, highest: int) -> str:
        """Returns a label such as `Figure 3:`."""
        number = f"{self.rng.choice(['', f'{self.rng.randint(1, 12)}.'])}{self.rng.randint(1, highest)}"
        return f"{word} {number}{self.rng.choice([':', '.', ' –'])}"

    def fits(self) -> int:
        """Returns how many characters of code go on a line, one less than fit."""
        return max(8, int(self.width_pt / max(self.measure_code("0"), self.measure_code("m"))) - 1)


Maker = Callable[[Writer], str]
"""Returns one or more blocks as HTML, which MuPDF's Story typesets; empty where it has nothing to say."""


def visible(markup: str) -> str:
    """Returns the text of HTML without its tags."""
    return html.unescape(_TAG.sub(" ", markup))
