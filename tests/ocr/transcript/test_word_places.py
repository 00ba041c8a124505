"""Words get the boxes of their letters, also where the letters found are not quite those of the text."""

import pytest

from ocr.transcript.word_places import Box, on_page, words_among
from ocr.types import Word


def letters(text: str, *, y: float = 0, x: float = 0) -> list[tuple[str, Box]]:
    """Letters 10 wide and 20 high, a place for each character of the text."""
    return [(c, (x + 10 * n, y, x + 10 * n + 10, y + 20)) for n, c in enumerate(text) if c != " "]


@pytest.mark.parametrize(
    ("text", "seen", "boxes"),
    [
        ("one two", "one two", [(0, 0, 30, 20), (40, 0, 70, 20)]),
        ("one\n\ntwo", "one two", [(0, 0, 30, 20), (40, 0, 70, 20)]),
        ("one twa", "one two", [(0, 0, 30, 20), (40, 0, 70, 20)]),  # another letter in the same place
        ("one\nand\ntwo", "one two", [(0, 0, 30, 20), None, (40, 0, 70, 20)]),
        ("one and more", "one", [(0, 0, 30, 20), None, None]),
        ("one . . two", "one     two", [(0, 0, 30, 20), (40, 0, 50, 20), (60, 0, 70, 20), (80, 0, 110, 20)]),
        ("one two", "one and two", [(0, 0, 30, 20), (80, 0, 110, 20)]),
        ("one", "", [None]),
        ("", "one", []),
    ],
)
def test_words_stand_where_their_letters_are(text: str, seen: str, boxes: list[Box | None]) -> None:
    assert words_among(text, letters(seen)) == list(zip(text.split(), boxes, strict=True))


def test_a_word_stays_in_the_line_of_most_of_its_letters() -> None:
    seen = [*letters("word"), *letters("s", y=300, x=500)]
    assert words_among("words", seen) == [("words", (0, 0, 40, 20))]


def test_boxes_are_whole_pixels_of_the_page() -> None:
    words = [("a", (-1.0, 2.0, 3.4, 5.0)), ("b", None), ("c", (90.0, 90.0, 95.0, 95.0))]
    assert on_page(words, 2, 100, 50) == (
        Word(text="a", box_px=(0, 4, 7, 10)),
        Word(text="b"),
        Word(text="c"),
    )
