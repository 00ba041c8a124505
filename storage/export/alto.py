"""ALTO 4.4: pages, blocks, lines and words with their boxes. One document a file.

Source: https://www.loc.gov/standards/alto/v4/alto-4-4.xsd.
"""

from collections.abc import Iterable
from typing import TextIO
from xml.etree.ElementTree import Element
from xml.sax.saxutils import escape

from storage.export.regions import Box, Region, TextLine, as_box, regions
from storage.export.rows import PageRow
from storage.export.xml_text import as_text, clean, part, program, remark
from storage.strings.printable import one_line

_NAMESPACE = "http://www.loc.gov/standards/alto/ns-v4#"


def write(rows: Iterable[PageRow], stream: TextIO) -> int:
    """Writes the pages of a document; returns their number. A page without a text is there, empty."""
    number = 0
    for row in rows:
        if not number:
            stream.write(_head(row))
        number += 1
        stream.write(remark(row) + as_text(_page(row)) + "\n")
    if number:
        stream.write("</Layout>\n</alto>\n")
    return number


def _head(row: PageRow) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<alto xmlns="{_NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        f'xsi:schemaLocation="{_NAMESPACE} https://www.loc.gov/standards/alto/v4/alto-4-4.xsd" SCHEMAVERSION="4.4">\n'
        "<Description><MeasurementUnit>pixel</MeasurementUnit><sourceImageInformation>"
        f"<fileName>{escape(clean(one_line(row['path'])))}</fileName></sourceImageInformation>"
        '<Processing ID="ocrbatch"><processingSoftware><softwareName>ocrbatch</softwareName>'
        f"<softwareVersion>{program()}</softwareVersion></processingSoftware></Processing></Description>\n<Layout>\n"
    )


def _page(row: PageRow) -> Element:
    number, width, height = row["page"], row["width_px"], row["height_px"]
    page = Element("Page", {"ID": f"p{number}", "PHYSICAL_IMG_NR": str(number)})
    for name, value in (("WIDTH", width), ("HEIGHT", height)):
        if value is not None:
            page.set(name, str(value))
    if row["confidence"] is not None:
        page.set("PC", f"{row['confidence']:.3f}")
    if width is None or height is None:
        return page
    whole = (0, 0, width, height)
    space = part(page, "PrintSpace", **_place(whole))
    for index, region in enumerate(regions(row), 1):
        _region(space, region, f"p{number}_b{index}", whole)
    return page


def _region(space: Element, region: Region, name: str, whole: Box) -> None:
    box = region.box or whole
    if not region.lines:
        part(space, "Illustration", ID=name, **_place(box)).tail = "\n"
        return
    block = part(space, "TextBlock", ID=name, **_place(box))
    block.tail = "\n"
    for index, line in enumerate(region.lines, 1):
        _line(block, line, f"{name}_l{index}", line.box or box)


def _line(block: Element, line: TextLine, name: str, around: Box) -> None:
    """Adds a line. A word whose place is not known has no box; ALTO wants one of a line, which is its block's then."""
    shown = part(block, "TextLine", ID=name, **_place(around))
    for index, word in enumerate(line.words, 1):
        if index > 1:
            part(shown, "SP")
        box = as_box(word["box"])
        place = {} if box is None else _place(box)
        sure = None if word["confidence"] is None else f"{word['confidence']:.2f}"
        part(shown, "String", ID=f"{name}_w{index}", CONTENT=word["text"], WC=sure, **place)


def _place(box: Box) -> dict[str, object]:
    x0, y0, x1, y1 = box
    return {"HPOS": x0, "VPOS": y0, "WIDTH": x1 - x0, "HEIGHT": y1 - y0}
