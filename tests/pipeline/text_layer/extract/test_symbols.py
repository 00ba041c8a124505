"""What characters of symbol fonts, and of fonts without names, mean."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pikepdf
import pymupdf
import pytest

from pipeline.text_layer.extract.symbols import UNKNOWN, understand
from pipeline.text_layer.page import judged


def understood(font: str, text: str, codes: str | None = None) -> str:
    """Returns what the characters of a span mean. codes: those of characters that map to none, as MuPDF has them."""
    chars = [{"c": char, "bbox": (number, 0, number + 1, 1)} for number, char in enumerate(text)]

    def its_codes() -> Mapping[Any, str]:
        assert codes is not None, "asked for without need"
        return {(number, 0, number + 1, 1): code for number, code in enumerate(codes)}

    understand([{"font": font, "chars": chars}], its_codes)
    return "".join(str(char["c"]) for char in chars)


@pytest.mark.parametrize(
    ("font", "text", "expected"),
    [
        ("Wingdings-Regular", "\uf06c\uf0a7\uf0fc\uf0e0", "●▪✔→"),
        ("Wingdings", "l§ü", "●▪✔"),
        ("Wingdings2", "P\uf052", "✓☑"),
        ("Wingdings3", "\uf07d u", "▸ ▶"),
        ("Symbol", "\uf0b7·a", "••α"),
        ("SymbolMT", "Σ ≤ 3", "Σ ≤ 3"),
        ("ZapfDingbats", "4nl", "✔■●"),
        ("FontAwesome", "\uf0e0\uf09b", f"✉{UNKNOWN}"),
        ("Helvetica", "l§ü\uf8eb\uf8f8", "l§ü⎛⎠"),
        ("F29", "\x10e\x1ccient\x11 \x15 o\x1bice", "“eﬁcient” – oﬀice"),
        ("F12", "e\x0ecient \x0crst", "eﬃcient ﬁrst"),
        ("F38", "\x88\x84", "•†"),
        ("T1", "a\x02\x05\x08", "a\x02\x05\x08"),
        ("Calibri", "a\x1cb", "a\x1cb"),
    ],
)
def test_codes_are_told_by_their_font(font: str, text: str, expected: str) -> None:
    assert understood(font, text) == expected


def test_what_maps_to_nothing_is_told_by_its_code_where_the_font_is_known() -> None:
    assert understood("CMEX10", UNKNOWN * 3, "X\x10p") == "∑(√"
    assert understood("CMSY10", f"≤{UNKNOWN}", "\x14\x13") == "≤⊇"
    assert understood("FontAwesome", UNKNOWN, "\xcb") == UNKNOWN
    assert understood("CMR10", UNKNOWN) == UNKNOWN


def test_bullets_of_a_symbol_font_make_a_list(tmp_path: Path) -> None:
    with pymupdf.open() as made:
        page = made.new_page(width=400, height=300)
        for number, line in enumerate(("nets and ropes", "crates of ice", "oil for lamps")):
            page.insert_text((50, 100 + 16 * number), "l", fontname="zadb", fontsize=9)
            page.insert_text((64, 100 + 16 * number), line, fontsize=11)
        made.save(tmp_path / "a.pdf")
    with pikepdf.open(tmp_path / "a.pdf") as pdf:
        (font,) = (font for font in pdf.pages[0].Resources.Font.values() if font.BaseFont == "/ZapfDingbats")
        font.BaseFont, font.Encoding = pikepdf.Name.Wingdings, pikepdf.Name.WinAnsiEncoding
        pdf.save(tmp_path / "b.pdf")
    with pymupdf.open(tmp_path / "b.pdf") as document:
        layer = judged(document, 0, 144)
    assert layer is not None
    assert layer.markdown == "- nets and ropes\n- crates of ice\n- oil for lamps"
