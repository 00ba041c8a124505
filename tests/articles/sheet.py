"""A page on which lines are set one by one, and what was set, in reading order."""

from dataclasses import dataclass, field

import numpy as np
import pymupdf

from encoders.views import UInt8Array

BoxPt = tuple[float, float, float, float]
_ASCENT, _DESCENT = 0.68, 0.2
_FACES = {"regular": "tiro", "bold": "tibo", "sans": "helv", "sansbold": "hebo"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of text, or a row of a table with all of its cells. box_pt: (x0, y0, x1, y1) around its letters."""

    text: str
    box_pt: BoxPt


@dataclass
class Sheet:
    """A page being set. lines: those so far, in reading order."""

    page: pymupdf.Page
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._writer = pymupdf.TextWriter(self.page.rect)

    def put(self, x: float, base: float, text: str, size: float, face: str = "regular") -> float:
        """Draws text without counting it as a line; base: of its letters. Returns where it ends."""
        self._writer.append((x, base), text, font=FONTS[face], fontsize=size)
        return x + length(text, size, face)

    def line(self, x: float, base: float, text: str, size: float, face: str = "regular") -> None:
        """Sets a line that starts at x."""
        end = self.put(x, base, text, size, face)
        self.took(text, (x, base - _ASCENT * size, end, base + _DESCENT * size))

    def justified(self, x: float, base: float, text: str, size: float, width: float) -> None:
        """Sets a line from x over its full width."""
        words = text.split(" ")
        room = (width - sum(length(word, size) for word in words)) / max(1, len(words) - 1)
        at = x
        for word in words:
            at = self.put(at, base, word, size) + room
        self.took(text, (x, base - _ASCENT * size, x + width, base + _DESCENT * size))

    def took(self, text: str, box_pt: BoxPt) -> None:
        """Counts what was put in this box as the next line."""
        self.lines.append(Line(text=text, box_pt=box_pt))

    def rule(self, x0: float, y0: float, x1: float, y1: float, width: float = 0.6) -> None:
        self.page.draw_line((x0, y0), (x1, y1), width=width)

    def finish(self) -> None:
        """Writes the text onto the page; nothing is set afterwards."""
        self._writer.write_text(self.page)


FONTS = {face: pymupdf.Font(name) for face, name in _FACES.items()}


def length(text: str, size: float, face: str = "regular") -> float:
    """Returns how wide text is, in points."""
    return float(FONTS[face].text_length(text, size))


def wrap(text: str, size: float, width: float, face: str = "regular") -> list[str]:
    """Returns the text in lines no wider than width points."""
    lines: list[str] = []
    ends = 0.0
    space = length(" ", size, face)
    for word in text.split(" "):
        needed = length(word, size, face)
        if lines and ends + space + needed <= width:
            lines[-1] += " " + word
            ends += space + needed
        else:
            lines.append(word)
            ends = needed
    return lines


def pixels(page: pymupdf.Page, dpi: int) -> UInt8Array:
    """Returns a page as [H, W, 3] uint8, of greys alone."""
    pixmap = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY, alpha=False)
    grey = np.frombuffer(pixmap.samples, dtype=np.uint8).reshape(pixmap.height, pixmap.width, 1)
    return np.repeat(grey, 3, axis=2)
