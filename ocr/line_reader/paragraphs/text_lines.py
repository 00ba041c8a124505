"""Defines a line of text with its place, by which paragraphs and tables are told apart."""

from dataclasses import dataclass

Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line. block: the number of the block that it is in before paragraphs are told apart.

    spans: [x0, x1) of its text between gaps wider than those of words; none where its place is not known.
    base, size: its baseline and type size; sure: whether they are trusted. All in page pixels.
    """

    block: int
    text: str
    spans: tuple[Span, ...] = ()
    base: float = 0.0
    size: float = 0.0
    sure: bool = False

    @property
    def x0(self) -> float:
        """Its left end in page pixels; only where its place is known."""
        return self.spans[0][0]

    @property
    def x1(self) -> float:
        """Its right end in page pixels; only where its place is known."""
        return self.spans[-1][1]

    @property
    def letter_px(self) -> float:
        """The mean width of a character in page pixels."""
        return sum(x1 - x0 for x0, x1 in self.spans) / max(1, len(self.text) - len(self.spans) + 1)
