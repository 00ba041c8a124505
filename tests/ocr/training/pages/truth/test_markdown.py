import pytest

from ocr.training.pages.matter.html_blocks import Block, Kind
from ocr.training.pages.truth.markdown import BULLET, DRAWN, markdown

CASES: list[tuple[Kind, str, str]] = [
    ("title", "<h1>Big  news</h1>", "# Big news"),
    ("sub_title", "<h3>2.1 <b>More</b> news</h3>", "### 2.1 More news"),
    ("text", "<p>one<br>two &amp; <i>three</i></p>", "one\ntwo & three"),
    ("text", "<p>x<sup>2</sup> soft\u00adhyphen of\ufb01ce</p>", "x2 softhyphen office"),
    ("list", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
    ("list", '<ol start="9"><li>a</li><li>b</li></ol>', "9. a\n10. b"),
    ("list", "<p class=item0><span class=mark>★</span> a</p><p class=item1><span class=mark>iv)</span> b</p>",
     "- a\n  iv) b"),
    ("table", "<table><tr><td>a</td><td></td></tr><tr><td>b|c</td><td>d</td></tr></table>",
     "| a |  |\n| --- | --- |\n| b\\|c | d |"),
    ("equation", "<table><tr><td>x = 1</td><td>(3)</td></tr></table>", "x = 1 (3)"),
    ("code", "<pre>if a:\n    b &lt; c</pre>", "if a:\n    b < c"),
    ("text", "<pre>Milk      1.20\nBread     2.00</pre>", "Milk 1.20\nBread 2.00"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "html", "expected"), CASES)
def test_markup_becomes_markdown(kind: Kind, html: str, expected: str) -> None:
    made = markdown(Block(kind=kind, html=html))
    assert made.text == expected
    assert len(made.roles) == len(made.text)


def test_notation_is_told_from_what_is_drawn() -> None:
    made = markdown(Block(kind="list", html="<ul><li>ab</li></ul>"))
    assert made.roles == BULLET + " " + DRAWN * 2
    made = markdown(Block(kind="table", html="<table><tr><td>a</td><td>b</td></tr></table>"))
    drawn = [c for c, role in zip(made.text, made.roles, strict=True) if role == DRAWN]
    assert drawn == ["a", "b"]
