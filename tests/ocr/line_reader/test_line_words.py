"""Words end where their ink does, wherever between two of them a letter was seen, and never touch.

Ink from which no letter was read is told by its width; leaders, dashes, rules and black bars are no letters.
"""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.line_reader.found_lines import Floats
from ocr.line_reader.line_images import ABOVE, BELOW, HEIGHT_PX
from ocr.line_reader.line_words import Letter, placed_words, widest_hole

SIZE = HEIGHT_PX / (ABOVE + BELOW)  # the type size
BEFORE, AFTER = "Wolfram came by the ferry", "of nine"


def image(*inked: tuple[int, int], width: int = 120) -> Floats:
    made = np.zeros((40, width), np.float32)
    for start, end in inked:
        made[12:30, start:end] = 1.0
    return made


def placed(made: Floats, *letters: tuple[str, float]) -> list[tuple[str, float, float]]:
    spelled = [Letter(text, x, 0.5) for text, x in letters]
    return [
        (word.text, word.left, word.right) for word in placed_words(made, spelled, above=0.98, below=0.32)
    ]


def test_words_stand_from_ink_to_ink() -> None:
    made = image((10, 20), (23, 33), (50, 60), (62, 70))
    letters = [("a", 14.0), ("b", 30.0), (" ", 40.0), ("c", 56.0), ("d", 64.0)]
    assert placed(made, *letters) == [("ab", 10, 33), ("cd", 50, 70)]


def test_words_that_touch_are_parted_at_the_space_by_a_tenth_of_an_em() -> None:
    """Programs that read a PDF's text would take them for one word otherwise."""
    (one, begin, end), (two, start, last) = placed(image((10, 90)), ("a", 30.0), (" ", 50.0), ("b", 70.0))
    assert (one, begin, two, last) == ("a", 10, "b", 90)
    assert (end + start) / 2 == 50
    assert start - end == pytest.approx(0.1 * SIZE)


def test_little_white_between_words_is_widened() -> None:
    (_, _, end), (_, start, _) = placed(image((10, 40), (41, 90)), ("a", 30.0), (" ", 42.0), ("b", 70.0))
    assert (end + start) / 2 == 40.5
    assert start - end == pytest.approx(0.1 * SIZE)


@pytest.mark.parametrize("lag", [0.0, 6.0, 9.0])
def test_a_word_of_one_letter_stands_on_its_ink_however_late_its_letters_were_read(lag: float) -> None:
    made = image((10, 30), (38, 51), (60, 80), (84, 100))
    letters = [("n", 24.0), (" ", 34.0), ("a", 48.0), (" ", 55.0), ("d", 72.0), ("y", 88.0)]
    read = placed(made, *((text, x + lag) for text, x in letters))
    assert read == [("n", 10, 30), ("a", 38, 51), ("dy", 60, 100)]


def test_a_word_that_touches_the_next_does_not_take_the_white_before_it() -> None:
    (_, _, first), (_, start, end), _ = placed(
        image((10, 35), (40, 100)), ("f", 28.0), (" ", 34.0), ("a", 46.0), (" ", 50.0), ("d", 62.0)
    )
    assert (first, start) == (35, 40)
    assert end == pytest.approx(50 - 0.05 * SIZE)


def test_a_mark_that_is_a_word_stands_before_the_white_behind_it() -> None:
    made = image((10, 20), (22, 34), (41, 46), (64, 74), (78, 88))  # char *     nm
    letters = [("c", 18.0), ("h", 30.0), (" ", 40.0), ("*", 48.0), (" ", 58.0), ("n", 72.0), ("m", 86.0)]
    assert placed(made, *letters) == [("ch", 10, 34), ("*", 41, 46), ("nm", 64, 88)]


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


def hole(between: str, *, bar_px: int = 0, lost: range = range(0)) -> float:
    """The widest hole of a line of which the letters with these numbers, and what stands between, were not read."""
    made = Image.new("L", (900, HEIGHT_PX))
    pen, face = ImageDraw.Draw(made), ImageFont.load_default(SIZE)
    end = 8 + face.getlength(f"{BEFORE} ")
    starts = [8.0, end + bar_px + face.getlength(f"{between} ")]
    pen.text((end, ABOVE * SIZE), between, font=face, fill=255, anchor="ls")
    pen.rectangle((end, 8, end + bar_px, 33), fill=255 if bar_px else 0)
    letters = []
    for text, start in zip((BEFORE, AFTER), starts, strict=True):
        pen.text((start, ABOVE * SIZE), text, font=face, fill=255, anchor="ls")
        for number, letter in enumerate(text):
            place = start + face.getlength(text[:number]) + 0.6 * face.getlength(letter)
            letters.append(Letter(letter, place, 0.9))
    kept = [letter for number, letter in enumerate(letters) if number not in lost]
    return widest_hole(np.asarray(made, np.float32) / np.float32(255), kept, above=ABOVE, below=BELOW)


@pytest.mark.parametrize(
    ("between", "bar_px"), [("", 0), (". . . . . .", 0), ("- - - - -", 0), ("___", 0), ("", 120)]
)
def test_letters_leaders_dashes_rules_and_black_bars_leave_no_hole(between: str, bar_px: int) -> None:
    assert hole(between, bar_px=bar_px) == 0.0


@pytest.mark.parametrize(("between", "lost"), [("", range(3, 8)), ("", range(8, 12)), ("quay", range(0))])
def test_letters_that_were_not_read_leave_one(between: str, lost: range) -> None:
    assert hole(between, lost=lost) > 0.7


@pytest.mark.parametrize("rise_px", [5, 14, -17])
def test_a_long_slanted_dash_leaves_none(rise_px: int) -> None:
    made = Image.new("L", (900, HEIGHT_PX))
    pen, face = ImageDraw.Draw(made), ImageFont.load_default(SIZE)
    pen.line((20, 22 + rise_px / 2, 150, 22 - rise_px / 2), fill=255, width=3)
    pen.text((170, ABOVE * SIZE), AFTER, font=face, fill=255, anchor="ls")
    letters = [Letter("—", 28, 0.9)]
    for number, letter in enumerate(AFTER):
        letters.append(Letter(letter, 170 + face.getlength(AFTER[:number]) + 6, 0.9))
    assert (
        widest_hole(np.asarray(made, np.float32) / np.float32(255), letters, above=ABOVE, below=BELOW) == 0.0
    )


def test_icons_at_a_line_s_ends_leave_none() -> None:
    assert hole("", lost=range(6)) == 0.0
