"""Print across columns is told from the columns, and no row of a box is left out."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr.imaging.profiles import Mask
from ocr.layout.columns import Segment
from ocr.layout.split.crossings import segments

X_HEIGHT_PX = 6.0
WIDTH, LEFT, RIGHT = 400, (20, 180), (220, 380)
LINE, PITCH = 9, 14


def blank(height: int) -> Mask:
    return np.zeros((height, WIDTH), dtype=np.bool_)


def write(mask: Mask, y: int, x0: int, x1: int) -> None:
    """A line of words from x0 to x1."""
    for start in range(x0, x1, 16):
        mask[y : y + LINE, start : min(start + 13, x1)] = True


def columns(mask: Mask, y: int, number: int) -> int:
    for row in range(number):
        for x0, x1 in (LEFT, RIGHT):
            write(mask, y + row * PITCH, x0, x1)
    return y + number * PITCH


def found(mask: Mask, best: tuple[int, int], rules: Mask | None = None) -> list[Segment]:
    ruled = blank(len(mask)) if rules is None else rules
    box = (0, 0, WIDTH, len(mask))
    return segments(mask, ruled, box, Segment(top=best[0], bottom=best[1], edges=(200,)), X_HEIGHT_PX)


def kinds(parted: list[Segment]) -> list[bool]:
    return [bool(segment.edges) for segment in parted]


def test_a_line_across_parts_the_columns_above_from_those_below() -> None:
    mask = blank(500)
    end = columns(mask, 10, 12)
    write(mask, end + 20, 20, 380)
    columns(mask, end + 60, 2)
    parted = found(mask, (10, end))
    assert kinds(parted) == [True, False, True]
    assert parted[1].top > end - PITCH + LINE
    assert parted[2].top < end + 60


def test_a_short_heading_across_is_told_by_its_size_and_the_white_around_it() -> None:
    for height, expected in ((13, [True, False, True]), (LINE, [True])):
        mask = blank(500)
        end = columns(mask, 10, 12)
        mask[end + 10 : end + 10 + height, 20:100] = True
        columns(mask, end + 32, 6)
        assert kinds(found(mask, (10, end))) == expected


def test_a_heading_without_a_letter_below_the_baseline_is_as_tall_as_a_line_that_has_some() -> None:
    for rise, expected in ((LINE + 2, [True, False, True]), (LINE, [True])):
        mask = blank(500)
        end = columns(mask, 10, 12)
        mask[end + 10 : end + 10 + rise, 20:100] = True
        columns(mask, end + 32, 6)
        for y in (*range(10, end, PITCH), *range(end + 32, end + 32 + 6 * PITCH, PITCH)):
            for x0, _ in (LEFT, RIGHT):  # a few letters of each line, a line's height and two pixels in all
                mask[y + LINE : y + LINE + 2, x0 : x0 + 13] = True
        assert kinds(found(mask, (10, end))) == expected


def rows(mask: Mask, y: int, number: int) -> int:
    for row in range(number):
        for x in (20, 120, 230, 330):
            write(mask, y + row * PITCH, x, x + 40)
    return y + number * PITCH


def test_rows_of_a_table_are_not_columns_though_they_leave_the_gutter_free() -> None:
    mask = blank(600)
    end = columns(mask, 10, 12)
    below = rows(mask, end + 20, 6)
    columns(mask, below + 20, 4)
    assert kinds(found(mask, (10, end))) == [True, False, True]


def test_tables_that_stand_in_two_columns_side_by_side_stay_in_them() -> None:
    mask, rules = blank(600), blank(600)
    end = columns(mask, 10, 12)
    below = rows(mask, end + 20, 6)
    columns(mask, below + 20, 4)
    for x0, x1 in (LEFT, RIGHT):
        rules[end + 12, x0:x1] = True
    assert kinds(found(mask, (10, end), rules)) == [True]


def test_what_lies_between_rules_over_the_gutter_is_a_table_if_it_is_no_text() -> None:
    for number, expected in ((3, [True, False, True]), (8, [True, True, True])):
        mask, rules = blank(700), blank(700)
        end = columns(mask, 10, 12)
        below = columns(mask, end + 20, number)
        columns(mask, below + 20, 6)
        rules[end + 12, 20:380] = True
        rules[below + 8, 20:380] = True
        assert kinds(found(mask, (10, end), rules)) == expected


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(
        st.tuples(st.integers(0, 280), st.integers(0, 380), st.integers(2, 300), st.integers(1, 30)),
        max_size=25,
    ),
    ruled=st.lists(st.integers(0, 299), max_size=4),
)
def test_the_segments_of_a_box_are_all_of_it(
    lines: list[tuple[int, int, int, int]], ruled: list[int]
) -> None:
    mask, rules = blank(300), blank(300)
    end = columns(mask, 0, 6)
    for y, x, width, height in lines:
        mask[y : y + height, x : x + width] = True
    rules[ruled, 10:390] = True
    parted = found(mask, (0, end), rules)
    assert parted[0].top == 0
    assert parted[-1].bottom == len(mask)
    for upper, lower in pairwise(parted):
        assert upper.bottom == lower.top
        assert upper.top < upper.bottom
    for segment in parted:
        for x in segment.edges:
            assert not mask[segment.top : segment.bottom, x].any(), "a cut goes through ink"


def test_a_box_whose_gutter_is_closed_is_one_piece() -> None:
    mask = blank(200)
    mask[10:190, 20:380] = True
    assert found(mask, (10, 190)) == [Segment(top=0, bottom=200, edges=())]
