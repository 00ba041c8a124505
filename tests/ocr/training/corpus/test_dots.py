import io

import pymupdf
from fontTools.ttLib import TTFont

from ocr.training.corpus.dots import dotted


def test_each_pixel_becomes_a_dot() -> None:
    made = dotted(pymupdf.Font("cour").buffer, "IO", height_px=16, radius=0.4)
    font = TTFont(io.BytesIO(made))
    cmap = font.getBestCmap()
    assert set(cmap) == {ord(c) for c in " IO"}
    dots = {c: font["glyf"][cmap[ord(c)]].numberOfContours for c in "IO"}
    assert 10 < dots["I"] < 60
    assert 10 < dots["O"] < 60
    assert len({font["hmtx"][name][0] for name in cmap.values()}) == 1


def test_bolder_dots_ink_more() -> None:
    inked = []
    for radius in (0.35, 0.6):
        made = dotted(pymupdf.Font("cour").buffer, "H", height_px=16, radius=radius)
        with pymupdf.open() as document:
            page = document.new_page(width=60, height=60)
            writer = pymupdf.TextWriter(page.rect)
            writer.append((10, 45), "H", font=pymupdf.Font(fontbuffer=made), fontsize=36)
            writer.write_text(page)
            inked.append(sum(255 - v for v in page.get_pixmap(colorspace=pymupdf.csGRAY).samples))
    assert 0 < 1.5 * inked[0] < inked[1]
