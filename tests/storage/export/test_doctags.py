"""DocTags and docling's JSON: docling-core reads back what was written."""

import io
from typing import Any

import pytest

from storage.export.formats import FORMATS
from storage.export.rows import BlockRow, PageRow
from tests.storage.export.page_rows import a_failure, a_letter, a_row, as_structured

BOATS = ("", "A boat", "A barge", "A raft")
TABLE = "<table><tr><th>a</th><th>b</th></tr><tr><td colspan=2>one</td></tr></table>"


def written(name: str, *rows: PageRow) -> str:
    stream = io.StringIO()
    FORMATS[name].write(as_structured(*rows), stream)
    return stream.getvalue()


def read_back(*rows: PageRow) -> Any:
    """Returns the rows' document as docling-core reads it, which takes two seconds to import."""
    document = pytest.importorskip("docling_core.types.doc").DoclingDocument
    return document.model_validate_json(written("docling", *rows))


def a_table() -> PageRow:
    block = BlockRow(label="table", box=(10, 20, 300, 400), text="a b\none", confidence=None, source="ocr")
    return a_row("a b\none", page=2, markdown=TABLE, blocks=[block])


def test_doclings_json_is_read_back() -> None:
    document = read_back(a_letter(), a_table(), a_failure(3))
    assert sorted(document.pages) == [1, 2, 3]
    assert [(item.label.value, item.text) for item in document.texts] == [
        ("section_header", "Dear <you> & me"), ("text", "one two\nthree lost"),
    ]  # fmt: skip
    assert document.texts[0].prov[0].bbox.as_tuple() == (100, 100, 500, 140)
    assert len(document.pictures) == 1
    (table,) = document.tables
    assert (table.data.num_rows, table.data.num_cols) == (2, 2)
    cells = [(cell.text, cell.col_span, cell.column_header) for cell in table.data.table_cells]
    assert cells == [("a", 1, True), ("b", 1, True), ("one", 2, False)]
    assert "| one" in document.export_to_markdown()


def test_doctags_have_texts_places_and_tables() -> None:
    tags = written("doctags", a_letter(), a_table())
    assert "<section_header_level_1><loc_50>" in tags
    assert "one two\nthree lost</text>" in tags
    assert "<picture><loc_300><loc_150>" in tags
    assert "<otsl>" in tags
    assert tags.count("<page_break>") == 1


def test_a_table_that_goes_on_is_one_item_with_both_places() -> None:
    head, block = (
        "| a | b |\n| --- | --- |\n",
        BlockRow(label="table", box=(10, 20, 300, 400), text="", confidence=None, source="ocr"),
    )
    rows = [
        a_row(f"a b\n{at} 2", at, markdown=f"{head}| {at} | 2 |", blocks=[{**block, "text": f"a b\n{at} 2"}])
        for at in (1, 2, 3)
    ]
    document = read_back(*rows)
    (table,) = document.tables
    assert [place.page_no for place in table.prov] == [1, 2, 3]
    assert [[cell.text for cell in row] for row in table.data.grid] == [
        ["a", "b"],
        ["1", "2"],
        ["2", "2"],
        ["3", "2"],
    ]
    assert written("doctags", *rows).count("<ched>a") == 1


def test_furniture_and_captions_are_told() -> None:
    def page(number: int) -> PageRow:
        kinds = [
            ("text", "The harbour"), ("image", ""), ("figure_caption", f"Figure {number}: {BOATS[number]}"),
            ("table_caption", "Table 1"), ("table", "a b\none"), ("text", str(number)),
        ]  # fmt: skip
        blocks = [
            BlockRow(
                label=label, box=(10, 100 * at, 300, 100 * at + 90), text=text, confidence=None, source="ocr"
            )
            for at, (label, text) in enumerate(kinds, 1)
        ]
        text = "\n\n".join(text for _, text in kinds if text)
        return a_row(text, number, markdown=text.replace("a b\none", TABLE), blocks=blocks)

    document = read_back(*map(page, (1, 2, 3)))
    layers = {item.text: item.content_layer.value for item in document.texts}
    assert (layers["The harbour"], layers["2"], layers["Table 1"]) == ("furniture", "furniture", "body")
    assert [item.caption_text(document) for item in document.pictures] == [
        f"Figure {n}: {BOATS[n]}" for n in (1, 2, 3)
    ]
    assert [item.caption_text(document) for item in document.tables] == ["Table 1"] * 3
    tags = written("doctags", *map(page, (1, 2, 3)))
    assert tags.count("<caption>") == 6
    assert "<page_header>" in tags
    assert tags.count("Figure 2: A barge") == 1


def test_rows_without_cells_take_no_other_tables_cells() -> None:
    texts = ("Adder 9\nViper 4", "a b\none")
    blocks = [
        BlockRow(label="table", box=[10, 20, 300, 400], text=text, confidence=None, source="ocr")
        for text in texts
    ]
    row = a_row("\n\n".join(texts), markdown=f"{texts[0]}\n\n{TABLE}", blocks=blocks)
    document = read_back(row)
    assert [item.text for item in document.texts] == [texts[0]]
    assert len(document.tables) == 1


def test_paragraphs_are_whole_and_lists_have_items() -> None:
    prose = "The harbour office opens at seven, and who-\never wants a berth should ask before the end of\nSeptember."
    items = "1. longer opening hours in the winter months,\nwhen the nights are long\n2. a table"
    blocks = [
        BlockRow(label=label, box=(10, 20, 300, 400), text=text, confidence=None, source="ocr")
        for label, text in (("text", prose), ("list", items))
    ]
    row = a_row(f"{prose}\n\n{items}", blocks=blocks)
    document = read_back(row)
    assert [(item.label.value, item.text) for item in document.texts] == [
        (
            "text",
            "The harbour office opens at seven, and whoever wants a berth should ask before the end of September.",
        ),
        ("list_item", "longer opening hours in the winter months, when the nights are long"),
        ("list_item", "a table"),
    ]
    assert "1. longer" in document.export_to_markdown()
    assert "<ordered_list><list_item>" in written("doctags", row)
