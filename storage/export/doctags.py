"""DocTags, and docling's own JSON: documents as docling has them. Needs docling-core (the extra `docling`).

A document is in memory whole, as docling-core has it.
"""

import json
import re
from collections.abc import Iterable, Sequence, Set
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TextIO

from storage.errors import MissingExtraError
from storage.export.outline import DEEPEST
from storage.export.reflow import reflowed
from storage.export.regions import Region, regions
from storage.export.rendering import tables
from storage.export.structure import StructuredRow
from storage.export.tables import Table
from storage.types import BoxPx

if TYPE_CHECKING:
    from docling_core.types.doc import DoclingDocument

_MARK = re.compile(r"(?:[•◦▪‣·–—*■●○-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
_LEVELS = {f"heading_{level}": level for level in range(1, DEEPEST + 1)}
# Our labels -> docling's names of labels; the others are "text".
_LABELS = {
    **dict.fromkeys(
        ("caption", "image_caption", "figure_caption", "figure_title", "table_caption"), "caption"
    ),
    **dict.fromkeys(("footnote", "page_footnote", "table_footnote"), "footnote"),
    **dict.fromkeys(("formula", "equation", "equation_block"), "formula"),
    **dict.fromkeys(("page_footer", "page_number", "footer"), "page_footer"),
    **dict.fromkeys(("page_header", "header"), "page_header"),
}


def write(rows: Iterable[StructuredRow], stream: TextIO) -> None:
    """Writes a document as DocTags. Raises: MissingExtraError."""
    if (document := _document(rows)) is not None:
        stream.write(document.export_to_doctags() + "\n")


def write_json(rows: Iterable[StructuredRow], stream: TextIO) -> None:
    """Writes a document as docling's JSON. Raises: MissingExtraError."""
    if (document := _document(rows)) is not None:
        json.dump(document.export_to_dict(), stream, ensure_ascii=False)


def _document(rows: Iterable[StructuredRow]) -> "DoclingDocument | None":
    try:
        from docling_core.types.doc import DoclingDocument, Size
    except ImportError as error:
        raise MissingExtraError("this format needs docling-core: pip install docling-core") from error
    document: DoclingDocument | None = None
    for row in rows:
        document = document or DoclingDocument(name=PurePath(row["path"]).name)
        document.add_page(row["page"], Size(width=row["width_px"] or 0, height=row["height_px"] or 0))
        left = list(tables(row["markdown"] or ""))
        goes_on, found = row["continues"], regions(row)
        captions = _captions(found)
        for at, region in enumerate(found):
            if at in captions.values():
                continue
            if goes_on and region.label == "table" and document.tables:
                if (place := _place(region.box, row["page"], 0)) is not None:
                    document.tables[-1].prov.append(place)
                goes_on = False
            else:
                caption = found[captions[at]] if at in captions else None
                _add(document, region, row["page"], left, row["known_words"], caption)
    return document


def _captions(found: Sequence[Region]) -> dict[int, int]:
    """Returns the figures and tables that have a caption, and where that is: right behind or right before."""
    own: dict[int, int] = {}
    for at, region in enumerate(found):
        if region.label == "table" or not region.lines:
            beside = (at - 1, at + 1) if region.label == "table" else (at + 1, at - 1)
            near = [other for other in beside if 0 <= other < len(found) and other not in own.values()]
            caption = next((other for other in near if _LABELS.get(found[other].label) == "caption"), None)
            own |= {} if caption is None else {at: caption}
    return own


def _add(
    document: "DoclingDocument",
    region: Region,
    page: int,
    left: list[Table],
    words: Set[str],
    caption: Region | None,
) -> None:
    """Adds a region. left: the tables of the page that are not added yet; a region of a table takes the next, if that
    is its own: of some tables only the rows are known.

    words: the document's, for those that lines' ends cut. caption: of a figure or table.
    """
    from docling_core.types.doc import ContentLayer, DocItemLabel

    text = "\n".join(" ".join(word["text"] for word in line.words) for line in region.lines)
    text = text if region.label in ("code", "table") else reflowed(text, words)
    place = _place(region.box, page, len(text))
    table = left.pop(0) if region.label == "table" and left and _is_of(left[0], text) else None
    item = None
    if not region.lines:
        item = document.add_picture(prov=place)
    elif table is not None:
        item = document.add_table(_data(table), prov=place)
    elif region.label in _LEVELS:
        document.add_heading(text.replace("\n", " "), level=_LEVELS[region.label], prov=place)
    elif region.label == "code":
        document.add_code(text, prov=place)
    elif region.label == "list":
        group = document.add_list_group()
        for item in re.split(rf"\n(?={_MARK.pattern})", text):
            found = _MARK.match(item)
            mark = found[0].strip() if found else "-"
            own = item[found.end() :] if found else item
            numbered = mark[-1] in ".)"
            document.add_list_item(own, marker=mark, enumerated=numbered, parent=group, prov=place)
    else:
        label = _LABELS.get(region.label, "text")
        layer = ContentLayer.FURNITURE if label.startswith("page_") else None
        document.add_text(DocItemLabel(label), text, prov=place, content_layer=layer)
    if caption is not None:
        said = " ".join(line.text for line in caption.lines)
        where = _place(caption.box, page, len(said))
        written = document.add_text(DocItemLabel.CAPTION, said, prov=where, parent=item)
        if item is not None:
            item.captions.append(written.get_ref())


def _place(box: BoxPx | None, page: int, length: int) -> Any:
    from docling_core.types.doc import BoundingBox, CoordOrigin, ProvenanceItem

    if box is None:
        return None
    x0, y0, x1, y1 = box
    bounds = BoundingBox(l=x0, t=y0, r=x1, b=y1, coord_origin=CoordOrigin.TOPLEFT)
    return ProvenanceItem(page_no=page, bbox=bounds, charspan=(0, length))


def _is_of(table: Table, text: str) -> bool:
    """Returns whether most words of a table's cells are those of a region."""
    own = {word for row in table.rows for cell in row for word in cell.text.split()}
    words = set(text.split())
    return len(own & words) >= min(len(own), len(words)) / 2  # of one that goes on, the page has a part


def _data(table: Table) -> Any:
    from docling_core.types.doc import TableCell, TableData

    cells = [
        TableCell(
            text=cell.text, column_header=cell.is_heading, row_span=cell.num_rows, col_span=cell.num_columns,
            start_row_offset_idx=row, end_row_offset_idx=row + cell.num_rows,
            start_col_offset_idx=column, end_col_offset_idx=column + cell.num_columns,
        )
        for row, column, cell in table.placed()
    ]  # fmt: skip
    num_columns = max((cell.end_col_offset_idx for cell in cells), default=0)
    num_rows = max([len(table.rows), *(cell.end_row_offset_idx for cell in cells)])
    return TableData(table_cells=cells, num_rows=num_rows, num_cols=num_columns)
