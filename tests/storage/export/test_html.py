"""The HTML shows what a document says and does nothing that it asks for."""

import io
import re
from html.parser import HTMLParser

import pytest

from storage.export import html
from storage.export.rendering import rendered
from storage.export.rows import BlockRow, PageRow
from tests.effort import effort
from tests.storage.export.page_rows import a_failure, a_row, as_structured, word

ALLOWED = {*"h3 h4 h5 h6 p b i u em strong sub sup br s table thead tbody tr td th caption div span".split()}  # noqa: SIM905
ALLOWED |= {*"code pre ul ol li a hr mark blockquote".split()}  # noqa: SIM905


class Tags(HTMLParser):
    """Notes all tags and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(attrs)


def written(*rows: PageRow) -> str:
    stream = io.StringIO()
    html.write(as_structured(*rows), stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=x>", "</section><style>*{}</style>",
        '<table><tr onclick="x"><td style="x" onmouseover=x><script>x</script></td></tr></table>',
        "<table><tr><td><!-- --><iframe src=//x>", "![x](http://tracker.example/a.png)", "[a](javascript:alert(1))",
        "[a](&#106;avascript:x)", "<javascript:x>", '[a](http://b.example/"onclick="x)', "[a](data:text/html,x)",
        "[a](//tracker.example)", "```x\" onload=y\n</code><script>\n```", "<b onclick=x>", "&lt;script&gt;",
        "<table><tr><td colspan='\"><script>'>x</table>", "[a]: javascript:x\n\n[a]",
    ],
)  # fmt: skip
def test_nothing_that_a_document_says_acts(hostile: str) -> None:
    made = Tags(rendered(hostile))
    assert made.tags <= ALLOWED
    for name, value in made.attributes:
        assert name in {"class", "style", "href", "rel", "colspan", "rowspan", "title", "start"}
        assert name != "href" or re.match("https?://|mailto:", value or "")
        assert name != "style" or re.fullmatch("text-align:(left|right|center)", value or "")


def test_its_policy_lets_nothing_run_or_load() -> None:
    """As it is written, before anything else that could: a browser keeps to it whatever slips through."""
    head = written(a_row("x")).partition("</head>")[0]
    policy = re.findall('<meta http-equiv="Content-Security-Policy" content="([^"]*)">', head)
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    assert head.index("Content-Security-Policy") < head.index("<style")


def test_names_and_reasons_are_escaped() -> None:
    made = written(a_row("x", path="/in/<script>\u202e.pdf"), a_failure(), a_row("y", 3, corrected_by="<i>"))
    assert "<script>" not in made
    assert "<b>" not in made
    assert "<i>" not in made
    assert "\u202e" not in made
    assert "failed: render: crash: bad --&gt; &lt;b&gt;" in made


def test_tables_headings_lists_and_formulas_are_shown() -> None:
    made = rendered(
        "# One\n\n<table><tr><th colspan=\"2\">a</th></tr><tr><td>1&amp;2</td><td>H<sub>2</sub>O</td></tr></table>\n"
        "\n|a|b|\n|-|-:|\n|c|d|\n\n- x\n\n\\(a<b\\)\n\n    indented"
    )  # fmt: skip
    assert "<h3>One</h3>" in made
    assert '<tr><th colspan="2">a</th></tr>\n<tr><td>1&amp;2</td><td>H<sub>2</sub>O</td></tr>' in made
    assert '<td style="text-align:right">d</td>' in made
    assert "<li>x</li>" in made
    assert "<code>\\(a&lt;b\\)</code>" in made
    assert "<p>indented</p>" in made


def test_tags_that_are_not_closed_are_text() -> None:
    assert rendered("a <b>c") == "<p>a &lt;b&gt;c</p>\n"
    assert rendered("<b><i>c</b></i>") == "<p>&lt;b&gt;<i>c&lt;/b&gt;</i></p>\n"


def test_pages_have_anchors_and_a_figure_its_name() -> None:
    made = written(a_row("x", 7), a_row("![](images/8_0.jpg)", 8))
    assert '<section id="page-7" dir="auto">\n<h2><a href="#page-7">Page 7</a></h2>' in made
    assert '<span class="figure">[figure]</span>' in made
    assert made.count("<!DOCTYPE html>") == made.count("</html>") == 1


def test_the_doubtful_one_of_equal_words_is_marked() -> None:
    words = [
        word("a", 0, 0, 9, 9, confidence=0.9),
        word("<b", 9, 0, 19, 9),
        word("a", 20, 0, 29, 9, confidence=0.25),
    ]
    made = written(a_row("a <b a", markdown="**a** <b a", words=words))
    assert '<strong>a</strong> &lt;b <mark title="confidence 0.25">a</mark>' in made


@pytest.mark.parametrize(
    "piece", ["](", "[a", "<td>", "<table>", "<b>", "</b>", "*a_", "\\(", "| a ", "<!--", "> ", "`"]
)
def test_it_is_quick_on_any_page(piece: str) -> None:
    assert effort(lambda: rendered(piece * 1_000)) < 400


def test_lists_have_items_and_footnotes_are_linked() -> None:
    made = written(a_row("As was said.1 More.\n\n• one\n• two\n\n1 By somebody.\n\n[^9-9]: is text", 4))
    assert "<ul>\n<li>one</li>\n<li>two</li>\n</ul>" in made
    made = written(a_row("As was said.1 More.\n\n1 By <somebody>.", 4))
    assert 'said.<sup><a href="#note-4-1">1</a></sup> More.' in made
    assert '<p class="footnote" id="note-4-1"><sup>1</sup> By &lt;somebody&gt;.</p>' in made


def test_furniture_is_small_print_and_a_table_that_goes_on_is_whole() -> None:
    head = "| Name | Sum |\n| --- | --- |\n"
    pages = [a_row(f"{head}| oak | {at} |\n\nPage {at}", at) for at in (1, 2)]
    made = written(*pages)
    assert made.count("<table>") == made.count("<thead>") == 1
    assert '<p class="furniture">Page 2</p>' in made
    assert "The table at the top of this page is part of the one above." in made.partition('id="page-2"')[2]


def test_the_marks_of_doubtful_words_go_with_their_table() -> None:
    head = "| Name | Sum |\n| --- | --- |\n"
    blocks = [BlockRow(label="table", box=None, text="Name\tSum\noak\t1", confidence=None, source="ocr")]
    words = [word(text, 1, 1, 2, 2, confidence=0.9) for text in ("Name", "Sum", "oak", "1")]
    sure = a_row(f"{head}| oak | 1 |", 1, blocks=blocks, words=words)
    doubtful = a_row(
        f"{head}| elm | 2 |", 2, blocks=[{**blocks[0], "text": "Name\tSum\nelm\t2"}],
        words=[*words[:2], *(word(text, 1, 1, 2, 2, confidence=0.1) for text in ("elm", "2"))],
    )  # fmt: skip
    assert re.findall("<mark[^>]*>([^<]*)</mark>", written(sure, doubtful)) == ["elm", "2"]


def test_a_paragraph_is_broken_where_the_reader_s_window_ends_not_where_print_did() -> None:
    printed = (
        "Whoever wants a berth for the winter\nshould ask before the end of September,\nor wait for a year.\n"
    )
    printed += "Nobody did."
    page = written(a_row(printed, words=[word(text, 1, 1, 2, 2, confidence=0.1) for text in printed.split()]))
    text = re.sub(r"</?mark[^>]*>", "", page)
    assert "winter should ask before the end of September, or wait for a year.\nNobody did.</p>" in text
    assert page.count("<mark") == len(printed.split())
