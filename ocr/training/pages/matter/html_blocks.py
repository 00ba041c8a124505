"""Blocks of HTML that pages are written in, and the writer that makers of blocks ask for words."""

import html
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ocr.training.pages.words.text import MADE_UP, TextSource, random_word

Kind = Literal[
    "title", "sub_title", "text", "list", "table", "table_caption", "code", "image", "image_caption",
    "equation", "footnote", "aside_text", "header", "footer", "page_number",
]  # fmt: skip

_TAG = re.compile(r"<[^>]*>")
_PIECE = re.compile(r"[^\W\d_]{1,4}|\d|[^\w\s]|_|\s(?=\d)")
_RARE_PIECE = re.compile(r"[^\W\d_]{1,2}|\d|[^\w\s]|_|\s(?=\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of a page. kind: as DeepSeek-OCR calls it. html: as MuPDF's Story typesets it.

    element: the id of the picture or table in it, whose rectangle is the block's. `html` holds all drawn text:
    ocr.training.pages.truth.markdown makes the markdown from it.
    """

    kind: Kind
    html: str
    element: str | None = None

    def visible(self) -> str:
        """Returns the text without tags."""
        return html.unescape(_TAG.sub(" ", self.html))

    def num_tokens(self, *, rare: bool) -> int:
        """Returns the text's approximate pieces, by which a page is filled. rare: strings that no vocabulary holds."""
        visible = self.visible()
        pieces = len((_RARE_PIECE if rare else _PIECE).findall(visible))
        return pieces + visible.count("·") + visible.count("–") + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Blocks placed one after another in one or more boxes of a page, as far as there was room.

    frames: the boxes in order, (x0, y0, x1, y1) in points. rectangles: where elements are, by the element's
    id and the number of the frame.
    """

    blocks: tuple[Block, ...]
    frames: tuple[tuple[float, float, float, float], ...]
    rectangles: dict[tuple[str, int], tuple[float, float, float, float]]


class PictureSource(Protocol):
    """Makes pictures without letters (ocr.training.pictures.source.Pictures)."""

    def png(self, rng: random.Random, width_px: int, height_px: int) -> bytes: ...


@dataclass(slots=True, kw_only=True)
class Writer:
    """The state of one page being written. width_pt: of a column; size_pt: of the running text.

    measure, measure_code: return the width in points of a text in the regular face of running text, and in that of
    code. images: encoded pictures by name.
    """

    rng: random.Random
    source: TextSource
    category: str
    width_pt: float
    size_pt: float
    columns: int = 1
    pictures: PictureSource | None = None
    measure: Callable[[str], float] = len
    measure_code: Callable[[str], float] = len
    images: dict[str, bytes] = field(default_factory=dict)
    num_elements: int = 0

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

    def cost(self, block: Block) -> int:
        """Returns the block's approximate tokens on this page."""
        return block.num_tokens(rare=self.category in MADE_UP)

    def label(self, word: str, highest: int) -> str:
        """Returns a label such as `Figure 3:`."""
        number = f"{self.rng.choice(['', f'{self.rng.randint(1, 12)}.'])}{self.rng.randint(1, highest)}"
        return f"{word} {number}{self.rng.choice([':', '.', ' –'])}"

    def element(self) -> str:
        """Returns a new id."""
        self.num_elements += 1
        return f"e{self.num_elements}"

    def fits(self) -> int:
        """Returns how many characters of code go on a line, one less than fit."""
        return max(8, int(self.width_pt / max(self.measure_code("0"), self.measure_code("m"))) - 1)


Maker = Callable[[Writer], list[Block]]
