"""Extracts a PDF page's own text layer as a draft for the decoder. Runs in workers; never imports torch.

A draft only proposes text; the page is read from its pixels. So nothing here may fail a page or take long.
"""

import logging
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pymupdf

from ocr.layout.crops import CropPlan

LOGGER = logging.getLogger("ocrbatch")
MAX_CHARS = 50_000
_MAX_LINES = 5_000
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
# Replacements as in the small model's training text; other models differ little.
_REPLACED = str.maketrans({
    **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\t", " "), **dict.fromkeys("\u2010\u2011\u00ad", "-"),
    "\u200a": "", "\u200b": "", "\ufeff": "",
})  # fmt: skip
# In type sizes.
_BREAK_GAP = 1.75  # baselines further apart are two paragraphs
_SAME_LINE = 0.5
_SPACE, _WIDE = 0.12, 1.5
_BACK = 0.2

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerLine:
    """A line of the text layer, or the part of one in a single typeface.

    x0, x1: its left and right end; base: its baseline; size: its type size. All in points of the page as shown, or in
    whatever unit these were scaled to.
    """

    text: str
    x0: float
    x1: float
    base: float
    size: float


def read_lines(document: Any, index: int) -> tuple[LayerLine, ...]:
    """Returns the lines of a page in the order of its text layer; none where that cannot be extracted."""
    try:
        display = document.load_page(index).get_displaylist()
        blocks = pymupdf.TextPage(display.get_textpage(_FLAGS)).extractDICT()["blocks"]
        return tuple(_lines(blocks))
    except Exception as error:  # C parsers raise anything, and the page can be read without its layer
        LOGGER.debug("text layer of page %d: %s", index + 1, error)
        return ()


def _lines(blocks: Iterable[Any]) -> list[LayerLine]:
    found: list[LayerLine] = []
    num_chars = 0
    for block in blocks:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                text = clean(span["text"])
                num_chars += len(text)
                if num_chars > MAX_CHARS or len(found) >= _MAX_LINES:
                    return found
                if text:
                    x0, _, x1, _ = span["bbox"]
                    size, base = float(span["size"]), float(span["origin"][1])
                    found.append(LayerLine(text=text, x0=x0, x1=x1, base=base, size=size))
    return found


def clean(text: str) -> str:
    """Returns text in NFC with ligatures resolved, spaces and hyphens simplified, and only printable characters."""
    ligatures = "".join(
        unicodedata.normalize("NFKC", letter) if "\ufb00" <= letter <= "\ufb06" else letter for letter in text
    )
    plain = unicodedata.normalize("NFC", ligatures).translate(_REPLACED)
    return "".join(letter for letter in plain if letter.isprintable())


def texts(lines: Sequence[LayerLine], plan: CropPlan, px_per_pt: float) -> tuple[str | None, ...]:
    """Returns the text of each of the page's readings: of its crops, or of the page. None where there is none.

    px_per_pt: pixels per point on the plan's page.
    """
    if not plan.crops:
        return (as_text(lines),)
    words = [word for line in lines for word in _words(line, px_per_pt)]
    places = _upright([((w.x0 + w.x1) / 2, w.base - 0.3 * w.size) for w in words], plan)
    found = []
    for crop in plan.crops:
        x0, y0, x1, y1 = crop.box_px
        inside = [word for word, (x, y) in zip(words, places, strict=True) if x0 <= x < x1 and y0 <= y < y1]
        found.append(as_text(inside))
    return tuple(found)


def as_text(lines: Sequence[LayerLine]) -> str | None:
    """Returns the lines as text, with blank lines where the next is far below or elsewhere and tabs in wide gaps.

    None where there is no text.
    """
    text = ""
    previous: LayerLine | None = None
    for line in lines:
        if previous is not None:
            text += between(previous, line)
        text += line.text
        previous = line
    return text.strip() or None


def between(before: LayerLine, line: LayerLine) -> str:
    """Returns the white space between two successive lines or parts of a line, by their positions."""
    drop, size = line.base - before.base, max(line.size, before.size)
    if abs(drop) < _SAME_LINE * size and line.x0 > before.x1 - _BACK * line.size:
        gap = (line.x0 - before.x1) / max(line.size, 1e-3)
        return "\t" if gap > _WIDE else " " if gap > _SPACE else ""
    return "\n" if 0 < drop < _BREAK_GAP * size else "\n\n"


def _words(line: LayerLine, scale: float) -> list[LayerLine]:
    """Returns the words of a line, scaled, with positions estimated from their share of the line's letters.

    A space at the beginning or end of the line stays with its word.
    """
    letter = (line.x1 - line.x0) / len(line.text)
    words = []
    start = 0
    for word in line.text.split(" "):
        end = start + len(word)
        if word:
            words.append(
                LayerLine(
                    text=word,
                    x0=(line.x0 + start * letter) * scale,
                    x1=(line.x0 + end * letter) * scale,
                    base=line.base * scale,
                    size=line.size * scale,
                )
            )
        start = end + 1
    return words


def _upright(points: Sequence[Point], plan: CropPlan) -> list[Point]:
    """Returns points of the page after rotating it by the plan's angle."""
    if not plan.angle_deg:
        return list(points)
    sine, cosine = math.sin(math.radians(plan.angle_deg)), math.cos(math.radians(plan.angle_deg))
    middle_x, middle_y = plan.size_px[0] / 2, plan.size_px[1] / 2
    return [
        (
            middle_x + (x - middle_x) * cosine + (y - middle_y) * sine,
            middle_y - (x - middle_x) * sine + (y - middle_y) * cosine,
        )
        for x, y in points
    ]
