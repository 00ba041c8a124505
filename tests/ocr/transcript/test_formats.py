"""Every format goes to its parser, without special tokens and front matter that are no part of it."""

from itertools import accumulate
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from ocr.families.catalogue.published_models import published_models
from ocr.transcript import grounding
from ocr.transcript.docling import markups
from ocr.transcript.formats import KeptText, parse
from ocr.transcript.layouts import json_layout
from ocr.transcript.untagged import parse_html_tables, parse_text
from ocr.types import Format, OutputFormat, ParsedText

SPECIAL = ("<|im_start|>", "<|im_end|>", "<pad>", "<pad>s", "<text>", "<loc_5>", "<table>", "<|ref|>")
OTHERS = ("<tool>",)
OLMOCR = """---
primary_language: en
is_rotation_valid: True
rotation_correction: 0
is_table: False
is_diagram: False
---
Dear reader,

---
a: b
---
"""


def bytes_tokenizer() -> Tokenizer:
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={sign: place for place, sign in enumerate(signs)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(list(SPECIAL))
    made.add_tokens([AddedToken(text, special=False) for text in OTHERS])
    return made


TOKENIZER = bytes_tokenizer()


def page(raw: str, name: Format, *, keeps: bool = False, front_matter: bool = False) -> ParsedText:
    output_format = OutputFormat(name=name, keeps_special_tokens=keeps, front_matter=front_matter)
    return parse(raw, output_format, TOKENIZER, width_px=100, height_px=200, page_number=3)


@pytest.mark.parametrize("name", get_args(Format))
def test_each_format_is_parsed_by_its_own_rules(name: Format) -> None:
    raw = (
        "a<|ref|>text<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>b <|det|>image [1, 2, 3, 4]<|/det|><table><tr><td>c</td></tr>"
        '</table>[{"bbox": [1, 2, 3, 4], "text": "d"}] <text><loc_5>e</text> <heading level="2">f</heading> $x$'
    )
    size = {"width_px": 100, "height_px": 200, "page_number": 3}
    expected = {
        "text": parse_text(raw),
        "markdown": parse_text(raw),
        "latex": parse_text(raw),
        "markdown_html_tables": parse_html_tables(raw),
        "doctags": markups.parse_doctags(raw, **size),
        "doclang": markups.parse_doclang(raw, **size),
        "json_layout": json_layout.parse(raw, **size),
        "ref_det": grounding.parse(raw, **size),
        "det": grounding.parse_det(raw, **size),
    }
    assert len(set(expected.values())) == 7
    no_special_tokens = Tokenizer(models.BPE())
    output_format = OutputFormat(name=name)
    assert parse(raw, output_format, no_special_tokens, **size) == expected[name]
    for model in published_models():
        if model.format == name:
            parse(raw, model.output_format, no_special_tokens, **size)


def test_special_tokens_are_left_out_as_by_the_tokenizers_own_decoding() -> None:
    written = "<|im_start|>Total: 5<pad><tool>\n\n<|im_end|><table>naïve<|im_end|><pad>s<|im_end|>"
    ids = TOKENIZER.encode(written, add_special_tokens=False).ids
    raw = TOKENIZER.decode(ids, skip_special_tokens=False)
    assert raw == written
    parsed = page(raw, "markdown")
    assert parsed.text == TOKENIZER.decode(ids, skip_special_tokens=True) == "Total: 5<tool>\n\nnaïve"
    spans = [block.raw_span for block in parsed.blocks]
    assert [raw[slice(*span)] for span in spans if span] == ["Total: 5<pad><tool>", "naïve"]


def test_deepseeks_output_is_parsed_as_it_stands() -> None:
    raw = "one<pad>\n\n<|ref|>text<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n<table><tr><td>a</td></tr></table><|im_end|>"
    parsed = page(raw, "ref_det", keeps=True)
    expected = grounding.parse(raw, width_px=100, height_px=200, page_number=3)
    assert parsed == expected
    assert [block.raw_span for block in parsed.blocks] == [block.raw_span for block in expected.blocks]


@pytest.mark.parametrize("name", ["ref_det", "det"])
def test_formats_of_special_tokens_keep_all_of_them(name: Format) -> None:
    raw = "<table><tr><td>a</td></tr></table> <pad>"
    assert "<table>" in page(raw, name, keeps=True).markdown
    assert "<pad>" in page(raw, name, keeps=True).markdown


@pytest.mark.parametrize("name", ["doctags", "doclang"])
def test_markups_of_special_tokens_lose_the_others(name: Format) -> None:
    raw = "<|im_start|><text><loc_5><loc_5><loc_5><loc_5>one <pad>two</text><|im_end|>"
    (block,) = page(raw, name, keeps=True).blocks
    assert (block.label, block.text) == ("text", "one two")
    assert block.box_px is not None
    assert block.raw_span is not None
    assert raw[slice(*block.raw_span)] == "one <pad>two"


def test_front_matter_is_left_out_of_models_that_write_it() -> None:
    parsed = page(OLMOCR, "markdown_html_tables", front_matter=True)
    assert parsed.text == "Dear reader,\n\n---\na: b\n---"
    span = parsed.blocks[0].raw_span
    assert span is not None
    assert OLMOCR[slice(*span)] == "Dear reader,"
    assert page("<pad>\n" + OLMOCR + "<pad>", "markdown", front_matter=True).text == parsed.text
    assert page(OLMOCR, "markdown").text == OLMOCR.strip()


@pytest.mark.parametrize(
    "raw", ["---\na: b\nc", "---\nno key\n---\nd", "----\na: b\n---\n", "a\n---\nb: c\n---"]
)
def test_what_is_no_front_matter_stays(raw: str) -> None:
    assert page(raw, "markdown", front_matter=True).text == raw.strip()


def test_front_matter_alone_is_a_page_without_text() -> None:
    parsed = page("---\nprimary_language: null\n---", "markdown", front_matter=True)
    assert (parsed.text, parsed.blocks) == ("", ())


@given(st.lists(st.tuples(st.text("ab", max_size=4), st.booleans()), max_size=10), st.data())
def test_spans_in_the_text_are_those_of_the_same_characters_in_the_output(
    parts: list[tuple[str, bool]], data: st.DataObject
) -> None:
    raw = "".join(part for part, _ in parts)
    ends = list(accumulate(len(part) for part, _ in parts))
    cuts = [(end - len(part), end) for end, (part, is_kept) in zip(ends, parts, strict=True) if not is_kept]
    kept = KeptText.without(raw, cuts)
    left = [place for place in range(len(raw)) if not any(start <= place < end for start, end in cuts)]
    assert kept.text == "".join(raw[place] for place in left)
    if left:
        first = data.draw(st.integers(0, len(left) - 1))
        last = data.draw(st.integers(first, len(left) - 1))
        assert kept.in_raw((first, last + 1)) == (left[first], left[last] + 1)
        assert kept.in_raw((first, first)) == (left[first], left[first])
