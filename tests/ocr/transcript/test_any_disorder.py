"""Output that is broken, cut off, or made to be slow: whatever a notation's tags do, no word is lost."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr.transcript.docling.markups import parse_doclang, parse_doctags
from ocr.transcript.grounding import parse as parse_grounding
from ocr.transcript.grounding import parse_det
from ocr.transcript.layouts.json_layout import parse as parse_json
from ocr.transcript.layouts.regions import LABELS
from ocr.transcript.untagged import parse_html_tables
from ocr.types import ParsedText
from tests.effort import effort
from tests.ocr.transcript.untamed import WORDS, num_lost

PAGE = {"width_px": 1998, "height_px": 999, "page_number": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """tags: what words stand between. begin: how an output begins that goes on with blanks, then with many of a unit.

    has_own_labels: labels other than ours may be words that the model wrote. has_spans: each block says where in the
    output it stands.
    """

    parse: Callable[[str], ParsedText]
    tags: list[str]
    begin: str
    units: list[str]
    has_own_labels: bool = False
    has_spans: bool = True


NOTATIONS = {
    "doctags": Notation(
        parse=partial(parse_doctags, **PAGE),
        tags=[
            *("\n", "<doctag>", "</doctag>", "<text>", "</text>", "<title>", "<section_header_level_1>"),
            *("</section_header_level_1>", "<otsl>", "</otsl>", "<fcel>", "<ched>", "<lcel>", "<ucel>"),
            *("<xcel>", "<nl>", "<caption>", "</caption>", "<picture>", "</picture>", "<ordered_list>"),
            *("</ordered_list>", "<list_item>", "</list_item>", "<code>", "</code>", "<formula>"),
            *("</formula>", "<inline>", "</inline>", "<loc_12>", "<_Python_>", "<logo>", "<chart>"),
            *("<key_0>", "</key_0>", "<checkbox_selected>", "<page_break>", "<link_3>", "<text", "<loc_"),
        ],
        begin="<doctag><text><loc_1>",
        units=[
            *("<otsl><fcel>", "<text>", "<list_item>", "<ordered_list><list_item>"),
            *("<fcel><lcel><ucel><nl>", "<", "</text>", "<loc_1>", "<code>", "`", "<inline><formula>"),
            *("<caption>", "<_", "<picture><caption>a", " ", "\n "),
        ],
    ),
    "doclang": Notation(
        parse=partial(parse_doclang, **PAGE),
        tags=[
            *("\n", "<text ", '<heading level="2">', '<list class="ordered">', '<location value="12"/>'),
            *('<location value="x"/>', '<label value="a"/>', '<src uri="', "<doclang>", "</doclang>"),
            *("<text>", "</text>", "</heading>", "<table>", "</table>", "<fcel/>", "<ched/>", "<lcel/>"),
            *("<ucel/>", "<nl/>", "<caption>", "</caption>", "<picture>", "</picture>", "</list>"),
            *("<ldiv/>", "<ldiv>", "</ldiv>", "<marker>", "</marker>", "<code>", "</code>", "<content>"),
            *("</content>", "<![CDATA[", "]]>", "<formula>", "</formula>", "<bold>", "</bold>"),
            *("<checkbox/>", "&amp;", "&#", "<field_item>", "</field_item>", "<key>", "<value>"),
            *("</value>", "<page_break/>"),
        ],
        begin="<doclang><text",
        units=[
            *("<text ", '<text a="b" ', "<?xml ", "<![CDATA[", "&#", "<list><ldiv/>", "<bold>"),
            *("<table><fcel/>", "<location"),
        ],
    ),
    "json": Notation(
        parse=partial(parse_json, **PAGE),
        tags=[
            *("[", "]", "{", "}", '"', '"bbox": [1, 2, 3, 4]', '"text": "', ", ", ": ", "\\", "\\u12"),
            *("```json\n", "\n", "1e9"),
        ],
        begin='[{"bbox": [1, 2, 3, 4], "text": "one"},',
        units=[
            *("[", "{", '[{"a":', '{"text": "', "\\", "\\x", " ", '{"bbox": [1]},', "```json\n", '"'),
        ],
    ),
    "det": Notation(
        parse=partial(parse_det, **PAGE),
        tags=[
            *("<|det|>", "<|/det|>", "<|det|>text [1, 2, 3, 4]<|/det|>", "text ", "[1, 2", "[["),
            *("<PAGE>", "<|ref|>", "\n\n"),
        ],
        begin="<|det|>table [1, 2",
        units=[
            *("<|det|>", "<|det|>text [", "<|det|>a<|/det|>", "[", "\n ", "<table>", "<|"),
        ],
        has_own_labels=True,
    ),
    "grounding": Notation(
        parse=partial(parse_grounding, **PAGE),
        tags=[
            *("<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>", "<|grounding|>", "<|ref|>text<|/ref|>", "\n\n"),
            *("[[1, 2, 3, 4]]", "[[1, 2], [3", "[[", "[[1,2,3,4],[5,6,7,8]]", "[[1.5, 2, 3, 4]]", "]]"),
        ],
        begin="<|ref|>table<|/ref|><|det|>[[1,2,3,4]",
        units=[
            *("<|ref|>", "<|det|>[[", "<|ref|>a<|/ref|>", "<|ref|>a<|/ref|>\n", "[", "\n ", "<|det|>[[1,2],"),
            *("<|/det|><table><td ", "<|"),
        ],
        has_own_labels=True,
        has_spans=False,
    ),
    "html tables": Notation(
        parse=parse_html_tables,
        tags=[
            *("<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<thead>", "<br>", "<tab", "&lt;"),
            "\n\n",
        ],
        begin="<table><tr><td>",
        units=[
            *("<table>", "<table ", "</td> ", "<td ", "\n ", "</table>", "&#1", "<table></table>"),
        ],
    ),
}


@pytest.mark.parametrize("notation", NOTATIONS.values(), ids=list(NOTATIONS))
@given(data=st.data())
def test_every_word_survives_any_disorder_of_tags(notation: Notation, data: st.DataObject) -> None:
    """In text, in markdown and in a block; only a label of a region with text may leave the text."""
    pieces = data.draw(st.lists(st.one_of(WORDS, st.sampled_from(notation.tags)), max_size=40))
    raw = "".join(pieces)
    parsed = notation.parse(raw)
    own = "".join(block.label for block in parsed.blocks if block.label not in LABELS)
    assert notation.has_own_labels or not own
    words = [piece for piece in pieces if piece.startswith(" q") and piece.strip() not in own]
    assert num_lost(raw, words, parsed) == []
    for block in parsed.blocks:
        assert block.text in parsed.markdown
        assert block.raw_span is not None or not notation.has_spans
        start, end = block.raw_span or (0, 0)
        assert 0 <= start <= end <= len(raw)


@pytest.mark.parametrize(
    ("name", "unit"), [(name, unit) for name, its in NOTATIONS.items() for unit in its.units]
)
def test_parsing_is_linear(name: str, unit: str) -> None:
    raw = NOTATIONS[name].begin + " " * 20_000 + unit * 5_000
    assert effort(lambda: NOTATIONS[name].parse(raw)) < 130
