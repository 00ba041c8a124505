"""The blocks of a composed page: lines of paragraphs, headings, tables, figures, each of some height."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.articles.sheet import Sheet, length, wrap
from tests.articles.words import Words

_LEADING = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Something of this height in points. draw: sets it on a sheet, its top left corner at (x, y).

    space: white above it, unless it is the first in its column.
    """

    height: float
    draw: Callable[[Sheet, float, float], None]
    space: float = 0.0


class Setter:
    """Makes pieces in one size of type, in points."""

    def __init__(self, rng: random.Random, size: float, justify: bool = True) -> None:
        self.rng, self.words, self.size, self._justify = rng, Words(rng), size, justify

    def text(
        self, text: str, width: float, *, face: str = "regular", scale: float = 1.0, space: float = 0.0
    ) -> list[Piece]:
        """Returns the lines of a paragraph, a piece each."""
        size = scale * self.size
        lines = wrap(text, size, width, face)
        pieces = []
        for number, line in enumerate(lines):
            full = self._justify and face == "regular" and number + 1 < len(lines)
            pieces.append(
                Piece(
                    height=_LEADING * size,
                    draw=_line(line, size, face, width if full else None),
                    space=space * size if number == 0 else 0.0,
                )
            )
        return pieces

    def heading(self, text: str, width: float, scale: float = 1.15) -> list[Piece]:
        pieces = self.text(text, width, face="sansbold", scale=scale, space=0.9)
        return [*pieces, Piece(height=0.25 * self.size, draw=lambda sheet, x, y: None)]

    def formula(self, width: float) -> list[Piece]:
        """Returns a short line in the middle, with its number at the right."""
        left, number = f"a + {self.rng.randint(2, 99)} b = c", f"({self.rng.randint(1, 30)})"

        def draw(sheet: Sheet, x: float, y: float) -> None:
            base = y + self.size
            at = x + (width - length(left, self.size)) / 2
            sheet.put(at, base, left, self.size)
            sheet.put(x + width - length(number, self.size), base, number, self.size)
            sheet.took(f"{left} {number}", (at, y, x + width, base + 0.2 * self.size))

        return [Piece(height=1.8 * self.size, draw=draw, space=0.6 * self.size)]

    def items(self, width: float) -> list[Piece]:
        """Returns a list of two to five points."""
        pieces: list[Piece] = []
        for _ in range(self.rng.randint(2, 5)):
            text = "• " + self.words.phrase(self.rng.randint(3, 14))
            pieces += self.text(text, width, space=0.2)
        return pieces

    def note(self, width: float) -> list[Piece]:
        """Returns a footnote below its short rule."""
        text = f"{self.rng.randint(1, 9)} " + self.words.paragraph(self.rng.randint(1, 2))
        lines = self.text(text, width, scale=0.8)
        rule = Piece(height=4, draw=lambda sheet, x, y: sheet.rule(x, y, x + 0.3 * width, y), space=8)
        return [rule, *lines]

    def paragraph(self, width: float) -> list[Piece]:
        return self.text("  " + self.words.paragraph(self.rng.randint(2, 6)), width)


def flow(setter: Setter, width: float, extras: Callable[[int], list[Piece]] | None = None) -> Iterator[Piece]:
    """Yields the pieces of an article without end. extras: what to put before its n-th block, if anything."""
    rng, number = setter.rng, 0
    while True:
        yield from extras(number) if extras else []
        number += 1
        draw = rng.random()
        if draw < 0.18:
            yield from setter.heading(f"{rng.randint(1, 9)} {setter.words.phrase(rng.randint(2, 6))}", width)
        elif draw < 0.24:
            yield from setter.formula(width)
        elif draw < 0.30:
            yield from setter.items(width)
        yield from setter.paragraph(width)


def stack(sheet: Sheet, pieces: list[Piece], x: float, y: float) -> float:
    """Sets pieces below each other from y. Returns where they end."""
    for number, piece in enumerate(pieces):
        y += piece.space if number else 0.0
        piece.draw(sheet, x, y)
        y += piece.height
    return y


def together(pieces: list[Piece]) -> Piece:
    """Returns one piece of several that are never parted by a column's end."""
    return Piece(
        height=total_height(pieces), draw=lambda sheet, x, y: _set(sheet, pieces, x, y), space=pieces[0].space
    )


def _set(sheet: Sheet, pieces: list[Piece], x: float, y: float) -> None:
    stack(sheet, pieces, x, y)


def total_height(pieces: list[Piece]) -> float:
    return sum(piece.height for piece in pieces) + sum(piece.space for piece in pieces[1:])


def _line(text: str, size: float, face: str, width: float | None) -> Callable[[Sheet, float, float], None]:
    def draw(sheet: Sheet, x: float, y: float) -> None:
        if width is None:
            sheet.line(x, y + 0.85 * size, text, size, face)
        else:
            sheet.justified(x, y + 0.85 * size, text, size, width)

    return draw
