import random
import statistics

import pytest

from pipeline.reports.durations import Durations


def counted(seconds: list[float]) -> Durations:
    found = Durations()
    for one in seconds:
        found.add(one)
    return found


def test_the_median_is_known_to_one_percent_and_the_longest_exactly() -> None:
    numbers = random.Random(1)
    seconds = [numbers.lognormvariate(-3, 2) for _ in range(10_001)]
    found = counted(seconds)
    assert found.median_s == pytest.approx(statistics.median(seconds), rel=0.01)
    assert found.max_s == max(seconds)
    assert len(found.classes) < 1000


def test_merged_counts_are_those_of_all() -> None:
    one, other = counted([0.1, 0.2]), counted([3.0])
    one.merge(other)
    one.merge(Durations())
    assert one == counted([0.1, 0.2, 3.0])


def test_nothing_has_no_median() -> None:
    assert (Durations().median_s, Durations().max_s) == (None, None)


def test_a_duration_of_nothing_counts() -> None:
    assert counted([0.0]).median_s == 0.0
