"""Writes words as invisible text of a PDF page, each over the box in which it stands. Runs in workers.

The font's one glyph is blank: every character is as wide as half its size, and is stretched to its word's box. A
character's code is its UTF-16, so that its ToUnicode map is the same for all text.
Source: ISO 32000-1, 9.4 (text objects), 9.7 (composite fonts); the idea is that of Tesseract's pdfrenderer.cpp.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pikepdf
from pikepdf import Array, Dictionary, Matrix, Name, Rectangle

from ocr.imaging.measures import ASCENT, DESCENT

_GLYPHLESS = Path(__file__).with_name("glyphless.ttf")
_WIDTH = 0.5  # of every character, in type sizes
# Of each character; PDF/A forbids text in the first glyph, which stands for those that a font lacks.
_BLANK = (1).to_bytes(2, "big")
_LEAST_PT = 0.1  # smaller boxes cannot be stretched to
_TO_UNICODE = b"""/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
%b
endcodespacerange
%bendcmap
CMapName currentdict /CMap defineresource pop
end
end
"""
WIDE_CODES = b"<0000> <FFFF>"

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPage:
    """A page's words. page_index: 0-based. words: with their boxes in pixels of the page as it was read, upright.

    width_px, height_px: of that. rotation_deg: how far the page was turned clockwise to be upright.
    """

    page_index: int
    width_px: int
    height_px: int
    rotation_deg: int
    words: Sequence[tuple[str, Box]]


def to_unicode(codes: bytes, ranges: bytes) -> bytes:
    """Returns a ToUnicode CMap. codes: the first code and the last. ranges: what they mean, in beginbfrange blocks."""
    return _TO_UNICODE % (codes, ranges)


def font(pdf: pikepdf.Pdf) -> pikepdf.Object:
    """Returns the font as an object of the document."""
    file = pdf.make_stream(_GLYPHLESS.read_bytes())
    box = [0, round(-1000 * DESCENT), round(1000 * _WIDTH), round(1000 * ASCENT)]
    descriptor = Dictionary(
        Type=Name.FontDescriptor, FontName=Name.OcrbatchGlyphless, Flags=5, FontBBox=Array(box), ItalicAngle=0,
        Ascent=box[3], Descent=box[1], CapHeight=box[3], StemV=80, FontFile2=file,
    )  # fmt: skip
    system = Dictionary(Registry=pikepdf.String("Adobe"), Ordering=pikepdf.String("Identity"), Supplement=0)
    descendant = Dictionary(
        Type=Name.Font, Subtype=Name.CIDFontType2, BaseFont=Name.OcrbatchGlyphless, CIDSystemInfo=system,
        FontDescriptor=pdf.make_indirect(descriptor), DW=box[2],
        CIDToGIDMap=pdf.make_stream(_BLANK * 65536),
    )  # fmt: skip
    themselves = to_unicode(WIDE_CODES, b"1 beginbfrange\n%b <0000>\nendbfrange\n" % WIDE_CODES)
    whole = Dictionary(
        Type=Name.Font, Subtype=Name.Type0, BaseFont=Name.OcrbatchGlyphless, Encoding=Name("/Identity-H"),
        DescendantFonts=Array([pdf.make_indirect(descendant)]), ToUnicode=pdf.make_stream(themselves),
    )  # fmt: skip
    return pdf.make_indirect(whole)


def content(text: TextPage, page: pikepdf.Page, font_name: str) -> bytes:
    """Returns the page's words as a content stream. font_name: that of the font among the page's resources."""
    on_page = to_page(text, page)
    lines = (line for word, box in text.words for line in _word(word, box, on_page, font_name))
    return b"q BT 3 Tr\n" + "".join(f"{line}\n" for line in lines).encode("ascii") + b"ET Q\n"


def to_page(text: TextPage, page: pikepdf.Page) -> Matrix:
    """Returns the matrix from pixels of the page as it was read to the PDF page's own coordinates."""
    media = Rectangle(page.mediabox)
    shown = Rectangle(page.cropbox) & media  # the part that is shown
    shown = shown if shown.llx < shown.urx and shown.lly < shown.ury else media
    # What was turned to be read, and what a viewer turns, is turned back at once.
    turn_deg = (text.rotation_deg + page.rotation) % 360
    width, height = text.width_px, text.height_px
    if turn_deg in (90, 270):
        width, height = height, width
    turned_back = {
        0: Matrix(),
        90: Matrix(0, -1, 1, 0, 0, height),
        180: Matrix(-1, 0, 0, -1, width, height),
        270: Matrix(0, 1, -1, 0, width, 0),
    }[turn_deg]
    across, down = (shown.urx - shown.llx) / width, (shown.ury - shown.lly) / height
    return turned_back @ Matrix(across, 0, 0, -down, shown.llx, shown.ury)


def _word(text: str, box: Box, on_page: Matrix, font_name: str) -> Iterable[str]:
    """Yields the operators that write a word and a space, which tells readers that it ends.

    The space is of the same piece of text, wherever the next word begins: PDFium drops pieces of one character.
    """
    x0, y0, x1, y1 = box
    size_px = y1 - y0
    base = y1 - DESCENT / (ASCENT + DESCENT) * size_px
    # Text space has y upwards, in units of the type size.
    there = Matrix(size_px, 0, 0, -size_px, x0, base) @ on_page
    size_pt = (there.c**2 + there.d**2) ** 0.5
    if size_pt < _LEAST_PT or x1 <= x0:
        return
    # The type size stands in the font operator, where readers look for it, and not in the matrix.
    matrix = " ".join(f"{value / size_pt:.5f}" for value in (there.a, there.b, there.c, there.d))
    yield f"/{font_name} {size_pt:.3f} Tf {matrix} {there.e:.3f} {there.f:.3f} Tm"
    codes = text.encode("utf-16-be", "replace")
    stretch = 100 * (x1 - x0) / (len(codes) // 2 * _WIDTH * size_px)
    yield f"{stretch:.3f} Tz <{codes.hex()}0020> Tj"
