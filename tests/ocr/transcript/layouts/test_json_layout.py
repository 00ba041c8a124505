"""Layouts as dots.ocr and Qwen3-VL write them, and such as are broken."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr.transcript.layouts.json_layout import parse
from ocr.types import ParsedText
from tests.ocr.transcript.untamed import WORDS, num_lost

# After the example of replicate.com/sljeff/dots.ocr
DOTS = """[{"bbox": [1355, 199, 2103, 262], "category": "Page-header", "text": "A PREPRINT - SEPTEMBER 5, 2022"}, \
{"bbox": [698, 455, 1846, 1010], "category": "Picture"}, \
{"bbox": [441, 1051, 2103, 1153], "category": "Caption", "text": "Figure 7: $\\\\theta_k$"}, \
{"bbox": [441, 1200, 2103, 1253], "category": "Section-header", "text": "## 4.2 Results"}, \
{"bbox": [441, 1300, 2103, 1353], "category": "Formula", "text": "E = mc^2"}, \
{"bbox": [441, 1400, 2103, 1453], "category": "Table", "text": "<table><tr><td>a</td><td>b</td></tr></table>"}]"""


def page(raw: str, width_px: int = 2500, height_px: int = 3500) -> ParsedText:
    return parse(raw, width_px=width_px, height_px=height_px, page_number=1)


def test_a_layout_in_pixels() -> None:
    parsed = page(DOTS)
    assert [(block.label, block.text, block.box_px) for block in parsed.blocks] == [
        ("page_header", "A PREPRINT - SEPTEMBER 5, 2022", (1355, 199, 2103, 262)),
        ("image", "", (698, 455, 1846, 1010)),
        ("figure_caption", "Figure 7: $\\theta_k$", (441, 1051, 2103, 1153)),
        ("sub_title", "## 4.2 Results", (441, 1200, 2103, 1253)),
        ("equation", "$$E = mc^2$$", (441, 1300, 2103, 1353)),
        ("table", "<table><tr><td>a</td><td>b</td></tr></table>", (441, 1400, 2103, 1453)),
    ]
    assert "![](images/1_0.jpg)\n\nFigure 7" in parsed.markdown
    assert parsed.text.endswith("\n\n4.2 Results\n\nE = mc^2\n\na\tb")


def test_coordinates_outside_the_page_are_of_another_picture() -> None:
    assert {block.box_px for block in page(DOTS, width_px=1200, height_px=1700).blocks} == {None}


def test_a_layout_in_thousandths_between_fences() -> None:
    raw = '```json\n[\n\t{"bbox_2d": [0, 500, 1000, 1000], "label": "paragraph_title", "text_content": "One"},\n'
    raw += '\t{"bbox_2d": [1, 2, 3, "x"], "label": "unheard-of", "text_content": "Two\\nlines"}\n]\n```'
    assert [(block.label, block.text, block.box_px) for block in page(raw, 700, 900).blocks] == [
        ("sub_title", "## One", (0, 450, 700, 900)),
        ("text", "Two\nlines", None),
    ]


def test_an_object_around_the_list_and_text_around_the_object() -> None:
    raw = 'Here it is:\n```json\n{"layout": [{"bbox": [0, 0, 10, 10], "type": "title", "text": "a"}]}\n```\nDone.'
    assert page(raw).text == "Here it is:\n\na\n\nDone."


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        ('[{"bbox": [1, 2, 3, 4], "text": "one"}, {"bbox": [1, 2, 3, 4], "category": "Title", "text": "two \\"2\\" th',
         ["one", '# two "2" th']),
        ('[{"bbox": [1, 2, 3, 4], "text": "one"}, {"bbox": [1, 2', ["one", '{"bbox": [1, 2']),
        ('[{"bbox": [1, 2, 3, 4], "text": "one" two}, {}]', ['[{"bbox": [1, 2, 3, 4], "text": "one" two}, {}]']),
        ('[{"bbox": [1, 2, 3, 4], "text": "$\\epsilon \\sum \\n x \\\\ y"}, {"text": "\\alpha"}]',
         ["$\\epsilon \\sum \n x \\ y", "\\alpha"]),
        ('{"bbox": [1, 2, 3, 4], "text": "one"}', ["one"]),
        ('[{"bbox": [1, 2, 3, 4], "text": "\\e\\e\\e"},{"text": "two"}]three', ["\\e\\e\\e", "two", "three"]),
        ('[{"bbox": [1, 2, 3, 4], "text": ["a", 5]}, {"Total": "5"}]',
         ['{"bbox": [1, 2, 3, 4], "text": ["a", 5]}', '{"Total": "5"}']),
        ('[{"bbox_2d": [1, 2, 3, 4], "label": "Total 5"}, {"bbox_2d": [1, 2, 3, 4], "label": "Text"}]',
         ["Total 5", ""]),
        ('[{"bbox": [1e999, NaN, true, 4], "text": "one"}] two ```', ["one", "two ```"]),
        ('[{"bbox": [1, 2, 3, 4], "text": "\\ud800one"}]', ["\ufffdone"]),
        ("No JSON [1, 2] {x} here.\n\nReally.", ["No JSON [1, 2] {x} here.", "Really."]),
        ("__import__('os')", ["__import__('os')"]),
        ("[{" + '"a":[' * 100_000, ["[{" + '"a":[' * 100_000]),
        ('[{"bbox": [' + "9" * 5000 + '], "text": "one"}]', ['[{"bbox": [' + "9" * 5000 + '], "text": "one"}]']),
    ],
)  # fmt: skip
def test_broken_or_odd_json_keeps_its_text(raw: str, texts: list[str]) -> None:
    assert [block.text for block in page(raw).blocks] == texts


@given(st.lists(WORDS, min_size=1, max_size=6), st.integers(0, 500), st.booleans())
def test_a_layout_that_is_cut_off_keeps_all_that_was_written(
    words: list[str], cut: int, fenced: bool
) -> None:
    items = [{"bbox": [1, 2, 3, 4], "category": "Text", "text": f'{word}\\ " é'} for word in words]
    raw = ("```json\n" * fenced + json.dumps(items, ensure_ascii=False))[:cut]
    assert num_lost(raw, words, page(raw)) == []
