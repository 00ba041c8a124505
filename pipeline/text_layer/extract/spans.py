"""Extracts a PDF page's text layer, as mere text or character by character, and joins its lines by their places.

Runs in workers; torch-free.

The text tells whether there is one, and its script. A layer that is judged may become the page's text.
"""

import logging
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from typing import Any

from ocr.orientation.detect import Angle
from ocr.paragraphs.text_lines import Line
from pipeline.documents.orientation import angle_of
from pipeline.documents.pdf import is_drawn, open_text, text_spans
from pipeline.text_layer.extract.symbols import understand

LOGGER = logging.getLogger("ocrbatch")
# More is an attack: a page of the web, printed as one, has a hundred thousand.
_MOST_CHARS = 2_000_000
_MOST_IN_TEXT = 50_000
_LEAST_SIZE_PT = 1.0  # smaller type is meant to be found by searches, not to be seen
_TURNED = 0.1  # the slope from which on a line does not run from left to right
# MuPDF's flags of a typeface, and of a character (FZ_STEXT_BOLD).
_ITALIC, _MONOSPACED, _BOLD, _BOLD_CHAR = 2, 8, 16, 8
# Names that tell a typeface's style if its descriptor does not.
_BOLD_NAME = re.compile(r"bold|black|heavy|semib|demi", re.IGNORECASE)
_ITALIC_NAME = re.compile(r"ital|obli|slant", re.IGNORECASE)
_MONOSPACED_NAME = re.compile(r"mono|cour|consol|typewr|cmtt|menlo", re.IGNORECASE)
_LETTERS_APART = re.compile(r"\s*(?:[^\W\d_]\s){3}(?:\S\s)+\S\s*")
# Replacements as in the text that readers are trained on; models differ little.
_REPLACED = str.maketrans({
    **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\t", " "), **dict.fromkeys("\u2010\u2011\u00ad", "-"),
    "\u200a": "", "\u200b": "", "\ufeff": "",
})  # fmt: skip
# In type sizes.
BREAK_GAP = 1.75  # baselines further apart are two paragraphs, where lines are not usually so far apart
_SAME_LINE = 0.5
_SPACE, _WIDE = 0.12, 1.5
_SET_APART, _EVENLY = 0.8, 0.05  # white between letters that are set apart, and how much more
_BACK = 0.5  # as far as the A of LaTeX stands in its L

Box = tuple[float, float, float, float]


def hull(boxes: Iterable[Box]) -> Box:
    """Returns the box around boxes, one at least."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def holds(box: Box, point: tuple[float, float]) -> bool:
    """Returns whether a point lies in a box."""
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def touch(box: Box, other: Box) -> bool:
    """Returns whether two boxes have a point in common."""
    return box[0] <= other[2] and other[0] <= box[2] and box[1] <= other[3] and other[1] <= box[3]


def clean(text: str) -> str:
    """Returns text in NFC with ligatures resolved, spaces and hyphens simplified, and only printable characters."""
    resolved = re.sub("[\ufb00-\ufb06]", lambda found: unicodedata.normalize("NFKC", found[0]), text)
    plain = unicodedata.normalize("NFC", resolved).translate(_REPLACED)
    return "".join(letter for letter in plain if letter.isprintable())


def as_text(lines: Sequence[Line], break_gap: float = BREAK_GAP) -> str | None:
    """Returns the lines as text, with blank lines where the next is far below or elsewhere and tabs in wide gaps.

    None where there is no text.
    """
    gaps = ["", *(between(above, line, break_gap) for above, line in pairwise(lines))]
    return "".join(f"{gap}{line.text}" for gap, line in zip(gaps, lines, strict=False)).strip() or None


def between(before: Line, line: Line, break_gap: float = BREAK_GAP) -> str:
    """Returns the white space between two successive lines or parts of a line, by their positions."""
    drop, size = line.base - before.base, max(line.size, before.size)
    if abs(drop) < _SAME_LINE * size and line.x0 > before.x1 - _BACK * size:
        gap = (line.x0 - before.x1) / max(line.size, 1e-3)
        is_parted = before.text.endswith(" ") or line.text.startswith(" ")
        return "\t" if gap > _WIDE else " " if gap > _SPACE and not is_parted else ""
    return "\n" if 0 < drop < break_gap * size else "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyph:
    """One character. box: (x0, y0, x1, y1) in points of the page as shown."""

    text: str
    box: Box

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of its box, (x, y)."""
        x0, y0, x1, y1 = self.box
        return (x0 + x1) / 2, (y0 + y1) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Characters of one line in one typeface. line: it, with cleaned text, in points. box: in points, as a Glyph's.

    turn_deg: the clockwise rotation that lets it run from left to right, None for a slanted one. The line of a turned
    span is placed on a page rotated like that, so that turned lines stand to each other as upright ones do.
    chars: all of them, spaces too. glyphs: those that leave a mark. grey: their colour, 0 black to 255 white. is_drawn:
    not invisible by rendering mode, opacity or size. is_bold, is_italic,
    is_monospaced: by the typeface's descriptor or its name.
    """

    line: Line
    box: Box
    font: str
    chars: tuple[Glyph, ...]
    glyphs: tuple[Glyph, ...]
    grey: int
    is_drawn: bool
    turn_deg: Angle | None
    is_bold: bool = False
    is_italic: bool = False
    is_monospaced: bool = False

    @property
    def is_turned(self) -> bool:
        """Whether it does not run from left to right."""
        return self.turn_deg != 0

    def of(self, chars: Sequence[Glyph]) -> "Span":
        """Returns the span with only some of its characters, or with them in another order. chars: one at least."""
        text, box = clean("".join(char.text for char in chars)), hull(char.box for char in chars)
        left, _, right, _ = rotated(box, self.turn_deg)
        return replace(
            self,
            line=replace(self.line, text=text, spans=((left, right),)),
            box=box,
            chars=tuple(chars),
            glyphs=tuple(char for char in chars if not char.text.isspace()),
        )


def parted_by(marks: str, spans: Iterable[Span]) -> list[list[Span]]:
    """Returns the spans in runs without one of these marks between: printed lines, or the cells of these too."""
    return runs(list(spans), lambda a, b: between(a.line, b.line)[:1] in set(marks))


def runs(items: list[Any], are_apart: Callable[[Any, Any], bool]) -> list[list[Any]]:
    """Returns items in runs between two that are apart."""
    ends = [n for n, (a, b) in enumerate(pairwise(items), 1) if are_apart(a, b)]
    return [items[start:end] for start, end in pairwise([0, *ends, len(items)]) if end]


def read_spans(display: Any) -> tuple[Span, ...]:
    """Returns the spans of a page in the order of its text layer. display: a pymupdf DisplayList.

    Raises: whatever MuPDF does; ValueError for more characters than a page can show.
    """
    found = list(text_spans(open_text(display), with_chars=True))
    if sum(len(span["chars"]) for _, span in found) > _MOST_CHARS:
        raise ValueError(f"more than {_MOST_CHARS:,} characters on a page")
    for _, own in groupby(found, lambda pair: id(pair[0])):
        _close_up([span for _, span in own])
    understand((span for _, span in found), cache(lambda: _codes(display)))
    return tuple(_span(line, span) for line, span in found if span["chars"])


def _close_up(spans: Sequence[Any]) -> None:
    """Makes a line of MuPDF's one span where letters are set apart, all as far, in which it sees spaces: T I T L E."""
    chars = [char for span in spans for char in span["chars"]]
    apart = [char["bbox"][2] - char["bbox"][0] for char in chars if char["synthetic"]] or [math.inf]
    is_even = max(apart) < min(_SET_APART * spans[0]["size"], min(apart) + _EVENLY * spans[0]["size"])
    if is_even and _LETTERS_APART.fullmatch("".join(char["c"] for char in chars)):
        letters = [char for char in chars if not char["synthetic"]]
        for span in spans:
            span["chars"] = []
        spans[0].update(chars=letters, bbox=hull(char["bbox"] for char in letters))


