"""A package's compressed font becomes one that any renderer reads; a package without one says so."""

import io
import tarfile

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from PIL import ImageFont

from ocr.training.corpus.hand_files import plain_font
from ocr.training.corpus.packages import CorpusError


def _package(name: str) -> bytes:
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    pen.lineTo((400, 0))
    pen.lineTo((400, 500))
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "a"])
    builder.setupCharacterMap({97: "a"})
    builder.setupGlyf({".notdef": pen.glyph(), "a": pen.glyph()})
    builder.setupHorizontalMetrics({".notdef": (500, 0), "a": (500, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Test", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.font.flavor = "woff"
    packed = io.BytesIO()
    builder.font.save(packed)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(packed.getvalue())
        archive.addfile(member, io.BytesIO(packed.getvalue()))
    return out.getvalue()


def test_a_font_is_taken_out_plain() -> None:
    font = plain_font(_package("package/files/pen-latin-400-normal.woff"), "pen")
    assert font[:4] == b"\0\1\0\0"
    assert ImageFont.truetype(io.BytesIO(font), 40).getlength("aa") == 40


def test_a_package_without_a_latin_font() -> None:
    with pytest.raises(CorpusError, match="take another family"):
        plain_font(_package("package/files/pen-greek-400-normal.woff"), "pen")
