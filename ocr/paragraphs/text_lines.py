"""Defines a line of text with its place, by which paragraphs and tables are told apart."""

from collections.abc import Iterable
from dataclasses import dataclass

Span = tuple[float, float]

# In type sizes: white that shows cells, and that may part them.
CELL_GAP, PART_GAP = 0.8, 0.45


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line. block: the number of the block that it is in before paragraphs are told apart.

    spans: [x0, x1) of its text between white as wide as between cells. parts: the same between white that may be
    between cells. base, size: its baseline and type size. All in one unit, such as page pixels. is_mono: in type of one
    width.
    """

    text: str
    spans: tuple[Span, ...]
    base: float
    size: float
    parts: tuple[Span, ...] = ()
    block: int = 0
    is_mono: bool = False

    @property
    def x0(self) -> float:
        """Its left end."""
        return self.spans[0][0]

    @property
    def x1(self) -> float:
        """Its right end."""
        return self.spans[-1][1]

    @property
    def letter_px(self) -> float:
        """The mean width of a character."""
        return sum(x1 - x0 for x0, x1 in self.spans) / max(1, len(self.text) - len(self.spans) + 1)


def parted(extents: Iterable[Span], gap: float) -> tuple[Span, ...]:
    """Returns extents of letters or words, from left to right, with those that are no further apart as one."""
    found: list[Span] = []
    for x0, x1 in extents:
        if found and x0 - found[-1][1] <= gap:
            found[-1] = found[-1][0], max(found[-1][1], x1)
        else:
            found.append((x0, x1))
    return tuple(found)
