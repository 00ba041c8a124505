"""Parses DocTags, which SmolDocling and Granite-Docling write.

    <doctag><text><loc_x0><loc_y0><loc_x1><loc_y1>text</text> ... </doctag>

Coordinates run from 0 to 500 over the page. Characters are written as they are, without entities.
Source: docling-core, docling_core/types/doc/tokens.py, and Nassar et al. 2025, "SmolDocling".
"""

import re
from collections.abc import Iterator

from ocr.transcript.docling.otsl import CELLS
from ocr.transcript.docling.tree import Tag, tree
from ocr.transcript.docling.tree_regions import Sheet, regions
from ocr.transcript.layouts.regions import page_text
from ocr.types import ParsedText

_GRID = 500
# Names here, and what both markups share.
_ELEMENTS = {
    "title": "heading",
    "section_header": "heading",
    "paragraph": "text",
    "otsl": "table",
    "document_index": "table",
    "list_item": "divider",
    "ordered_list": "list",
    "unordered_list": "list",
    "checkbox_selected": "text",
    "checkbox_unselected": "text",
    "doctag": "group",
    "form": "group",
    "key_value_region": "group",
    **{
        name: name
        for name in (
            *(
                "text",
                "caption",
                "footnote",
                "formula",
                "page_footer",
                "page_header",
                "picture",
                "table",
                "code",
            ),
            *("reference", "chart", "smiles", "inline", "group"),
        )
    },
}
_EMPTY = CELLS | {"nl", "page_break"}
_CLASSES = (
    *(
        "other",
        "picture_group",
        "pie_chart",
        "bar_chart",
        "line_chart",
        "flow_chart",
        "scatter_chart",
        "heatmap",
    ),
    *(
        "remote_sensing",
        "natural_image",
        "chemistry_molecular_structure",
        "chemistry_markush_structure",
        "icon",
    ),
    *("logo", "signature", "stamp", "qr_code", "bar_code", "screenshot", "map", "stratigraphic_chart"),
    *("cad_drawing", "electrical_diagram"),
)
TAG = re.compile(
    rf"<(?:loc_(?P<location>\d{{1,4}})|_(?P<language>[^\s<>]{{1,20}})_|link_\d{{1,4}}|(?P<class>{'|'.join(_CLASSES)})"
    rf"|(?P<close>/?)(?:section_header_level_(?P<level>\d)|(?P<pair>key|value)_\d{{1,4}}"
    rf"|(?P<name>{'|'.join((*_ELEMENTS, *sorted(_EMPTY)))})))>"
)


def parse(raw: str, *, width_px: int, height_px: int, page_number: int = 1) -> ParsedText:
    """Returns text, markdown and blocks of a page of width_px x height_px. Never raises, and loses nothing but tags."""
    sheet = Sheet(width_px=width_px, height_px=height_px, entities=False)
    return page_text(regions(tree(raw, _tags(raw)), sheet), page_number)


def _tags(raw: str) -> Iterator[Tag]:
    for match in TAG.finditer(raw):
        yield _tag(match)


def _tag(match: re.Match[str]) -> Tag:
    start, end = match.span()
    if match["location"]:
        share = str(int(match["location"]) / _GRID)
        return Tag(name="location", start=start, end=end, attributes={"share": share})
    if match["language"]:
        language = match["language"] if match["language"] != "unknown" else ""
        return Tag(name="language", start=start, end=end, attributes={"language": language})
    if match["class"]:
        return Tag(name="class", start=start, end=end)
    written = match["name"] or match["pair"] or ("section_header" if match["level"] else "")
    if not written:
        return Tag(name="property", start=start, end=end)
    name = _ELEMENTS.get(written, written)
    if match["close"]:
        return Tag(name="item" if name == "divider" else name, start=start, end=end, kind="close")
    return Tag(
        name=name,
        start=start,
        end=end,
        kind="empty" if written in _EMPTY else "open",
        attributes=_attributes(written, match["level"]),
    )


def _attributes(written: str, level: str | None) -> dict[str, str]:
    """Returns what an element's name says of it. docling writes sections from the second level of headings on."""
    if written == "section_header":
        return {"level": str(int(level or "1") + 1)}
    if written.startswith("checkbox_"):
        return {"class": written.removeprefix("checkbox_")}
    return {"class": "ordered"} if written == "ordered_list" else {}
