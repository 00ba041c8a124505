"""Lines that run over a gutter are parted there, and spaces between words are not taken for one."""

import numpy as np
import pytest

from ocr.line_reader.found_lines import Shades, TextLine
from ocr.line_reader.line_parting import parted

SIZE, PITCH = 30.0, 36


def page(
    rows: int, words: list[tuple[int, int]], *, rule: int | None = None
) -> tuple[Shades, list[TextLine]]:
    """Returns a page with `rows` lines, each found as one, with ink at these stretches of x; rule: x of a rule."""
    darkness = np.zeros((PITCH * rows + 80, 1000), np.uint8)
    lines = []
    for row in range(rows):
        base = 60 + PITCH * row
        for x0, x1 in words:
            darkness[base - 14 : base, x0:x1] = 204
        left, right = words[0][0], words[-1][1]
        lines.append(
            TextLine(left=left, right=right, baseline=np.full(right - left, base, np.float32), size=SIZE)
        )
    if rule is not None:
        darkness[:, rule : rule + 3] = 204
    return darkness, lines


def ends(lines: list[TextLine]) -> set[tuple[int, int]]:
    return {(line.left, line.right) for line in lines}


@pytest.mark.parametrize("rule", [None, 520])
def test_a_gutter_parts_the_lines_of_two_columns(rule: int | None) -> None:
    left, right = [(50, 200), (210, 350), (360, 500)], [(540, 700), (710, 950)]
    found = parted(*page(10, left + right, rule=rule))
    assert len(found) == 20
    assert ends(found) == {(50, 500), (540, 950)}
    assert all(len(line.baseline) == line.right - line.left for line in found)


def test_a_few_rows_are_no_column() -> None:
    darkness, lines = page(4, [(50, 500), (540, 950)])
    assert ends(parted(darkness, lines)) == {(50, 950)}


def test_equal_spaces_are_spaces_of_typescript() -> None:
    words = [(x, x + 80) for x in range(50, 900, 100)]
    darkness, lines = page(10, words)
    assert len(parted(darkness, lines)) == 10


def test_white_between_a_typewriter_s_letters_makes_no_space_a_gutter() -> None:
    """A space at one place in eight rows, hardly wider than the others, which stand elsewhere."""
    darkness, lines = page(8, [(50, 940)])
    for row, line in enumerate(lines):
        shown = np.zeros(1000, bool)
        for number in range(50):
            x = 50 + 18 * number
            shown[x : x + 12] = number != 10 and number % 6 != row % 5
        darkness[:, 228:236] = 0
        darkness[round(line.middle) - 14 : round(line.middle), 50:940] *= shown[50:940]
    assert len(parted(darkness, lines)) == 8


def test_lines_that_end_before_the_gutter_do_not_end_it() -> None:
    darkness, lines = page(12, [(50, 500), (540, 950)])
    for number in (2, 5, 6):
        darkness[60 + PITCH * number - 14 : 60 + PITCH * number, 300:] = 0
        base = lines[number].baseline
        lines[number] = TextLine(left=50, right=300, baseline=base[:250], size=SIZE)
    assert ends(parted(darkness, lines)) == {(50, 500), (540, 950), (50, 300)}


def test_a_rule_that_begins_beside_the_first_line_parts_it() -> None:
    darkness, lines = page(10, [(50, 200), (210, 350), (360, 500), (540, 700), (710, 950)])
    darkness[60 - 20 :, 520:523] = 204
    assert ends(parted(darkness, lines)) == {(50, 500), (540, 950)}


def test_a_letter_that_is_a_stroke_is_no_rule() -> None:
    """Justified columns whose left lines all end in an l, set off like a rule: none of it is cut away."""
    darkness, lines = page(10, [(50, 200), (210, 350), (360, 495), (540, 700), (710, 950)])
    for line in lines:
        base = round(line.middle)
        darkness[base - 21 : base, 500:503] = 204
    assert ends(parted(darkness, lines)) == {(50, 503), (540, 950)}


def test_quotes_above_the_letters_belong_to_the_line_before_the_gutter() -> None:
    darkness, lines = page(10, [(50, 200), (210, 350), (360, 500), (560, 700), (710, 950)])
    base = round(lines[3].middle)
    darkness[base - 25 : base - 20, 504:514] = 204
    found = parted(darkness, lines)
    assert [line.right for line in found if line.left == 50 and line.middle == base] == [514]


@pytest.mark.parametrize("space", [200, 260, 350])
def test_a_table_s_columns_do_not_part_the_paragraph_below(space: int) -> None:
    """Rows that are parted already vote for a gutter; a space between words in the row below is none."""
    darkness, lines = page(11, [(50, 51)])
    found = []
    for row, line in enumerate(lines):
        words = [(50, 170), (400, 480)] if row < 8 else [(50, space), (space + 18, 950)]
        for x0, x1 in words:
            darkness[round(line.middle) - 14 : round(line.middle), x0:x1] = 204
        for x0, x1 in words if row < 8 else [(50, 950)]:
            base = np.full(x1 - x0, line.middle, np.float32)
            found.append(TextLine(left=x0, right=x1, baseline=base, size=SIZE))
    assert ends(parted(darkness, found)) == {(50, 170), (400, 480), (50, 950)}


def test_a_row_that_the_finder_missed_is_parted_like_those_around() -> None:
    darkness, lines = page(12, [(50, 500), (540, 950)])
    found = []
    for number, line in enumerate(lines):
        for x0, x1 in [(50, 950)] if number == 6 else [(50, 500), (540, 950)]:
            found.append(TextLine(left=x0, right=x1, baseline=line.baseline[: x1 - x0], size=SIZE))
    assert ends(parted(darkness, found)) == {(50, 500), (540, 950)}


def test_rows_of_the_column_beside_say_nothing_about_spaces() -> None:
    """A space in every third line is no gutter, although lines of the left column end half a row above the others."""
    darkness, lines = page(20, [(440, 600), (625, 950)])
    for number, line in enumerate(lines):
        if number % 3:
            darkness[round(line.middle) - 14 : round(line.middle), 600:625] = 204
    beside = [
        TextLine(left=50, right=400, baseline=line.baseline[:350] - PITCH // 2, size=SIZE) for line in lines
    ]
    assert ends(parted(darkness, [*lines, *beside])) == {(440, 950), (50, 400)}
