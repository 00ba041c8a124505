"""Columns found by the white between lines, and what only looks like them."""

import numpy as np

from ocr.line_reader.found_lines import TextLine
from ocr.line_reader.line_columns import parted_by_columns


def stack(
    left: int, width: int, top: int, number: int, pitch: int = 26, size: float = 20.0
) -> list[TextLine]:
    return [
        TextLine(
            left=left, right=left + width, baseline=np.full(width, top + pitch * n, np.float32), size=size
        )
        for n in range(number)
    ]


def test_columns_of_running_text_are_parts_and_what_is_above_comes_first() -> None:
    title, left, right = stack(50, 850, 40, 1), stack(50, 400, 100, 9), stack(500, 400, 100, 9)
    assert parted_by_columns([*right, *title, *left]) == [title, left, right]


def test_short_lines_at_other_heights_on_both_sides_are_columns() -> None:
    left, right = stack(50, 120, 100, 9), stack(500, 120, 113, 9)
    assert parted_by_columns([*right, *left]) == [left, right]


def test_cells_at_the_same_heights_are_one_part() -> None:
    cells = [*stack(50, 120, 100, 9, 30), *stack(500, 120, 100, 9, 30)]
    assert len(parted_by_columns(cells)) == 1


def test_a_table_across_both_columns_parts_them() -> None:
    upper = [stack(50, 400, 100, 6), stack(500, 400, 100, 6)]
    table = [line for x in (50, 250, 500, 700) for line in stack(x, 80, 290, 4)]
    lower = [stack(50, 400, 450, 8), stack(500, 400, 450, 8)]
    parts = parted_by_columns([line for found in (*upper, *lower) for line in found] + table)
    assert [len(part) for part in parts] == [6, 6, 16, 8, 8]


def test_running_heads_and_page_numbers_are_no_part_of_the_column_that_they_stand_over() -> None:
    head, number = stack(50, 300, 20, 1), stack(560, 30, 480, 1)
    left, right = stack(50, 400, 140, 9), stack(500, 400, 140, 9)
    assert parted_by_columns([*left, *head, *right, *number]) == [head, left, right, number]


def test_a_headline_over_several_columns_begins_an_article() -> None:
    upper, lower = ([stack(x, 250, top, 9) for x in (50, 320, 600)] for top in (100, 460))
    headline = stack(50, 500, 390, 1, size=40.0)
    lines = [line for part in (*upper, headline, *lower) for line in part]
    assert parted_by_columns(lines) == [*upper, headline, *lower]


def test_a_last_column_may_be_short() -> None:
    """Although over some rows, which are a little shorter, nothing stands across the white before."""
    first = [
        line
        for row, width in ((0, 250), (10, 240), (20, 250))
        for line in stack(50, width, 100 + 26 * row, 10)
    ]
    columns = [first, stack(320, 250, 100, 30), stack(600, 250, 100, 5)]
    assert parted_by_columns([line for part in columns for line in part]) == columns


def test_numbers_beside_lines_are_no_column() -> None:
    assert len(parted_by_columns([*stack(50, 40, 100, 12), *stack(150, 600, 100, 12)])) == 1


def test_several_numbers_beside_lines_at_other_heights_are_no_column() -> None:
    numbers = [*stack(50, 40, 100, 9, 40), *stack(180, 40, 100, 9, 40)]
    assert len(parted_by_columns([*numbers, *stack(400, 450, 100, 12, 30)])) == 1


def test_no_lines_have_no_parts() -> None:
    assert parted_by_columns([]) == []
