"""Extracts a PDF page's text layer character by character, as MuPDF interprets it. Runs in workers; torch-free."""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pymupdf

from pipeline.text_layer.extract.draft_lines import MAX_CHARS, LayerLine, clean

LOGGER = logging.getLogger("ocrbatch")
# Unlike a draft, a judged layer has U+FFFD for unmapped characters.
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
_DRAWN = 16 | 32  # FZ_STEXT_FILLED, FZ_STEXT_STROKED: not set for invisible text (text rendering mode 3)
_LEAST_SIZE_PT = 1.0  # smaller type is meant to be found by searches, not to be seen
_TURNED = 0.1  # the slope from which on a line is not read from left to right
# MuPDF's flags of a typeface, and of a character (FZ_STEXT_BOLD).
_ITALIC, _MONOSPACED, _BOLD, _BOLD_CHAR = 2, 8, 16, 8
# Names that tell a typeface's style if its descriptor does not.
_BOLD_NAME = re.compile(r"bold|black|heavy|semib|demi", re.IGNORECASE)
_ITALIC_NAME = re.compile(r"ital|obli|slant", re.IGNORECASE)
_MONOSPACED_NAME = re.compile(r"mono|cour|consol|typewr|cmtt|menlo", re.IGNORECASE)

Box = tuple[float, float, float, float]


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
    """Characters of one line in one typeface. line: as in drafts, with cleaned text. box: in points, as a Glyph's.

    chars: all of them, spaces too. glyphs: those that leave a mark. grey: their colour, 0 black to 255 white. is_drawn:
    not invisible by rendering mode, opacity or size. is_turned: does not run from left to right. is_bold, is_italic,
    is_monospaced: by the typeface's descriptor or its name.
    """

    line: LayerLine
    box: Box
    font: str
    chars: tuple[Glyph, ...]
    glyphs: tuple[Glyph, ...]
    grey: int
    is_drawn: bool
    is_turned: bool
    is_bold: bool = False
    is_italic: bool = False
    is_monospaced: bool = False

    def of(self, chars: Sequence[Glyph]) -> "Span":
        """Returns the span with only some of its characters, or with them in another order. chars: one at least."""
        x0, y0, x1, y1 = zip(*(char.box for char in chars), strict=True)
        text = clean("".join(char.text for char in chars))
        box = min(x0), min(y0), max(x1), max(y1)
        return replace(
            self,
            line=replace(self.line, text=text, x0=box[0], x1=box[2]),
            box=box,
            chars=tuple(chars),
            glyphs=tuple(char for char in chars if not char.text.isspace()),
        )


def read_spans(display: Any) -> tuple[Span, ...]:
    """Returns the spans of a page in the order of its text layer. display: a pymupdf DisplayList.

    At most draft_lines.MAX_CHARS characters. Raises: whatever MuPDF does.
    """
    blocks = pymupdf.TextPage(display.get_textpage(_FLAGS)).extractRAWDICT()["blocks"]
    found, num_chars = [], 0
    for line, span in _spans(blocks):
        num_chars += len(span["chars"])
        if num_chars > MAX_CHARS:
            break
        found.append(_span(line, span))
    return tuple(found)


def read_text(document: Any, index: int) -> str:
    """Returns a page's characters without their positions, some forty times as fast as judging them; "" if it fails.

    document: a pymupdf document. At most draft_lines.MAX_CHARS characters.
    """
    try:
        display = document.load_page(index).get_displaylist()
        return str(pymupdf.TextPage(display.get_textpage(_FLAGS)).extractText())[:MAX_CHARS]
    except Exception as error:  # C parsers raise anything, and the page can be read without its layer
        LOGGER.debug("text layer of page %d: %s", index + 1, error)
        return ""
    finally:
        pymupdf.TOOLS.reset_mupdf_warnings()


def _spans(blocks: list[Any]) -> Iterator[tuple[Any, Any]]:
    for block in blocks:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                if span["chars"]:
                    yield line, span


def _span(line: Any, span: Any) -> Span:
    x0, y0, x1, y1 = span["bbox"]
    size = float(span["size"])
    chars = tuple(Glyph(text=char["c"], box=tuple(char["bbox"])) for char in span["chars"])
    across, along = line["dir"]
    font, flags = span["font"], span["flags"]
    return Span(
        line=LayerLine(
            text=clean("".join(char["c"] for char in span["chars"])),
            x0=x0,
            x1=x1,
            base=float(span["origin"][1]),
            size=size,
        ),
        box=(x0, y0, x1, y1),
        font=font,
        chars=chars,
        glyphs=tuple(char for char in chars if not char.text.isspace()),
        grey=_grey(span["color"]),
        is_drawn=bool(span["char_flags"] & _DRAWN) and span["alpha"] > 0 and size >= _LEAST_SIZE_PT,
        is_turned=abs(along) > _TURNED or across < 0,
        is_bold=bool(flags & _BOLD or span["char_flags"] & _BOLD_CHAR or _BOLD_NAME.search(font)),
        is_italic=bool(flags & _ITALIC or _ITALIC_NAME.search(font)),
        is_monospaced=bool(flags & _MONOSPACED or _MONOSPACED_NAME.search(font)),
    )


def _grey(colour: int) -> int:
    """Returns the grey level of a colour 0xRRGGBB."""
    red, green, blue = colour >> 16 & 255, colour >> 8 & 255, colour & 255
    return round(0.299 * red + 0.587 * green + 0.114 * blue)