def _codes(display: Any) -> Mapping[Any, str]:
    """Returns a page's characters by their boxes, with the code of each that maps to none."""
    found = text_spans(open_text(display, codes_for_unmapped=True), with_chars=True)
    return {tuple(char["bbox"]): char["c"] for _, span in found for char in span["chars"]}


def read_text(document: Any, index: int) -> str:
    """Returns a page's characters without their positions, some forty times as fast as judging them; "" if it fails.

    document: a pymupdf document. At most _MOST_IN_TEXT characters.
    """
    try:
        text = open_text(document.load_page(index).get_displaylist())
        return str(text.extractText()).strip()[:_MOST_IN_TEXT]
    except Exception as error:  # C parsers raise anything, and the page can be read without its layer
        LOGGER.debug("text layer of page %d: %s", index + 1, error)
        return ""


def rotated(box: Box, turn_deg: Angle | None) -> Box:
    """Returns a box on the page rotated clockwise about its corner; as it is for None."""
    x0, y0, x1, y1 = box
    if turn_deg == 90:
        return -y1, x0, -y0, x1
    if turn_deg == 180:
        return -x1, -y1, -x0, -y0
    return (y0, -x1, y1, -x0) if turn_deg == 270 else box


def _span(line: Any, span: Any) -> Span:
    chars = tuple(Glyph(text=char["c"], box=tuple(char["bbox"])) for char in span["chars"])
    across, along = line["dir"]
    turn_deg = 0 if abs(along) <= _TURNED and across > 0 else angle_of(across, along)
    font, flags = span["font"], span["flags"]
    x0, _, x1, _ = rotated(span["bbox"], turn_deg)
    _, base, _, _ = rotated((*span["origin"], *span["origin"]), turn_deg)
    text = clean("".join(char.text for char in chars))
    red, green, blue = (span["color"] >> shift & 255 for shift in (16, 8, 0))
    return Span(
        line=Line(text=text, spans=((x0, x1),), base=float(base), size=float(span["size"])),
        box=tuple(span["bbox"]),
        font=font,
        chars=chars,
        glyphs=tuple(char for char in chars if not char.text.isspace()),
        grey=round(0.299 * red + 0.587 * green + 0.114 * blue),
        is_drawn=is_drawn(span) and span["alpha"] > 0 and span["size"] >= _LEAST_SIZE_PT,
        turn_deg=turn_deg,
        is_bold=bool(flags & _BOLD or span["char_flags"] & _BOLD_CHAR or _BOLD_NAME.search(font)),
        is_italic=bool(flags & _ITALIC or _ITALIC_NAME.search(font)),
        is_monospaced=bool(flags & _MONOSPACED or _MONOSPACED_NAME.search(font)),
    )
