import pytest

from ocr.transcript import grounding
from ocr.transcript.grounding import parse_det
from ocr.types import Block, ParsedText


def page(raw: str) -> ParsedText:
    return parse_det(raw, width_px=1998, height_px=999, page_number=2)


def test_regions_become_blocks_in_pixels() -> None:
    parsed = page(
        "<PAGE><|det|>page_number [818, 9, 907, 35]<|/det|>E13.1\n<|det|>title [34, 88, 370, 172]<|/det|>INVOICE 4471\n"
        "<|det|>image [331, 109, 457, 162]<|/det|><|det|>text [1,1,2,2]<|/det|>hi\n\n\n\nthere <|ref|>you<|/ref|>\n"
        "<|det|>table [0, 600, 999, 999]<|/det|><table><thead><tr><th>a</th></tr></thead><tr><td>x<y</td></tr></table>"
    )
    assert parsed.blocks == (
        Block(label="page_number", text="E13.1", box_px=(1636, 9, 1814, 35)),
        Block(label="title", text="# INVOICE 4471", box_px=(68, 88, 740, 172)),
        Block(label="image", text="", box_px=(662, 109, 914, 162)),
        Block(label="text", text="hi\n\nthere you", box_px=(2, 1, 4, 2)),
        Block(
            label="table",
            text="<table><thead><tr><th>a</th></tr></thead><tr><td>x<y</td></tr></table>",
            box_px=(0, 600, 1998, 999),
        ),
    )
    assert parsed.text == "E13.1\n\nINVOICE 4471\n\nhi\n\nthere you\n\na\nx<y"
    assert parsed.markdown.startswith("E13.1\n\n# INVOICE 4471\n\n![](images/2_0.jpg)\n\nhi")


def test_boxes_are_those_of_deepseeks_own_format() -> None:
    for box in ("[1, 2, 998, 997]", "[30, 40, 10, 20]", "[900, 9, 1200, 10]", "[1.5, 2, 3, 4]", "[1, 2, 3]"):
        (block,) = page(f"<|det|>text {box}<|/det|>x").blocks
        raw = f"<|ref|>text<|/ref|><|det|>{box}<|/det|>x"
        (expected,) = grounding.parse(raw, width_px=1998, height_px=999).blocks
        assert (block.box_px, block.text) == (expected.box_px, expected.text)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<|det|>title [1, 2, 3, 4]<|/det|># One", "One"),
        ("<|det|>malformed text hello", "malformed text hello"),
        ("one\n\ntwo<|det|>text [1, 2, 3, 4]<|/det|>three", "one\n\ntwo\n\nthree"),
        ("one<|det|>text [1, 2, 3", "one"),
        ("one<|det|>text", "one"),
        ("one<|det|>hello", "onehello"),
        ("<|det|>Total [1, 2, 3, 4]<|/det|>", "Total"),
        ("<|det|><|/det|>one", "one"),
        ("one<|/det|> two", "one two"),
    ],
)
def test_broken_tags_lose_no_text(raw: str, text: str) -> None:
    assert page(raw).text == text
