"""DocLang's examples in its specification (doclang-project/doclang, spec.md), and disorder of them."""

import pytest

from ocr.transcript.docling.markups import parse_doclang as parse
from ocr.types import ParsedText


def page(raw: str) -> ParsedText:
    return parse(raw, width_px=512, height_px=1024, page_number=1)


def located(*numbers: int) -> str:
    return "".join(f'<location value="{number}"/>' for number in numbers)


def test_headings_texts_and_their_places() -> None:
    parsed = page(
        f'<?xml version="1.0"?><doclang version="0.6"><heading>{located(10, 20, 30, 40)}Paper Title</heading>'
        '<heading level="2">Abstract</heading>'
        f'<text><thread thread_id="1"/>{located(10, 50, 500, 60)}<italic>Hello</italic><content> world!</content>'
        " H<subscript>2</subscript>O &lt; &#65;&amp;B AT&T <formula>E = mc^2</formula></text>"
        "<page_footer><loc_1><loc_2><loc_3><loc_4>5</page_footer></doclang>"
    )
    assert [(block.label, block.text, block.box_px) for block in parsed.blocks] == [
        ("title", "# Paper Title", (10, 40, 30, 80)),
        ("sub_title", "## Abstract", None),
        ("text", "*Hello* world! H<sub>2</sub>O < A&B AT&T $E = mc^2$", (10, 100, 500, 120)),
        ("page_footer", "5", (1, 4, 3, 8)),
    ]
    assert parsed.text == "Paper Title\n\nAbstract\n\nHello world! H2O < A&B AT&T E = mc^2\n\n5"


def test_a_resolution_may_be_given_for_the_document_or_for_a_number() -> None:
    head = '<doclang><head><default_resolution width="1024" height="256"/></head>'
    (block,) = page(f"{head}<text>{located(512, 64, 1024, 128)}a</text>").blocks
    assert block.box_px == (256, 256, 512, 512)
    given = "".join(f'<location value="5" resolution="{size}"/>' for size in (10, 20, 5, 5))
    (block,) = page(f"{head}<text>{given}a</text>").blocks
    assert block.box_px == (256, 256, 512, 1024)


def test_lists_with_and_without_markers() -> None:
    parsed = page(
        '<list class="ordered"><ldiv><marker>1.</marker></ldiv><text>Set up</text><list><ldiv><marker>•</marker></ldiv>'
        f"<text>{located(1, 2, 3, 4)}Create</text></list><ldiv/>Implement"
        '<ldiv><marker><checkbox class="selected"/></marker></ldiv><text>Done</text></list>'
    )
    assert parsed.markdown == "1. Set up\n    - Create\n2. Implement\n3. ☑ Done"
    assert parsed.text == "1. Set up\n• Create\nImplement\n☑ Done"
    assert [block.box_px for block in parsed.blocks] == [None, (1, 4, 3, 8), None, None]


def test_tables_charts_code_and_fields() -> None:
    parsed = page(
        f"<table>{located(40, 130, 400, 320)}<caption>{located(40, 80, 400, 110)}Table 1</caption>"
        "<ched/>Method<ched/>Accuracy<nl/><fcel/><text>Base</text><ecel/><nl/></table>"
        '<picture class="chart"><label value="bar_chart"/><src uri="chart.svg"/><tabular><ched/>A<ched/>B<nl/>'
        '</tabular></picture><code><label value="Python"/>'
        "<content><![CDATA[\n  if a < b and '&lt;':\n    <text>]]></content></code>"
        "<field_region><field_heading>Form</field_heading><field_item><key>Name:</key> <value>Jane</value></field_item>"
        "</field_region>"
    )
    assert [(block.label, block.text) for block in parsed.blocks] == [
        ("table_caption", "Table 1"),
        ("table", "| Method | Accuracy |\n| --- | --- |\n| Base |  |"),
        ("image", ""),
        ("chart", "| A | B |\n| --- | --- |"),
        ("code", "```python\n  if a < b and '&lt;':\n    <text>\n```"),
        ("sub_title", "## Form"),
        ("text", "Name: Jane"),
    ]
    assert [block.box_px for block in parsed.blocks[:2]] == [(40, 160, 400, 220), (40, 260, 400, 640)]


@pytest.mark.parametrize(
    ("raw", "markdown"),
    [
        ("<doclang><text>Cut of", "Cut of"),
        ('<text><location value="1', '<location value="1'),
        ("<text>Or <code>a <bold>b</bold></code>.</text>", "Or `a b`."),
        ("<code>a <bold>b</bold></code>", "```\na b\n```"),
        ("<code><content>a<caption>b", "b\n\n```\na\n```"),
        ("<code><![CDATA[x = 1", "```\nx = 1\n```"),
        ('<heading level="99999999999">a</heading>', "# a"),
        ("<fcel/>a<fcel/>b<nl/>", "| a | b |\n| --- | --- |"),
        ("<ldiv/>a<ldiv/>b", "- a\n- b"),
        ("[<ocr>] a < b <unknown>c</unknown>", "[<ocr>] a < b <unknown>c</unknown>"),
    ],
)
def test_broken_or_odd_markup_costs_structure_and_never_text(raw: str, markdown: str) -> None:
    assert page(raw).markdown == markdown
