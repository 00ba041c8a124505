"""Words end where their ink does, wherever between two of them a letter was seen."""

import numpy as np
import pytest

from ocr.line_reader.found_lines import Floats
from ocr.line_reader.line_words import Letter, placed_words


def image(*inked: tuple[int, int], width: int = 120) -> Floats:
    made = np.zeros((40, width), np.float32)
    for start, end in inked:
        made[12:30, start:end] = 1.0
    return made


def placed(made: Floats, *letters: tuple[str, float]) -> list[tuple[str, float, float]]:
    spelled = [Letter(text, x, 0.5) for text, x in letters]
    return [(word.text, word.start, word.end) for word in placed_words(made, spelled, above=0.98, below=0.32)]


def test_words_stand_from_ink_to_ink() -> None:
    made = image((10, 20), (23, 33), (50, 60), (62, 70))
    letters = [("a", 14.0), ("b", 30.0), (" ", 40.0), ("c", 56.0), ("d", 64.0)]
    assert placed(made, *letters) == [("ab", 10, 33), ("cd", 50, 70)]


def test_words_that_touch_are_parted_half_way() -> None:
    assert placed(image((10, 90)), ("a", 30.0), (" ", 50.0), ("b", 70.0)) == [("a", 10, 50), ("b", 50, 90)]


def test_ink_far_from_a_lines_ends_is_of_something_else() -> None:
    made = image((0, 4), (40, 60), (100, 120))
    assert placed(made, ("a", 50.0)) == [("a", 40, 60)]


def test_ink_above_and_below_the_letters_joins_no_words() -> None:
    made = image((10, 20), (50, 60))
    made[:5] = made[38:] = 1.0
    assert placed(made, ("a", 15.0), (" ", 35.0), ("b", 55.0)) == [("a", 10, 20), ("b", 50, 60)]


@pytest.mark.parametrize("letters", [[], [(" ", 5.0)]])
def test_a_line_without_words_has_none(letters: list[tuple[str, float]]) -> None:
    assert placed(image((1, 9)), *letters) == []


def test_a_word_is_as_sure_as_its_letters() -> None:
    letters = [
        Letter("a", 10.0, 1.0),
        Letter("b", 20.0, 0.5),
        Letter(" ", 30.0, 0.1),
        Letter("c", 60.0, 0.25),
    ]
    words = placed_words(image((5, 25), (55, 65)), letters, above=0.98, below=0.32)
    assert [word.confidence for word in words] == [0.75, 0.25]
