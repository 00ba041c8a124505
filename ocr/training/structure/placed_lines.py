"""A page of lines with their truth, and lines put on it as wide as their letters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ocr.line_reader.structure_network import ROLES
from ocr.training.structure.true_lines import Box, Place, TrueLine, joined

MOST = 450  # lines of a page
CHAR = 0.6  # width of a typewriter's letter, in type sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePage:
    """A page's lines in reading order. genre: its name, or that of what made it.

    rules: the boxes of those on it, across and down.
    """

    genre: str
    width_pt: float
    height_pt: float
    lines: tuple[TrueLine, ...]
    rules: tuple[Box, ...] = ()

    @classmethod
    def of(
        cls, genre: str, size_pt: tuple[float, float], lines: Sequence[TrueLine], rules: Iterable[Box] = ()
    ) -> "LinePage":
        """Returns a page so wide and high; of rules those that meet are one."""
        width, height = size_pt
        placed = tuple(lines), tuple(joined(rules))
        return cls(genre=genre, width_pt=width, height_pt=height, lines=placed[0], rules=placed[1])

    @property
    def num_characters(self) -> int:
        return sum(len(line.text) for line in self.lines)


def put_line(
    lines: list[TrueLine], text: str, ends: tuple[float, float, float], size_pt: float, place: Place
) -> float:
    """Adds a line as far as it has room and returns where it ends. ends: its left, the right at most, its baseline.

    Programs, and what they print, are in a typewriter's letters. Headings begin large and end as no clause does.
    """
    x, room, base = ends
    char = CHAR if ROLES[place.role] == "code" else 0.0
    if ROLES[place.role].startswith(("title", "heading")):
        is_first = not lines or lines[-1].place.block != place.block
        text = (text[:1].upper() + text[1:] if is_first else text).rstrip(",;")
    words, kept = list[tuple[float, float]](), list[str]()
    at = x
    for word in text.split():
        end = at + (char * len(word) or width_of(word)) * size_pt
        if words and end > room:
            break
        words.append((at, end))
        kept.append(word)
        at = end + (char or 0.27) * size_pt
    if not words:
        return x
    own = {"x0": x, "x1": words[-1][1], "base": base, "size": size_pt, "order": len(lines)}
    lines.append(TrueLine(text=" ".join(kept), words=tuple(words), place=place, **own))  # type: ignore[arg-type]
    return words[-1][1]


def next_block(lines: Iterable[TrueLine]) -> int:
    """Returns a block's number after those of lines."""
    return max((line.place.block for line in lines), default=0) + 1


def frame(box: Box, sides: str = "lrtb") -> list[Box]:
    """Returns the rules around a box, or on these sides of it: left, right, top, bottom."""
    x0, y0, x1, y1 = box
    every = {"l": (x0, y0, x0, y1), "r": (x1, y0, x1, y1), "t": (x0, y0, x1, y0), "b": (x0, y1, x1, y1)}
    return [every[side] for side in sides]


def width_of(text: str) -> float:
    """Returns about how wide a text is, in type sizes."""
    return sum(0.3 if c in "iljt.,:;'!|" else 0.27 if c == " " else 0.55 for c in text)


def wrapped(text: str, room: float) -> list[str]:
    """Returns a text as lines of so many type sizes."""
    made: list[str] = []
    for word in text.split():
        if made and width_of(f"{made[-1]} {word}") <= room + 0.01:
            made[-1] = f"{made[-1]} {word}"
        else:
            made.append(word)
    return made
