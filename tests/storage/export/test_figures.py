"""Figures have references with their captions; what a caption or a document says never becomes markup."""

import io
from collections.abc import Sequence
from typing import Any

import pytest
from markdown_it import MarkdownIt

from storage.export import html, markdown
from storage.export.figures import Figure, Shown, placed, with_urls
from storage.export.rows import BlockRow, PageRow
from tests.storage.export.page_rows import a_row

BOX = [10, 20, 30, 40]


def block(label: str, text: str = "", box: list[int] | None = BOX) -> BlockRow:
    return BlockRow(label=label, box=box, text=text, confidence=None, source="ocr")


def a_page(text: str, *blocks: BlockRow, **changes: Any) -> PageRow:
    return a_row(text, 3, blocks=list(blocks), **changes)


def drawn(row: PageRow, figures: Sequence[Figure]) -> list[str | None]:
    return [f"a%20b.figures/{row['page']:04}_{figure.number}.jpg" for figure in figures]


def undrawn(row: PageRow, figures: Sequence[Figure]) -> list[str | None]:
    return [None] * len(figures)


def exported(row: PageRow) -> str:
    stream = io.StringIO()
    markdown.write([row], stream, drawn)
    return stream.getvalue().split("-->\n", 1)[1].strip("\n")


def test_a_figure_is_an_image_with_its_caption() -> None:
    row = a_page(
        "one\n\n![](images/3_0.jpg)\n\nFig. 1: <b>Trees</b>\n\n![](images/3_1.jpg)\n\ntwo",
        *(block("text", "one"), block("image"), block("image_caption", "Fig. 1: <b>Trees</b>")),
        *(block("image"), block("text", "two")),
    )
    assert exported(row) == (
        "one\n\n![Fig. 1: Trees](a%20b.figures/0003_1.jpg)\n\nFig. 1: <b>Trees</b>\n\n"
        "![page 3, figure 2](a%20b.figures/0003_2.jpg)\n\ntwo"
    )


def test_a_figure_without_a_reference_gets_one_where_it_stands() -> None:
    row = a_page(
        "![](images/3_0.jpg)\n\none\n\ntwo",
        *(block("image"), block("text", "one"), block("figure_title", "Trees"), block("figure")),
        *(block("text", "two"), block("chart")),
    )
    assert exported(row) == (
        "![page 3, figure 1](a%20b.figures/0003_1.jpg)\n\none\n\n![Trees](a%20b.figures/0003_2.jpg)\n\ntwo\n\n"
        "![page 3, figure 3](a%20b.figures/0003_3.jpg)"
    )
    assert exported(a_page("", block("picture"))) == "![page 3, figure 1](a%20b.figures/0003_1.jpg)"


def test_what_somebody_took_out_and_what_has_no_box_is_not_drawn() -> None:
    corrected = a_page("one", block("text", "one"), block("image"), block("chart"), corrected_by="me")
    assert exported(corrected) == "one"
    assert exported(a_page("![](images/3_0.jpg)", block("image", box=None))) == "![](images/3_0.jpg)"


def test_a_figure_that_cannot_be_drawn_is_its_caption_in_brackets() -> None:
    row = a_page("![](images/3_0.jpg)\n\na [b]", block("image"), block("image_caption", "a [b]"))
    text, figures = placed(row, undrawn)
    assert with_urls(text, figures) == "\\[a \\[b\\]\\]\n\na [b]"
    stream = io.StringIO()
    html.write([row], stream, undrawn)
    assert '<span class="figure">[a [b]]</span>' in stream.getvalue()


@pytest.mark.parametrize(
    "caption",
    [
        "x](https://e.example/a.jpg) ![",
        "`a",
        "a`](b) `",
        "\\](x)",
        "<img src=x>",
        "&#33;[a](b)",
        "*a_b*",
        "![x",
    ],
)
def test_a_caption_is_never_markup(caption: str) -> None:
    row = a_page("![](images/3_0.jpg) `", block("image"), block("image_caption", caption))
    (paragraph,) = [
        token for token in MarkdownIt("commonmark").parse(exported(row)) if token.type == "inline"
    ]
    (image,) = [token for token in paragraph.children or [] if token.type not in ("text", "text_special")]
    assert (image.type, image.attrs["src"]) == ("image", "a%20b.figures/0003_1.jpg")
    plain = "" if caption.startswith("<") else caption
    assert image.content.replace("\\", "") == (plain or "page 3, figure 1").replace("\\", "")


def test_a_figure_is_within_the_html_once() -> None:
    """However often a page refers to it; no other image is loaded."""
    row = a_page(
        "![](images/3_0.jpg) ![](images/3_0.jpg) ![](images/3_9.jpg) ![](data:image/png;base64,AAAA)",
        *(block("image"), block("image_caption", 'a "b" <c')),
    )
    stream = io.StringIO()
    html.write([row], stream, lambda *_: ["data:image/jpeg;base64,AAAA"])
    found = stream.getvalue()
    assert found.count("<img") == 1
    assert '<img src="data:image/jpeg;base64,AAAA" alt="a &quot;b&quot; &lt;c">' in found
    assert found.count('<span class="figure">[figure]</span>') == 2
    assert found.count("base64,AAAA") == 2  # the second as text


def test_without_a_drawer_the_markdown_stays() -> None:
    row = a_page("![](images/3_0.jpg)\n\none", block("image"), block("text", "one"), block("figure"))
    assert placed(row, None) == ("![](images/3_0.jpg)\n\none", {})
    assert (
        with_urls("![](images/3_0.jpg)", {"images/3_1.jpg": Shown(url="x", alt="")}) == "![](images/3_0.jpg)"
    )
