"""Letters that the finder missed at an end are the line's; rules, pictures and the next line not; pieces are one."""

from dataclasses import replace

import numpy as np
import pytest

from ocr.line_reader.found_lines import Shades, TextLine
from ocr.line_reader.line_ends import joined, lengthened

SIZE, BASE = 30.0, 60


def line(left: int, right: int) -> TextLine:
    return TextLine(left=left, right=right, baseline=np.full(right - left, BASE, np.float32), size=SIZE)


def page(*words: tuple[int, int]) -> Shades:
    """Returns a page with letters of 10 px, 3 px apart, from and to these columns."""
    darkness = np.zeros((120, 600), np.uint8)
    for x0, x1 in words:
        for x in range(x0, x1, 13):
            darkness[BASE - 15 : BASE, x : min(x + 10, x1)] = 204
    return darkness


def ends(darkness: Shades, *lines: TextLine) -> list[tuple[int, int]]:
    return [
        (it.left, it.right) for it in lengthened(darkness, lines) if len(it.baseline) == it.right - it.left
    ]


@pytest.mark.parametrize(("left", "right"), [(126, 296), (100, 270), (126, 270), (100, 296)])
def test_letters_at_the_ends_are_the_line_s(left: int, right: int) -> None:
    assert ends(page((100, 296)), line(left, right)) == [(100, 296)]


def test_white_ends_a_line() -> None:
    assert ends(page((100, 296), (310, 400)), line(100, 296)) == [(100, 296)]


def test_ink_without_an_end_is_no_letter() -> None:
    darkness = page((100, 270))
    darkness[20:100, 272:500] = 204
    assert ends(darkness, line(100, 270)) == [(100, 270)]


def test_a_rule_is_no_letter() -> None:
    darkness = page((100, 270))
    darkness[:, 273:283] = 204
    assert ends(darkness, line(100, 270)) == [(100, 270)]


def test_the_next_line_s_letters_are_its_own() -> None:
    darkness = page((100, 296))
    assert ends(darkness, line(100, 217), line(217, 296)) == [(100, 217), (217, 296)]


def test_two_lines_do_not_share_what_stands_between_them() -> None:
    found = ends(page((100, 296)), line(100, 204), line(230, 296))
    assert found in ([(100, 230), (230, 296)], [(100, 204), (204, 296)], [(100, 204), (230, 296)])
    overlapping = ends(page((100, 296)), line(100, 206), line(204, 296))
    assert overlapping == [(100, 206), (204, 296)]


@pytest.mark.parametrize(("right", "left"), [(190, 205), (190, 197), (220, 180)])
def test_pieces_of_a_line_are_one(right: int, left: int) -> None:
    (whole,) = joined(page((100, 296)), [line(left, 296), line(100, right)])
    assert (whole.left, whole.right, len(whole.baseline)) == (100, 296, 196)


def test_lines_with_white_between_them_or_of_two_rows_or_sizes_are_several() -> None:
    darkness = page((100, 200), (216, 296))
    assert len(joined(darkness, [line(100, 200), line(216, 296)])) == 2
    assert len(joined(darkness, [line(100, 214), line(202, 296)])) == 2
    close = page((100, 296))
    upper = line(200, 296)
    assert len(joined(close, [line(100, 200), replace(upper, baseline=upper.baseline - 10)])) == 2
    assert len(joined(close, [line(100, 200), replace(upper, size=2 * SIZE)])) == 2
