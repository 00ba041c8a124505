"""The writer of a page, which makers of HTML blocks ask for words, draws and pictures."""

import html
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ocr.training.pages.blocks.block_templates import macro
from ocr.training.pages.words.text import TextSource, random_word
from ocr.training.pictures.source import Pictures

T = TypeVar("T")
_TAG = re.compile(r"<[^>]*>")
_TAGS = frozenset("<>")
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

    def pick(self, *options: T) -> T:
        return self.rng.choice(options)

    def weighted(self, shares: Mapping[T, float]) -> T:
        return self.rng.choices(list(shares), list(shares.values()))[0]

    def between(self, low: int, high: int) -> int:
        """Returns a whole number; both ends may come."""
        return self.rng.randint(low, high)

    def words(self, low: int, high: int) -> str:
        """Returns a few consecutive words, escaped."""
        return html.escape(self.source.phrase(self.rng, self.category, self.rng.randint(low, high)))

    def sentence(self, max_chars: int = 120) -> str:
        """Returns running text up to a full stop where there is one, escaped."""
        text = self.source.paragraph(self.rng, self.category, max_chars)
        return html.escape(text[: text.rfind(". ") + 1] or text)

    def text(self, max_chars: int = 900) -> str:
        return html.escape(self.source.paragraph(self.rng, self.category, max_chars))

    def inline(self, text: str, share: float = 0.35) -> str:
        """Returns the escaped text with some of its words set differently."""
        while self.chance(share):
            words = text.split(" ")
            start = self.rng.randrange(len(words))
            end = start + self.between(1, 6)
            part = " ".join(words[start:end])
            if part and not _TAGS & set(part):
                words[start:end] = [macro("set_apart")(self, part)]
                text = " ".join(words)
        return text

    def value(self) -> str:
        """Returns a random number, price, date, code or word, escaped."""
        return html.escape(random_word(self.rng))

    def number(self, digits: int = 3) -> int:
        return self.rng.randrange(1, 10 ** self.rng.randint(1, digits))

    def label(self, word: str, highest: int) -> str:
        """Returns a label such as `Figure 3:`."""
        number = f"{self.rng.choice(['', f'{self.rng.randint(1, 12)}.'])}{self.rng.randint(1, highest)}"
        return f"{word} {number}{self.rng.choice([':', '.', ' –'])}"

    def picture(self, width_pt: float, height_pt: float, align: str) -> str:
        """Returns a new picture, at screen resolution."""
        name, scale = f"picture{len(self.images)}", self.rng.uniform(1.0, 1.8)
        size_px = (max(8, int(side * scale)) for side in (width_pt, height_pt))
        self.images[name] = self.pictures.png(self.rng, *size_px)
        style = f"width:{width_pt:.1f}pt;height:{height_pt:.1f}pt"
        return f'<p style="text-align:{align};text-indent:0"><img src="{name}" style="{style}"></p>'

    def fits(self) -> int:
        """Returns how many characters of code go on a line, one less than fit."""
        return max(8, int(self.width_pt / max(self.measure_code("0"), self.measure_code("m"))) - 1)


Maker = Callable[[Writer], str]
"""Returns one or more blocks as HTML, which MuPDF's Story typesets; empty where it has nothing to say."""


def visible(markup: str) -> str:
    """Returns the text of HTML without its tags."""
    return html.unescape(_TAG.sub(" ", markup))
