import re

import numpy as np
import pytest
import torch

from encoders.types import VisionTokens
from ocr.character_head.second_opinion import marks, opinion_of, read_cells, visible

CHARACTERS = "abcdefghijklmnopqrstuvwxyz"


def cells(*rows: str) -> np.ndarray:
    """One letter a cell; a space is an empty one, `?` another character."""
    width = max(map(len, rows))
    classes = {" ": 0, "?": 1, **{letter: index + 2 for index, letter in enumerate(CHARACTERS)}}
    return np.array([[classes[letter] for letter in row.ljust(width)] for row in rows], np.int16)


def test_runs_of_cells_are_characters() -> None:
    opinion = read_cells(cells("", "aabbb  ccd?", ""), CHARACTERS)
    assert opinion.num_marks == 5
    assert opinion.lines == ("abcd\ufffd",)
    assert {"abc", "bcd", "a"} <= opinion.known_grams
    assert "ab" not in opinion.known_grams


def test_characters_that_fill_several_rows_count_once() -> None:
    large = ["aaaabbbbccccddddeeeeffff"] * 3
    assert read_cells(cells(*large), CHARACTERS).num_marks == 6
    ragged = [large[0], "aaaaxbbbccczdddeeeeeffff", large[0]]
    assert read_cells(cells(*ragged), CHARACTERS).num_marks == 6


def test_lines_close_together_count_both() -> None:
    rows = ["tthheeccaattsaatt", "uupponnmmyyooffii"]
    assert read_cells(cells(*rows), CHARACTERS).num_marks == sum(len(marks(row)) for row in rows)


def test_an_empty_page_has_no_marks() -> None:
    opinion = read_cells(cells("   ", "   "), CHARACTERS)
    assert (opinion.num_marks, opinion.lines) == (0, ())
    assert opinion.written("anything") is None
    assert opinion.found("") is None


def test_text_is_held_against_what_is_seen() -> None:
    opinion = read_cells(cells("tthheeqquuiicckk", "", "bbrroowwnnffooxx"), CHARACTERS)
    assert opinion.found("the quick") == 1
    assert opinion.written("the quick\nbrown fox") == 1
    assert opinion.written("the quick") == pytest.approx(6 / 12)
    assert opinion.found("the quick dog") == pytest.approx(6 / 9)
    assert opinion.found("xo") == 1, "short texts go by single marks"


def test_text_is_none_of_the_page_only_where_little_is_seen_and_nothing_agrees() -> None:
    noise = read_cells(cells("nnaa  a"), CHARACTERS)
    assert noise.is_none_of("Background\nBackground")
    assert not noise.is_none_of("na")
    assert noise.is_none_of(""), "nothing was read, and next to nothing is seen"
    full = read_cells(cells(CHARACTERS, *["", CHARACTERS[::-1]] * 3), CHARACTERS)
    assert full.num_marks > 64
    assert not full.is_none_of("0123456789")
    assert not full.is_none_of("")


def test_marks_and_what_stands_on_the_page() -> None:
    assert marks("  book \n keeper ") == "bokeper"
    raw = "<|ref|>table<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n<table><tr><td>x < y</td></tr></table>"
    assert marks(visible(raw)) == "x<y"


def test_no_white_space_of_any_kind_is_a_mark() -> None:
    letters = [chr(number) for number in range(0x10000) if not 0xD800 <= number < 0xE000]
    white = [letter for letter in letters if re.match(r"\s", letter)]
    assert len(white) > 20
    assert marks("".join(white)) == ""
    rest = "".join(letter for letter in letters if not re.match(r"\s", letter))
    assert marks(rest) == rest


def test_without_head_or_names_there_is_no_opinion() -> None:
    page = VisionTokens(tokens_TD=torch.zeros(1, 1), num_local=0, grid=(1, 1))
    seen = VisionTokens(
        tokens_TD=page.tokens_TD, num_local=0, grid=(1, 1), cells_HW=torch.from_numpy(cells("ab"))
    )
    assert opinion_of(page, CHARACTERS) is None
    assert opinion_of(seen, None) is None
    found = opinion_of(seen, CHARACTERS)
    assert found is not None
    assert found.lines == ("ab",)


def test_many_marks_that_make_up_no_word_are_a_pattern() -> None:
    """Dots and strokes pass for a few letters, over and over; contents with leaders have words beside their dots."""
    dots = ["o o o o c o o o o e o o o o o o o o o o", ""] * 6
    assert read_cells(cells(*dots), CHARACTERS).is_pattern
    assert not read_cells(cells(*dots[:4]), CHARACTERS).is_pattern, "too few to tell"
    assert not read_cells(
        cells(*dots, "", "cchhaapptteerroonnee", "", "wwiitthhiinnddeexx"), CHARACTERS
    ).is_pattern
    assert read_cells(cells(*dots, "", "wwiittoooo"), CHARACTERS).is_pattern, "a word or two it may pass for"
    assert not read_cells(cells("  "), CHARACTERS).is_pattern
