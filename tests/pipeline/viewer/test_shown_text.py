"""A text in pieces is the text, and each word has its own box."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.viewer.shown_text import level, marked, pieces
from storage.types import WordRow


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_pieces_are_the_text_and_its_words(text: str) -> None:
    words = [WordRow(text=word, box=(i, 0, i + 1, 1), confidence=None) for i, word in enumerate(text.split())]
    found = list(pieces(text, words))
    assert "".join(piece["text"] for piece in found) == text
    assert [piece["text"] for piece in found if piece["is_word"]] == text.split()
    assert [piece["box"] for piece in found if piece["is_word"]] == [
        f"{i} 0 {i + 1} 1" for i in range(len(words))
    ]


def test_words_without_places_are_words_all_the_same() -> None:
    assert [(piece["text"], piece["box"], piece["level"]) for piece in pieces("a b", [])] == [
        ("a", "", ""), (" ", "", ""), ("b", "", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("confidence", "name"), [(None, ""), (0.0, "low"), (0.8, "fair"), (0.95, "sure"), (1.0, "sure")]
)
def test_confidence_has_a_colour(confidence: float | None, name: str) -> None:
    assert level(confidence) == name


@pytest.mark.parametrize(
    ("snippet", "parts"),
    [
        ("a \x02b\x03 c", [("a ", False), ("b", True), (" c", False)]),
        ("\x02a\x03", [("a", True)]),
        ("a\x03 b", [("a\x03 b", False)]),  # a text may hold what marks a match
        ("", []),
    ],
)
def test_matches_are_marked(snippet: str, parts: list[tuple[str, bool]]) -> None:
    assert list(marked(snippet)) == parts
