"""hOCR 1.2: HTML with the boxes of regions, lines and words. One document a file.

Source: https://kba.github.io/hocr-spec/1.2/.
"""

from collections.abc import Iterable
from typing import TextIO
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from storage.export.regions import Box, Region, as_box, regions
from storage.export.rows import PageRow
from storage.export.xml_text import as_text, clean, part, program, remark
from storage.strings.printable import one_line

_CAPABILITIES = "ocr_page ocr_carea ocr_par ocr_line ocrx_word ocr_photo ocrp_wconf"


def write(rows: Iterable[PageRow], stream: TextIO) -> int:
    """Writes the pages of a document; returns their number. A page without a text is there, empty."""
    number = 0
    for row in rows:
        if not number:
            stream.write(_head(row))
        number += 1
        stream.write(remark(row) + as_text(_page(row, number)) + "\n")
    if number:
        stream.write("</body>\n</html>\n")
    return number


def _head(row: PageRow) -> str:
    title = escape(clean(one_line(row["path"])))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" '
        '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n'
        '<html xmlns="http://www.w3.org/1999/xhtml">\n<head>\n'
        f"<title>{title}</title>\n"
        '<meta http-equiv="Content-Type" content="text/html;charset=utf-8"/>\n'
        f'<meta name="ocr-system" content="ocrbatch {program()}"/>\n'
        f'<meta name="ocr-capabilities" content="{_CAPABILITIES}"/>\n'
        "</head>\n<body>\n"
    )


def _page(row: PageRow, number: int) -> Element:
    width, height, dpi = row["width_px"], row["height_px"], row["dpi"]
    image = one_line(row["path"]).replace("\\", "\\\\").replace('"', '\\"')
    properties = [f'image "{image}"', f"ppageno {row['page'] - 1}"]
    if width is not None and height is not None:
        properties.insert(1, f"bbox 0 0 {width} {height}")
    if dpi is not None:
        properties.append(f"scan_res {round(dpi)} {round(dpi)}")
    page = Element(
        "div", {"class": "ocr_page", "id": f"page_{number}", "title": clean("; ".join(properties))}
    )
    page.text = "\n"
    for index, region in enumerate(regions(row), 1):
        _region(page, region, f"{number}_{index}")
    return page


def _region(page: Element, region: Region, name: str) -> None:
    if not region.lines:
        part(page, "div", class_="ocr_photo", id=f"photo_{name}", title=_title(region.box)).tail = "\n"
        return
    area = part(page, "div", class_="ocr_carea", id=f"block_{name}", title=_title(region.box))
    area.tail = "\n"
    paragraph = part(area, "p", class_="ocr_par", id=f"par_{name}", title=_title(region.box))
    for index, line in enumerate(region.lines, 1):
        shown = part(paragraph, "span", class_="ocr_line", id=f"line_{name}_{index}", title=_title(line.box))
        shown.tail = "\n"
        for count, word in enumerate(line.words, 1):
            title = _title(as_box(word["box"]), word["confidence"])
            part(
                shown,
                "span",
                word["text"],
                class_="ocrx_word",
                id=f"word_{name}_{index}_{count}",
                title=title,
            ).tail = " "


def _title(box: Box | None, confidence: float | None = None) -> str | None:
    found = [] if box is None else [f"bbox {' '.join(map(str, box))}"]
    if confidence is not None:
        found.append(f"x_wconf {round(100 * confidence)}")
    return "; ".join(found) or None
