"""DocTags of docling-core's own test documents and of the models, and disorder of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr.transcript.docling.markups import parse_doctags as parse
from ocr.transcript.layouts.regions import LABELS
from ocr.types import ParsedText

# After docling-core, test/data/doc/constructed_document.yaml.dt, whose markdown is docling's own but for the table.
DOCUMENT = """<doctag><title>Title of the Document</title>
<text>Author 1
Affiliation 1</text>
<section_header_level_1>1. Introduction</section_header_level_1>
<unordered_list><list_item>list item 1</list_item>
<list_item>list item 2</list_item>
<ordered_list><list_item>list item 2.a</list_item>
<list_item>list item 2.b</list_item>
<ordered_list><list_item>list item 2.b.i</list_item>
</ordered_list>
</ordered_list>
<list_item>list item 3</list_item>
</unordered_list>
<otsl><fcel>Product<fcel>Years<lcel><nl><ucel><fcel>2016<fcel>2017<nl><caption>Caption of table 1.</caption></otsl>
<picture><caption>This is the caption of figure 1.</caption></picture>
<inline><text>Here a code snippet:</text>
<code><_unknown_><p>Hello world</p></code>
<text>and a formula:</text>
<formula>E=mc^2</formula>
</inline>
<code><_Python_>if a < b:
    print("<text>")</code>
<formula>E=mc^2</formula>
<text>The end.</text>
</doctag>
"""
MARKDOWN = """# Title of the Document

Author 1
Affiliation 1

## 1. Introduction

- list item 1
- list item 2
    1. list item 2.a
    2. list item 2.b
        1. list item 2.b.i
- list item 3

<table><tr><td rowspan="2">Product</td><td colspan="2">Years</td></tr><tr><td>2016</td><td>2017</td></tr></table>

Caption of table 1.

![](images/3_0.jpg)

This is the caption of figure 1.

Here a code snippet: `<p>Hello world</p>` and a formula: $E=mc^2$

```python
if a < b:
    print("<text>")
```

$$E=mc^2$$

The end."""
TEXT = """Title of the Document

Author 1
Affiliation 1

1. Introduction

list item 1
list item 2
list item 2.a
list item 2.b
list item 2.b.i
list item 3

Product	Years
2016	2017

Caption of table 1.

This is the caption of figure 1.

Here a code snippet: <p>Hello world</p> and a formula: E=mc^2

if a < b:
    print("<text>")

E=mc^2

