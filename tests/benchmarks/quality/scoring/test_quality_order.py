"""The order of lines is compared with the truth's, whatever errors they hold."""

import pytest

from tests.benchmarks.quality.scoring.order import line_tau

LINES = [
    "The harbour was built in the year of the storm",
    "and the stones were brought from the north.",
    "Each of the masters had a mark of his own,",
    "which can still be seen at low water.",
]


def test_lines_that_were_read_with_errors_are_in_order() -> None:
    text = "\n".join(line.replace("o", "c", 1) for line in LINES)
    assert line_tau("\n".join(LINES), text) == 1


def test_a_column_read_before_the_other_costs_its_pairs() -> None:
    moved = "\n".join([*LINES[2:], *LINES[:2]])
    assert line_tau("\n".join(LINES), moved) == pytest.approx(1 - 2 * 4 / 6)


def test_lines_that_are_missing_or_too_few_count_for_nothing() -> None:
    assert line_tau("\n".join(LINES), "\n".join([*LINES[:2], LINES[3]])) == 1
    assert line_tau("\n".join(LINES), "\n".join(LINES[:2])) is None
    assert line_tau("", "") is None
