"""Parses DocLang, which IBM's Granite for Docling writes: DocTags' successor, in XML.

    <doclang><heading level="2"><location value="10"/><location value="20"/>...Abstract</heading>

Coordinates run from 0 to 512 over the page unless a resolution is given. It is read tolerantly, as output may be cut
off or broken; `<loc_10>` is taken for a location, as it is in DocTags.
Source: doclang-project/doclang, spec.md, version 0.6. The model's own tokens are not published in text: what is not in
the specification stays as text.
"""

import re
from collections.abc import Iterator

from ocr.transcript.docling.otsl import CELLS
from ocr.transcript.docling.tree import Tag, tree
from ocr.transcript.docling.tree_regions import Sheet, regions
from ocr.transcript.layouts.regions import page_text
from ocr.types import ParsedText

_RESOLUTION = 512
# Names in the specification, where what both markups share has another.
_ELEMENTS = {
    **dict.fromkeys(("thread", "xref", "href", "layer", "src", "default_resolution"), "property"),
    "doclang": "group",
    "ldiv": "divider",
    "tabular": "chart",
    "index": "table",
}
_EMPTY = frozenset({"label", "location", "page_break", "checkbox"})
_NAMES = (
    *("doclang", "head", "default_resolution", "page_break", "text", "heading", "footnote", "page_header"),
    *("page_footer", "field_region", "field_item", "field_heading", "key", "value", "hint", "list", "ldiv"),
    *(
        "table",
        "index",
        "tabular",
        "formula",
        "code",
        "picture",
        "marker",
        "group",
        "caption",
        "label",
        "thread",
    ),
    *("xref", "href", "description", "summary", "custom", "location", "layer", "src", "checkbox", "content"),
    *("bold", "italic", "underline", "strikethrough", "superscript", "subscript", "handwriting", "rtl"),
    *("nl", *sorted(CELLS)),
)
_ATTRIBUTE = re.compile(r'\s++([\w:]++)="([^"<>]*+)"')
TAG = re.compile(
    rf"<(?P<close>/?)(?P<name>{'|'.join(_NAMES)})(?P<attributes>(?:{_ATTRIBUTE.pattern})*)\s*+(?P<empty>/?)>"
    r"|<loc_(?P<location>\d{1,4})>|<!\[CDATA\[(?P<cdata>(?:(?!\]\]>)[\s\S])*)(?:\]\]>)?|<\?xml[^<>]*+>"
)


def parse(raw: str, *, width_px: int, height_px: int, page_number: int = 1) -> ParsedText:
    """Returns text, markdown and blocks of a page of width_px x height_px. Never raises, and loses nothing but tags."""
    sheet = Sheet(width_px=width_px, height_px=height_px, entities=True)
    return page_text(regions(tree(raw, _tags(raw)), sheet), page_number)


def _tags(raw: str) -> Iterator[Tag]:
    page = {"width": _RESOLUTION, "height": _RESOLUTION}
    num_locations = 0
    for match in TAG.finditer(raw):
        attributes = dict(_ATTRIBUTE.findall(match["attributes"] or ""))
        if match["name"] == "default_resolution":
            page = {side: _number(attributes.get(side)) or size for side, size in page.items()}
        is_location = match["name"] == "location" or match["location"] is not None
        if is_location:
            across = page["height" if num_locations % 2 else "width"]
            attributes = _share(
                match["location"] or attributes.get("value"), attributes.get("resolution"), across
            )
        num_locations = num_locations + 1 if is_location else 0
        yield _tag(match, attributes)


def _tag(match: re.Match[str], attributes: dict[str, str]) -> Tag:
    start, end = match.span()
    if match["cdata"] is not None:
        return Tag(name="cdata", start=start, end=end, attributes={"text": match["cdata"]})
    if match["location"] is not None:
        return Tag(name="location", start=start, end=end, attributes=attributes)
    if match["name"] is None:
        return Tag(name="property", start=start, end=end)
    return Tag(
        name=_ELEMENTS.get(match["name"], match["name"]),
        start=start,
        end=end,
        kind="close" if match["close"] else "empty" if match["empty"] or match["name"] in _EMPTY else "open",
        attributes=attributes,
    )


def _share(value: str | None, resolution: str | None, default: int) -> dict[str, str]:
    number = _number(value)
    return {} if number is None else {"share": str(number / (_number(resolution) or default))}


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 7 else None