The end."""


def page(raw: str) -> ParsedText:
    return parse(raw, width_px=1000, height_px=2000, page_number=3)


def found(raw: str) -> list[tuple[str, str, tuple[int, int, int, int] | None]]:
    return [(block.label, block.text, block.box_px) for block in page(raw).blocks]


def test_a_document_becomes_markdown_and_text() -> None:
    parsed = page(DOCUMENT)
    assert parsed.markdown == MARKDOWN
    assert parsed.text == TEXT
    assert {block.label for block in parsed.blocks} == {
        *("title", "text", "sub_title", "list", "table", "table_caption", "image", "image_caption", "code"),
        "equation",
    }


def test_what_a_model_writes_of_a_page() -> None:
    raw = (
        "<doctag><page_header><loc_49><loc_21><loc_255><loc_28>S. A. • L. I.</page_header>\n"
        "<section_header_level_1><loc_67><loc_36><loc_253><loc_44>Soils & matter</section_header_level_1>\n"
        "<unordered_list><list_item><loc_66><loc_47><loc_431><loc_77>• Silts, under 5%.</list_item>\n"
        "<list_item><loc_66><loc_79><loc_431><loc_93>(2) Muds.</list_item>\n</unordered_list>\n"
        "<picture><loc_222><loc_50><loc_426><loc_245><logo></picture>\n"
        "<otsl><loc_10><loc_300><loc_490><loc_400><ched>Kind<ched>Loose<nl><fcel>Dry<fcel>0 - 0,40<nl></otsl>\n"
        "<page_footer><loc_449><loc_470><loc_456><loc_477>5</page_footer>\n</doctag>"
    )
    parsed = page(raw)
    assert found(raw) == [
        ("page_header", "S. A. • L. I.", (98, 84, 510, 112)),
        ("sub_title", "## Soils & matter", (134, 144, 506, 176)),
        ("list", "- Silts, under 5%.", (132, 188, 862, 308)),
        ("list", "- (2) Muds.", (132, 316, 862, 372)),
        ("image", "", (444, 200, 852, 980)),
        ("table", "| Kind | Loose |\n| --- | --- |\n| Dry | 0 - 0,40 |", (20, 1200, 980, 1600)),
        ("page_footer", "5", (898, 1880, 912, 1908)),
    ]
    assert parsed.text.split("\n\n")[2:4] == ["• Silts, under 5%.\n(2) Muds.", "Kind\tLoose\nDry\t0 - 0,40"]
    spans = [block.raw_span for block in parsed.blocks]
    assert [raw[slice(*span)] for span in spans if span][:3] == [
        "S. A. • L. I.",
        "Soils & matter",
        "• Silts, under 5%.",
    ]
    assert {block.label for block in parsed.blocks} <= LABELS


def test_charts_forms_and_boxes_to_tick() -> None:
    raw = (
        "<chart><loc_0><loc_0><loc_500><loc_250><bar_chart><fcel>A<fcel>10<nl><caption>Fig. 1</caption></chart>"
        "<key_value_region><key_0><loc_1><loc_2><loc_3><loc_4>Page<link_1></key_0><value_1>3</value_1></key_value_region>"
        "<checkbox_selected>Yes</checkbox_selected><checkbox_unselected>No</checkbox_unselected>"
    )
    assert found(raw) == [
        ("chart", "| A | 10 |\n| --- | --- |", (0, 0, 1000, 1000)),
        ("image_caption", "Fig. 1", None),
        ("text", "Page", (2, 8, 6, 16)),
        ("text", "3", None),
        ("text", "☑ Yes", None),
        ("text", "☐ No", None),
    ]


def test_cells_hold_whatever_a_page_does() -> None:
    # After docling-core, test/data/doc/rich_table.out.dt
    raw = (
        "<otsl><fcel>cell 0,0<fcel><text>in italic</text><nl><fcel><unordered_list><list_item>item 1</list_item>\n"
        "<list_item>item 2</list_item>\n</unordered_list><fcel><otsl><fcel>inner 0<fcel>inner 1<nl></otsl><nl></otsl>"
    )
    assert page(raw).markdown == (
        "| cell 0,0 | in italic |\n| --- | --- |\n| item 1<br>item 2 | inner 0 inner 1 |"
    )


@pytest.mark.parametrize(
    ("raw", "blocks"),
    [
        ("<doctag><formula>\\left [ \\frac { z }", [("equation", "$$\\left [ \\frac { z }$$", None)]),
        ("<text><loc_1><loc_2><loc_3>one", [("text", "one", None)]),
        ("<text>one <formula>x<text>two</text>", [("text", "one $x$", None), ("text", "two", None)]),
        ("<text>one<title>two</text> three", [("text", "one", None), ("title", "# two three", None)]),
        ("one</text>two<loc_7", [("text", "onetwo<loc_7", None)]),
        ("<fcel>a<fcel>b<nl>", [("table", "| a | b |\n| --- | --- |", None)]),
        ("<list_item>a<list_item>b", [("list", "- a", None), ("list", "- b", None)]),
        ("<text>vector<int> & <map> &amp; <_x_></text>", [("text", "vector<int> & <map> &amp; <_x_>", None)]),
        ("<otsl><loc_0><loc_0><loc_5><loc_5></otsl>", [("table", "", (0, 0, 10, 20))]),
        ("<page_break> \n</doctag>", []),
        ("<code><code>a</text><caption>b", [("code_caption", "b", None), ("code", "```\n<code>a</text>\n```", None)]),
    ],
)  # fmt: skip
def test_broken_or_odd_markup_costs_structure_and_never_text(
    raw: str, blocks: list[tuple[str, str, tuple[int, int, int, int] | None]]
) -> None:
    assert found(raw) == blocks


@given(st.text(st.sampled_from("<>/_texlocdgi0 \n")))
def test_no_input_raises(raw: str) -> None:
    page(raw)
