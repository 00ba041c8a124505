import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ocr.training.corpus.markup import (
    clean,
    code_blocks,
    html_paragraphs,
    keep,
    plain_paragraphs,
    split_long,
    unique,
)

LONG = "The ferry leaves at nine, and nobody on the quay seems to mind the rain."


def test_html_gives_one_string_a_block_and_skips_code_and_navigation() -> None:
    markup = """<html><head><title>x</title></head><body><nav><p>Home</p></nav>
    <h1>Tea</h1><p>Boil <b>one</b> litre&nbsp;of water &amp; wait.</p><pre>int main</pre>
    <ul><li>first<li>second</ul><script>var a = 1;</script><div class="toc"><div>1. Tea</div></div>
    <p>Drink.</body></html>"""
    assert html_paragraphs(markup) == ["Tea", "Boil one litre of water & wait.", "first", "second", "Drink."]


def test_mallard_page_reads_like_html() -> None:
    page = "<page><info><desc>no</desc></info><title>Sound</title><p>Press <key>Esc</key>.</p></page>"
    assert html_paragraphs(page) == ["Sound", "Press Esc."]


def test_plain_text_joins_lines_of_a_paragraph() -> None:
    assert plain_paragraphs("one\n  two\n\n \nthree\n") == ["one two", "three"]


@given(st.text())
def test_clean_is_idempotent_and_normal(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert "\n" not in once


def test_keep_refuses_short_foreign_and_numeric_paragraphs() -> None:
    assert keep(LONG, english=True)
    assert not keep("Too short.", english=True)
    assert not keep(LONG + " Москва", english=True)
    assert not keep("12 34 56 78 90 12 34 56 78 90 12 34 56 78 90 ab cd", english=True)


def test_keep_refuses_english_among_translations() -> None:
    english = "You should close the window with the mouse and then open your file."
    assert not keep(english, english=False)
    assert keep("Schließen Sie das Fenster mit der Maus und öffnen Sie dann die Datei.", english=False)


@given(st.lists(st.sampled_from([LONG, "Und Ärger gab es auch.", "Why?"]), min_size=1, max_size=60))
def test_split_long_loses_nothing_and_respects_the_length(sentences: list[str]) -> None:
    text = " ".join(sentences)
    pieces = list(split_long(text, longest=200))
    assert " ".join(pieces) == text
    assert all(len(piece) <= 300 for piece in pieces)


def test_unique_ignores_case_and_punctuation() -> None:
    seen: set[int] = set()
    assert list(unique(["One, two.", "one two", "Three"], seen)) == ["One, two.", "Three"]
    assert list(unique(["three!"], seen)) == []


def test_code_blocks_keep_indentation_and_leave_out_long_lines() -> None:
    source = "def f():\n\tif x:\n\t\treturn 1\n\n\n" + "x = 1\n" * 2 + "\n" + "y" * 120 + "\nz\nz\n"
    blocks = code_blocks(source)
    assert blocks == ["def f():\n    if x:\n        return 1\nx = 1\nx = 1"]


@given(st.text(alphabet="ab \n\t{}", max_size=400))
def test_code_blocks_are_bounded(source: str) -> None:
    for block in code_blocks(source, longest_line=40, most_lines=5):
        lines = block.split("\n")
        assert 3 <= len(lines) <= 5
        assert all(line.strip() and len(line) <= 40 for line in lines)
