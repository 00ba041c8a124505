import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr.transcript.grounding import parse
from ocr.types import Block, ParsedText

PAGE = """<|ref|>title<|/ref|><|det|>[[100, 50, 900, 90]]<|/det|>
# Annual report

<|ref|>image<|/ref|><|det|>[[0, 100, 999, 400]]<|/det|>

<|ref|>image_caption<|/ref|><|det|>[[300, 410, 700, 430]]<|/det|>
Figure 1: a \\coloneqq b


<|ref|>image<|/ref|><|det|>[[10, 500, 20, 510]]<|/det|>
<|ref|>table<|/ref|><|det|>[[0, 600, 999, 700]]<|/det|>
<table><tr><td>a</td><td colspan="2">1</td></tr><tr><td></td><td>x<y</td></tr></table>

<|ref|>text<|/ref|><|det|>[[0, 700, 500, 750], [0, 750, 300, 999]]<|/det|>
# one
two"""


def page(raw: str) -> ParsedText:
    return parse(raw, width_px=1998, height_px=999, page_number=7)


def test_blocks_say_where_in_the_output_they_stand() -> None:
    head = "one\ntwo\n \n\n\nthree\n\n"
    parsed = page(head + PAGE)
    assert [block.text for block in parsed.blocks[:2]] == ["one\ntwo", "three"]
    for block in parsed.blocks:
        assert block.raw_span is not None
        written = (head + PAGE)[slice(*block.raw_span)].replace("\\coloneqq", ":=")
        if block.text:
            assert written.strip() == block.text
        else:
            assert "<|ref|>image<|/ref|>" in written
    assert [block.raw_span for block in page(" one\n\n\n two \n").blocks] == [(1, 4), (8, 11)], (
        "without white space"
    )
    assert [block.raw_span for block in page("<|/det|>one\n\ntwo").blocks] == [None, None]


def test_regions_become_blocks_in_pixels() -> None:
    parsed = page(PAGE)
    assert parsed.blocks == (
        Block(label="title", text="# Annual report", box_px=(200, 50, 1800, 90)),
        Block(label="image", text="", box_px=(0, 100, 1998, 400)),
        Block(label="image_caption", text="Figure 1: a := b", box_px=(600, 410, 1400, 430)),
        Block(label="image", text="", box_px=(20, 500, 40, 510)),
        Block(
            label="table",
            text='<table><tr><td>a</td><td colspan="2">1</td></tr><tr><td></td><td>x<y</td></tr></table>',
            box_px=(0, 600, 1998, 700),
        ),
        Block(label="text", text="# one\ntwo", box_px=(0, 700, 1000, 999)),
    )


def test_markdown_has_image_links_and_text_has_neither_tags_nor_heading_marks() -> None:
    parsed = page(PAGE)
    assert parsed.markdown.startswith(
        "# Annual report\n\n![](images/7_0.jpg)\n\nFigure 1: a := b\n\n![](images/7_1.jpg)"
    )
    assert parsed.text == "Annual report\n\nFigure 1: a := b\n\na\t1\n\tx<y\n\n# one\ntwo"


def test_pixels_are_truncated_as_upstream_does() -> None:
    raw = "<|ref|>text<|/ref|><|det|>[[1, 2, 998, 997]]<|/det|>x"
    (block,) = parse(raw, width_px=640, height_px=813).blocks
    assert block.box_px == tuple(
        int(v / 999 * size) for v, size in zip((1, 2, 998, 997), (640, 813) * 2, strict=True)
    )


def test_text_without_tags_is_its_own_markdown_and_paragraphs() -> None:
    raw = "First line\nsecond \\coloneqq <b>\n\n\n\nThird [1, 2]\n  \nfourth\n"
    parsed = page(raw)
    assert parsed.text == parsed.markdown == "First line\nsecond \\coloneqq <b>\n\nThird [1, 2]\n  \nfourth"
    assert [block.text for block in parsed.blocks] == [
        "First line\nsecond \\coloneqq <b>",
        "Third [1, 2]",
        "fourth",
    ]
    assert {(block.label, block.box_px) for block in parsed.blocks} == {("text", None)}


@pytest.mark.parametrize("raw", ["", " \n\n ", "<|grounding|>", "<|ref|><|/ref|>"])
def test_nothing_is_nothing(raw: str) -> None:
    assert page(raw) == ParsedText(text="", markdown="")


def test_lines_written_where_labels_belong_are_text() -> None:
    raw = "<|ref|>Total<|/ref|><|det|>[[0, 0, 9, 9]]<|/det|>\n<|ref|>image<|/ref|><|det|>[[0, 9, 9, 20]]<|/det|>\n"
    parsed = page(raw)
    assert parsed.text == parsed.markdown == "Total\nimage"
    assert [(block.label, block.box_px) for block in parsed.blocks] == [
        ("text", (0, 0, 18, 9)),
        ("text", (0, 9, 18, 20)),
    ]


@pytest.mark.parametrize(
    ("raw", "text", "box"),
    [
        ("<|ref|>text<|/ref|><|det|>[[1, 2, 3]]<|/det|>Hello", "Hello", None),
        ("<|ref|>text<|/ref|><|det|>see [1]<|/det|>Hello", "see [1]\nHello", None),
        ("<|ref|>text<|/ref|><|det|><|/det|>Hello", "Hello", None),
        ("<|ref|>text<|/ref|><|det|>[1, 2, 3, 4]<|/det|>Hello", "Hello", (2, 2, 6, 4)),
        ("<|ref|>text<|/ref|><|det|>[[900, 9, 1200, 10]]<|/det|>Hello", "Hello", (1800, 9, 1998, 10)),
        ("<|ref|>text<|/ref|><|det|>[[30, 40, 10, 20]]<|/det|>Hello", "Hello", (20, 20, 60, 40)),
        ("<|ref|>text<|/ref|><|det|>__import__('os')<|/det|>Hello", "__import__('os')\nHello", None),
    ],
)
def test_odd_coordinates_cost_the_box_and_never_text(
    raw: str, text: str, box: tuple[int, int, int, int] | None
) -> None:
    parsed = page(raw)
    assert parsed.text == text
    assert parsed.blocks == (Block(label="text", text=text, box_px=box),)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<|ref|>Hello", "Hello"),
        ("Hello<|/ref|> there<|/det|>", "Hello there"),
        ("<|ref|>text<|/ref|><|det|>[[12, 34", "text"),
        ("<|ref|>text<|/ref|><|det|>[[12, 34, 56, 78]] 2023 was", "text 2023 was"),
        ("<|ref|>a<|ref|>text<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>Hello", "a\n\nHello"),
        ("<|ref|>text<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>Hello<|det|>[[5, 6", "Hello"),
        ("Before\n\n<|ref|>text<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>Hello", "Before\n\nHello"),
    ],
)
def test_broken_tags_lose_no_text(raw: str, text: str) -> None:
    assert page(raw).text == text


@given(st.text(st.sampled_from("<|>/refdt[]0123, .-\n#")))
def test_no_input_raises(raw: str) -> None:
    assert page(raw).text.strip() == page(raw).text
