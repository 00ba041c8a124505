"""Lines that run over a gutter are parted there, and spaces between words are not taken for one."""

import numpy as np
import pytest

from ocr.line_reader.found_lines import Floats, TextLine
from ocr.line_reader.line_parting import parted

SIZE, PITCH = 30.0, 36


def page(
    rows: int, words: list[tuple[int, int]], *, rule: int | None = None
) -> tuple[Floats, list[TextLine]]:
    """Returns a page with `rows` lines, each found as one, with ink at these stretches of x; rule: x of a rule."""
    darkness = np.zeros((PITCH * rows + 80, 1000), np.float32)
    lines = []
    for row in range(rows):
        base = 60 + PITCH * row
        for x0, x1 in words:
            darkness[base - 14 : base, x0:x1] = 0.8
        left, right = words[0][0], words[-1][1]
        lines.append(
            TextLine(left=left, right=right, baseline=np.full(right - left, base, np.float32), size=SIZE)
        )
    if rule is not None:
        darkness[:, rule : rule + 3] = 0.8
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


def test_lines_that_end_before_the_gutter_do_not_end_it() -> None:
    darkness, lines = page(12, [(50, 500), (540, 950)])
    for number in (2, 5, 6):
        darkness[60 + PITCH * number - 14 : 60 + PITCH * number, 300:] = 0
        base = lines[number].baseline
        lines[number] = TextLine(left=50, right=300, baseline=base[:250], size=SIZE)
    assert ends(parted(darkness, lines)) == {(50, 500), (540, 950), (50, 300)}
