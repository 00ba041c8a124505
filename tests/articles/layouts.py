"""Pages of articles: columns, and what stands across, beside or in them. Each layout is a function of a Frame."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pymupdf

from tests.articles.blocks import Piece, Setter, flow, stack, total_height
from tests.articles.floats import RULES, figure, table
from tests.articles.sheet import BoxPt, Line, Sheet, length

_FORMATS = ((595.0, 842.0), (612.0, 792.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """A composed page. lines: all of its text but what is in figures, in reading order."""

    kind: str
    page: pymupdf.Page
    lines: list[Line]

    @property
    def boxes_pt(self) -> list[BoxPt]:
        return [line.box_pt for line in self.lines]


class Frame:
    """The room of a page below what is set already, in so many columns."""

    def __init__(self, rng: random.Random, num_columns: int = 2, *, justify: bool = True) -> None:
        self.rng, self.num_columns = rng, num_columns
        page_width, page_height = rng.choice(_FORMATS)
        self.sheet = Sheet(pymupdf.open().new_page(width=page_width, height=page_height))
        small = num_columns == 3
        self.setter = Setter(rng, rng.choice((7.5, 8.0, 8.5) if small else (8.0, 8.5, 9.0, 9.5)), justify)
        self.left = rng.uniform(42, 58)
        self.right = page_width - self.left
        self.top, self.foot = rng.uniform(56, 66), page_height - rng.uniform(52, 66)
        gutter = rng.uniform(14, 24)
        self.width = self.right - self.left
        self.column = (self.width - (num_columns - 1) * gutter) / num_columns
        self.starts = [self.left + index * (self.column + gutter) for index in range(num_columns)]
        self.gutter = gutter
        self._footer = rng.random() < 0.6
        if rng.random() < 0.5:
            self._header(page_width)

    def _header(self, page_width: float) -> None:
        size, base = 0.85 * self.setter.size, self.top - 24
        title, number = self.setter.words.phrase(4), str(self.rng.randint(2, 400))
        self.sheet.put(self.left, base, title, size)
        self.sheet.put(self.right - length(number, size), base, number, size)
        self.sheet.took(f"{title} {number}", (self.left, base - 0.7 * size, self.right, base + 0.2 * size))
        self._footer = False

    def title(self) -> None:
        """Sets a title, authors and an abstract over all columns."""
        words, setter = self.setter.words, self.setter
        y = stack(
            self.sheet, setter.text(words.phrase(8), self.width, face="bold", scale=1.9), self.left, self.top
        )
        y = stack(self.sheet, setter.text(words.phrase(4), self.width, scale=1.1), self.left, y + 6)
        inset = self.rng.choice((0.0, 30.0))
        abstract = setter.text(f"Abstract. {words.paragraph(4)}", self.width - 2 * inset)
        self.top = stack(self.sheet, abstract, self.left + inset, y + 10) + 1.4 * setter.size

    def across(self, pieces: list[Piece]) -> None:
        """Sets pieces over all columns."""
        self.top = stack(self.sheet, pieces, self.left, self.top) + 1.3 * self.setter.size

    def columns(
        self,
        text: Iterator[Piece],
        foot: float,
        *,
        ends: Callable[[int], float] | None = None,
        notes: Callable[[int], list[Piece]] | None = None,
    ) -> None:
        """Fills the columns down to `foot`. ends: the foot of the n-th; notes: what stands at the foot of it."""
        lowest = self.top
        for index, x in enumerate(self.starts):
            below = notes(index) if notes else []
            end = (ends(index) if ends else foot) - (total_height(below) + 8 if below else 0)
            lowest = max(lowest, fill(self.sheet, text, x, self.top, end))
            if below:
                lowest = max(lowest, stack(self.sheet, below, x, end + 8))
        self.top = lowest + 1.3 * self.setter.size

    def flow(self, extras: Callable[[int], list[Piece]] | None = None) -> Iterator[Piece]:
        return flow(self.setter, self.column, extras)

    def span(self, what: str) -> list[Piece]:
        """Returns a table or a figure as wide as the page."""
        return floating(self, self.width, what)

    def finish(self, kind: str) -> Article:
        if self._footer:
            number, size = str(self.rng.randint(2, 400)), self.setter.size
            self.sheet.line((self.left + self.right) / 2 - 5, self.foot + 30, number, size)
        self.sheet.finish()
        return Article(kind=kind, page=self.sheet.page, lines=self.sheet.lines)


def fill(sheet: Sheet, text: Iterator[Piece], x: float, top: float, foot: float) -> float:
    """Sets pieces from top to foot; what does not fit any more is dropped if it is a float, which stand anywhere."""
    y = top
    for piece in text:
        space = piece.space if y > top else 0.0
        if y + space + piece.height > foot:
            return y
        piece.draw(sheet, x, y + space)
        y += space + piece.height
    return y


def floating(frame: Frame, width: float, what: str) -> list[Piece]:
    """Returns a float of this width: a table of numbers, words or several lines a cell, or a figure."""
    rng, setter = frame.rng, frame.setter
    wide = width > 1.5 * frame.column
    if what == "figure":
        kind = rng.choice(("photo", "plot", "boxes"))
        return figure(setter, width, rng.uniform(60, 130 if kind != "boxes" else 80), kind)
    cells = what if what != "table" else rng.choice(("numbers", "numbers", "words"))
    num_columns = rng.randint(4, 8) if wide and cells == "numbers" else rng.randint(3, 5 if wide else 4)
    return table(setter, width, num_columns, rng.randint(3, 12), cells, rng.choice(RULES))
