"""Parses docling's markups: DocTags, which SmolDocling and Granite-Docling write, and DocLang, its successor in XML.

    <doctag><text><loc_x0><loc_y0><loc_x1><loc_y1>text</text> ... </doctag>
    <doclang><heading level="2"><location value="10"/><location value="20"/>...Abstract</heading>

Coordinates of DocTags run from 0 to 500 over the page, and characters are written as they are, without entities. Those
of DocLang run from 0 to 512 unless a resolution is given. Both are read tolerantly, as output may be cut off or broken;
`<loc_10>` is taken for a location in DocLang too. What is not in a specification stays as text.
Source: docling-core, docling_core/types/doc/tokens.py; Nassar et al. 2025, "SmolDocling"; doclang-project/doclang,
spec.md, version 0.6.
"""

import re
from collections.abc import Iterator

from ocr.transcript.docling.otsl import CELLS
from ocr.transcript.docling.tree import Kind, Tag, tree
from ocr.transcript.docling.tree_regions import regions
from ocr.transcript.layouts.regions import page_text
from ocr.transcript.untagged import unescaped
from ocr.types import ParsedText

_DOCTAGS_GRID, _DOCLANG_GRID = 500, 512
# Names in a markup, and what both share.
_DOCTAGS_ELEMENTS = {
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
}
_DOCTAGS_SAME = (
    "text caption footnote formula page_footer page_header picture table code reference chart smiles"
    " inline group"
)
_DOCTAGS_EMPTY = CELLS | {"nl", "page_break"}
_CLASSES = (
    "other picture_group pie_chart bar_chart line_chart flow_chart scatter_chart heatmap remote_sensing natural_image"
    " chemistry_molecular_structure chemistry_markush_structure icon logo signature stamp qr_code bar_code screenshot"
    " map stratigraphic_chart cad_drawing electrical_diagram"
)
_DOCLANG_ELEMENTS = {
    **dict.fromkeys(("thread", "xref", "href", "layer", "src", "default_resolution"), "property"),
    "doclang": "group",
    "ldiv": "divider",
    "tabular": "chart",
    "index": "table",
}
_DOCLANG_EMPTY = frozenset({"label", "location", "page_break", "checkbox"})
_DOCLANG_NAMES = (
    "doclang head default_resolution page_break text heading footnote page_header page_footer field_region field_item"
    " field_heading key value hint list ldiv table index tabular formula code picture marker group caption label thread"
    " xref href description summary custom location layer src checkbox content bold italic underline strikethrough"
    " superscript subscript handwriting rtl nl"
)
_ATTRIBUTE = re.compile(r'\s++([\w:]++)="([^"<>]*+)"')


DOCTAG = re.compile(
    rf"<(?:loc_(?P<location>\d{{1,4}})|_(?P<language>[^\s<>]{{1,20}})_|link_\d{{1,4}}"
    rf"|(?P<class>{_CLASSES.replace(' ', '|')})"
    rf"|(?P<close>/?)(?:section_header_level_(?P<level>\d)|(?P<pair>key|value)_\d{{1,4}}"
    rf"|(?P<name>{'|'.join((*_DOCTAGS_ELEMENTS, *_DOCTAGS_SAME.split(), *sorted(_DOCTAGS_EMPTY)))})))>"
)
DOCLANG_TAG = re.compile(
    rf"<(?P<close>/?)(?P<name>{'|'.join((*_DOCLANG_NAMES.split(), *sorted(CELLS)))})"
    rf"(?P<attributes>(?:{_ATTRIBUTE.pattern})*)\s*+(?P<empty>/?)>"
    r"|<loc_(?P<location>\d{1,4})>|<!\[CDATA\[(?P<cdata>(?:(?!\]\]>)[\s\S])*)(?:\]\]>)?|<\?xml[^<>]*+>"
)


def parse_doctags(raw: str, *, width_px: int, height_px: int, page_number: int = 1) -> ParsedText:
    """Returns text, markdown and blocks of a page of width_px x height_px. Never raises, and loses nothing but tags."""
    root = tree(raw, map(_doctag, DOCTAG.finditer(raw)))
    return page_text(regions(root, width_px, height_px), page_number)


def parse_doclang(raw: str, *, width_px: int, height_px: int, page_number: int = 1) -> ParsedText:
    """Returns what `parse_doctags` returns."""
    root = tree(raw, _doclang_tags(raw), unescaped)
    return page_text(regions(root, width_px, height_px), page_number)


def _doctag(match: re.Match[str]) -> Tag:
    def made(name: str, kind: Kind = "open", attribute: str = "", value: str = "") -> Tag:
        attributes = {attribute: value} if attribute else {}
        return Tag(name=name, start=match.start(), end=match.end(), kind=kind, attributes=attributes)

    if match["location"]:
        return made("location", "open", "share", str(int(match["location"]) / _DOCTAGS_GRID))
    if match["language"]:
        return made(
            "language", "open", "language", "" if match["language"] == "unknown" else match["language"]
        )
    if match["class"]:
        return made("class")
    written = match["name"] or match["pair"] or ("section_header" if match["level"] else "")
    if not written:
        return made("property")
    name = _DOCTAGS_ELEMENTS.get(written, written)
    if match["close"]:
        return made("item" if name == "divider" else name, "close")
    if written in _DOCTAGS_EMPTY:
        return made(name, "empty")
    if written == "section_header":  # docling writes sections from the second level of headings on
        return made(name, "open", "level", str(int(match["level"] or "1") + 1))
    if written.startswith("checkbox_"):
        return made(name, "open", "class", written.removeprefix("checkbox_"))
    return made(name, "open", "class", "ordered") if written == "ordered_list" else made(name)


def _doclang_tags(raw: str) -> Iterator[Tag]:
    page = {"width": _DOCLANG_GRID, "height": _DOCLANG_GRID}
    num_locations = 0
    for match in DOCLANG_TAG.finditer(raw):
        attributes = dict(_ATTRIBUTE.findall(match["attributes"] or ""))
        if match["name"] == "default_resolution":
            page = {side: _number(attributes.get(side)) or size for side, size in page.items()}
        is_location = match["name"] == "location" or match["location"] is not None
        if is_location:
            across = page["height" if num_locations % 2 else "width"]
            number = _number(match["location"] or attributes.get("value"))
            resolution = _number(attributes.get("resolution")) or across
            attributes = {} if number is None else {"share": str(number / resolution)}
        num_locations = num_locations + 1 if is_location else 0
        yield _doclang_tag(match, attributes)


def _doclang_tag(match: re.Match[str], attributes: dict[str, str]) -> Tag:
    name = _DOCLANG_ELEMENTS.get(match["name"], match["name"] or "property")
    kind: Kind = "open"
    if match["cdata"] is not None:
        name, attributes = "cdata", {"text": match["cdata"]}
    elif match["location"] is not None:
        name = "location"
    elif match["close"]:
        kind = "close"
    elif match["empty"] or match["name"] in _DOCLANG_EMPTY:
        kind = "empty"
    return Tag(name=name, start=match.start(), end=match.end(), kind=kind, attributes=attributes)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 7 else None
