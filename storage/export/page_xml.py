"""PAGE XML 2019-07-15: regions, lines and words with their boxes. One page a file, as the format has it.

Source: https://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15/pagecontent.xsd.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TextIO
from xml.etree.ElementTree import Element

from storage.export.regions import Box, Region, TextLine, as_box, regions
from storage.export.rows import PageRow
from storage.export.xml_text import as_text, part, program, remark
from storage.strings.printable import one_line

_NAMESPACE = "http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15"
# Kinds of text regions in the schema; the others are paragraphs.
_TYPES = {
    "title": "heading", "sub_title": "heading", "caption": "caption", "image_caption": "caption",
    "table_caption": "caption", "footnote": "footnote", "page_number": "page-number", "header": "header",
    "footer": "footer",
}  # fmt: skip


def write(rows: Iterable[PageRow], stream: TextIO) -> int:
    """Writes a page; returns 1. rows: one page."""
    (row,) = rows
    now = datetime.now(UTC).isoformat(timespec="seconds")
    root = Element("PcGts", {"xmlns": _NAMESPACE})
    meta = part(root, "Metadata")
    part(meta, "Creator", f"ocrbatch {program()}")
    part(meta, "Created", now)
    part(meta, "LastChange", now)
    width, height = row["width_px"] or 0, row["height_px"] or 0
    page = part(root, "Page", imageFilename=one_line(row["path"]), imageWidth=width, imageHeight=height)
    if row["confidence"] is not None:
        page.set("conf", f"{row['confidence']:.3f}")
    found = regions(row)
    if found:
        order = part(part(page, "ReadingOrder"), "OrderedGroup", id="order")
        for index in range(len(found)):
            part(order, "RegionRefIndexed", index=index, regionRef=f"r{index + 1}")
    for index, region in enumerate(found, 1):
        _region(page, region, f"r{index}", (0, 0, width, height))
    stream.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{remark(row)}{as_text(root)}\n')
    return 1


def _region(page: Element, region: Region, name: str, whole: Box) -> None:
    """Adds a region. The schema wants outlines: what has no place of its own has that of what it is in."""
    box = region.box or whole
    if not region.lines:
        _outline(part(page, "ImageRegion", id=name), box)
        return
    shown = part(page, "TextRegion", id=name, type=_TYPES.get(region.label, "paragraph"))
    _outline(shown, box)
    for index, line in enumerate(region.lines, 1):
        _line(shown, line, f"{name}_l{index}", line.box or box)
    lines = (" ".join(word["text"] for word in line.words) for line in region.lines)
    _text(shown, "\n".join(lines), region.confidence)


def _line(region: Element, line: TextLine, name: str, around: Box) -> None:
    shown = part(region, "TextLine", id=name)
    _outline(shown, around)
    for index, word in enumerate(line.words, 1):
        if (box := as_box(word["box"])) is not None:
            made = part(shown, "Word", id=f"{name}_w{index}")
            _outline(made, box)
            _text(made, word["text"], word["confidence"])
    _text(shown, " ".join(word["text"] for word in line.words), None)


def _outline(element: Element, box: Box) -> None:
    x0, y0, x1, y1 = box
    part(element, "Coords", points=f"{x0},{y0} {x1},{y0} {x1},{y1} {x0},{y1}")


def _text(element: Element, text: str, confidence: float | None) -> None:
    sure = None if confidence is None else f"{confidence:.3f}"
    part(part(element, "TextEquiv", conf=sure), "Unicode", text)
