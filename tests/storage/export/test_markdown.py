"""Markdown only shows what a document says: no script, no load, no running link, however it is disguised."""

import pytest

from storage.export.markdown import inert
from tests.effort import effort


@pytest.mark.parametrize(
    "harmless",
    [
        "# Title\n\na < b, 5<6, AT&T & co, x & y\n\n- **item** `code`",
        '<table><tr><td rowspan="2">a</td><th colspan=2>b</th></tr></table>',
        "H<sub>2</sub>O<br/> <TD>",
        "![](images/1_0.jpg)\n[1]: none [2](see below) [a](http://b.example/c:d) [m](mailto:a@b.example)",
        "wait! [1] no: \\( a<1 \\)",
    ],
)
def test_what_only_shows_stays(harmless: str) -> None:
    assert inert(harmless) == harmless


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("<td><SCRIPT src=//x>", "<td>&lt;SCRIPT src=//x>"),
        ('<td onclick="x()">', '&lt;td onclick="x()">'),
        ('<td rowspan="2" style="x">', '&lt;td rowspan="2" style="x">'),
        ("<b\nonfocus=x>", "&lt;b\nonfocus=x>"),
        ("<!-- --><?php ?><iframe>", "&lt;!-- -->&lt;?php ?>&lt;iframe>"),
        ("<javascript:alert(1)>", "&lt;javascript:alert(1)>"),
        ("&lt;script> &#60; &#x3c;", "&amp;lt;script> &amp;#60; &amp;#x3c;"),
        ("![x](http://tracker.example/a.png)", "&#33;[x](http://tracker.example/a.png)"),
        ("\\![x][ref]", "\\&#33;[x][ref]"),
        ("![](images/1_0.jpg?http://x)", "&#33;[](images/1_0.jpg?http://x)"),
        ("[a](javascript:alert(1))", "[a&#93;(javascript:alert(1))"),
        ("[a]( <JavaScript\\:alert(1)>)", "[a&#93;( &lt;JavaScript\\:alert(1)>)"),
        ("[a](<java\tscript:x>)", "[a&#93;(&lt;java\tscript:x>)"),
        ("[a](<\x01javascript:x>)", "[a&#93;(<\x01javascript:x>)"),
        ("[a]: data:text/html,x", "[a&#93;: data:text/html,x"),
        ("[a](file:///etc/passwd)", "[a&#93;(file:///etc/passwd)"),
        ("[a](" + "\x01" * 3000 + "javascript:x)", "[a&#93;(" + "\x01" * 3000 + "javascript:x)"),
        ("[a](<" + "\t" * 200_000 + "javascript:x>)", "[a&#93;(<" + "\t" * 200_000 + "javascript:x>)"),
    ],
)
def test_what_would_do_more_is_text(text: str, written: str) -> None:
    assert inert(text) == written


@pytest.mark.parametrize("piece", ["](", "]:", "<td ", "<td rowspan=1 ", "![", "&#", "]( "])
def test_it_is_quick_on_any_page(piece: str) -> None:
    assert effort(lambda: inert(piece * 5_000)) < 330
