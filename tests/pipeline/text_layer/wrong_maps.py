"""Pages with a typeface whose map says something else than its glyphs show."""

import io
from collections.abc import Callable, Sequence

import pikepdf
import pymupdf

Line = tuple[tuple[float, float], str, bool]


def mapped_page(
    lines: Sequence[Line], says: Callable[[str], str], *, face: str = "tiro", size: float = 11.0
) -> bytes:
    """Returns a PDF of one page. lines: where each begins, its text, and whether it is in the typeface that is mapped.

    says: what the map has for a character; "" for nothing. Other lines are in Helvetica.
    """
    font = pymupdf.Font(face)
    with pymupdf.open() as made:
        page = made.new_page(width=420, height=595)
        page.insert_font("F9", fontbuffer=font.buffer)
        for at, text, is_mapped in lines:
            page.insert_text(at, text, fontsize=size, fontname="F9" if is_mapped else "helv")
        data = made.tobytes()
    used = sorted({char for _, text, is_mapped in lines if is_mapped for char in text})
    rows = [
        f"<{font.has_glyph(ord(char)):04x}> <{says(char).encode('utf-16-be').hex()}>"
        for char in used
        if says(char)
    ]
    text = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Wrong def /CMapType 2 def "
        "1 begincodespacerange <0000> <ffff> endcodespacerange "
        f"{len(rows)} beginbfchar\n" + "\n".join(rows) + "\nendbfchar endcmap end end"
    )
    with pikepdf.open(io.BytesIO(data)) as pdf:
        for each in pdf.pages[0].Resources.Font.values():
            if "/ToUnicode" in each:
                each.ToUnicode = pdf.make_stream(text.encode())
        saved = io.BytesIO()
        pdf.save(saved)
    return saved.getvalue()
