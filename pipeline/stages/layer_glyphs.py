"""What a PDF page's text layer holds, character by character, as MuPDF interprets it. Runs in workers; torch-free."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pymupdf

from pipeline.stages.text_layer import MAX_CHARS, LayerLine, clean

LOGGER = logging.getLogger("ocrbatch")
# Unlike a draft, a judged layer shows characters without a meaning as what they are: U+FFFD.
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
_DRAWN = 16 | 32  # FZ_STEXT_FILLED, FZ_STEXT_STROKED: not set for what is invisible (text rendering mode 3)
_LEAST_SIZE_PT = 1.0  # smaller type is there to be found by a search, not to be seen
_TURNED = 0.1  # from which slope on a line is not one to be read from left to right

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyph:
    """One character that leaves a mark. box: (x0, y0, x1, y1) in points of the page as it is shown."""

    text: str
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Characters in one typeface. line: as drafts have it, with text cleaned. box: as a glyph's.

    glyphs: those with a mark. grey: their colour, 0 black to 255 white. is_drawn: not invisible by its rendering mode,
    its opacity or its size. is_turned: not from left to right.
    """

    line: LayerLine
    box: Box
    font: str
    glyphs: tuple[Glyph, ...]
    grey: int
    is_drawn: bool
    is_turned: bool


def read_spans(display: Any) -> tuple[Span, ...]:
    """The spans of a page in the order of its text layer. display: a pymupdf DisplayList.

    At most text_layer.MAX_CHARS characters. Raises: whatever MuPDF does.
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
    """The characters alone, without their places, some forty times as fast as judging them; "" where that fails.

    document: a pymupdf document. At most text_layer.MAX_CHARS characters.
    """
    try:
        display = document.load_page(index).get_displaylist()
        return str(pymupdf.TextPage(display.get_textpage(_FLAGS)).extractText())[:MAX_CHARS]
    except Exception as error:  # C parsers raise anything, and the page can be read without
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
    glyphs = tuple(
        Glyph(text=char["c"], box=tuple(char["bbox"])) for char in span["chars"] if not char["c"].isspace()
    )
    across, along = line["dir"]
    return Span(
        line=LayerLine(
            text=clean("".join(char["c"] for char in span["chars"])),
            x0=x0,
            x1=x1,
            base=float(span["origin"][1]),
            size=size,
        ),
        box=(x0, y0, x1, y1),
        font=span["font"],
        glyphs=glyphs,
        grey=_grey(span["color"]),
        is_drawn=bool(span["char_flags"] & _DRAWN) and span["alpha"] > 0 and size >= _LEAST_SIZE_PT,
        is_turned=abs(along) > _TURNED or across < 0,
    )


def _grey(colour: int) -> int:
    """The grey level of a colour 0xRRGGBB."""
    red, green, blue = colour >> 16 & 255, colour >> 8 & 255, colour & 255
    return round(0.299 * red + 0.587 * green + 0.114 * blue)
