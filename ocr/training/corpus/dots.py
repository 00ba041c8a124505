"""Typefaces of printers that print dots: a bitmap typeface drawn as round dots, as needle printers do."""

import io
import math

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from PIL import Image, ImageDraw, ImageFont

_EM = 1000
_CORNERS = 8  # of a dot


def dotted(data: bytes, characters: str, *, height_px: int, radius: float) -> bytes:
    """Returns a TrueType font: each pixel of the glyphs at `height_px` is a dot of `radius` pixels (0.3 to 0.8).

    data: a monospaced font, sharp at that height: of bitmaps, or of outlines that follow a grid. Characters that it
    lacks are left out. Radii above 0.5 make dots that touch, as a worn ribbon does.
    """
    font = ImageFont.truetype(io.BytesIO(data), height_px)
    ascent, descent = font.getmetrics()
    width = round(font.getlength("0"))
    unit = _EM / (ascent + descent)
    unknown = _mask(font, "\U000f1234", width, ascent + descent)
    glyphs, names = {".notdef": TTGlyphPen(None).glyph(), "space": TTGlyphPen(None).glyph()}, {0x20: "space"}
    for character in characters:
        mask = _mask(font, character, width, ascent + descent)
        if not mask or mask == unknown:
            continue
        name = f"u{ord(character):04X}"
        pen = TTGlyphPen(None)
        for x, y in mask:
            _dot(pen, (x + 0.5) * unit, (ascent - y - 0.5) * unit, radius * unit)
        glyphs[name], names[ord(character)] = pen.glyph(), name
    return _built(glyphs, names, round(width * unit), round(ascent * unit), round(descent * unit))


def _mask(font: ImageFont.FreeTypeFont, character: str, width: int, height: int) -> list[tuple[int, int]]:
    """The pixels (x, y) that are set."""
    image = Image.new("1", (width, height))
    ImageDraw.Draw(image).text((0, 0), character, fill=1, font=font)
    return [(x, y) for y in range(height) for x in range(width) if image.getpixel((x, y))]


def _dot(pen: TTGlyphPen, x: float, y: float, radius: float) -> None:
    for corner in range(_CORNERS):
        angle = -2 * math.pi * (corner + 0.5) / _CORNERS
        point = (round(x + radius * math.cos(angle)), round(y + radius * math.sin(angle)))
        (pen.lineTo if corner else pen.moveTo)(point)
    pen.closePath()


def _built(
    glyphs: dict[str, object], names: dict[int, str], advance: int, ascent: int, descent: int
) -> bytes:
    builder = FontBuilder(_EM, isTTF=True)
    builder.setupGlyphOrder(list(glyphs))
    builder.setupCharacterMap(names)
    builder.setupGlyf(glyphs)
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (advance, 0)))
    builder.setupHorizontalHeader(ascent=ascent, descent=-descent)
    builder.setupNameTable({"familyName": "Dots", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=ascent, sTypoDescender=-descent, usWinAscent=ascent, usWinDescent=descent)
    builder.setupPost(isFixedPitch=1)
    out = io.BytesIO()
    builder.save(out)
    return out.getvalue()
