import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.graphs.batching.budgets import (
    assumed,
    choose,
    generate,
    generate_finely,
    smallest_fitting,
    validate,
)
from encoders.graphs.errors import GraphSettingsError


def test_sizes_double_and_end_with_the_most() -> None:
    assert generate(64, 256) == [64, 128, 256]
    assert generate(64, 300) == [64, 128, 256, 300]
    assert generate(100, 100) == [100]
    assert generate_finely(100, 800) == [100, 200, 300, 400, 600, 800]
    assert all(size % 100 == 0 for size in generate_finely(100, 3200))
    for least, most in ((0, 4), (8, 4)):
        with pytest.raises(GraphSettingsError, match="raise"):
            generate(least, most)


def test_a_list_of_the_users_is_taken_or_refused_with_a_remedy() -> None:
    assert validate("local", [100, 300], 100) == [100, 300]
    for budgets, remedy in (
        ([], "leave it out"),
        ("all", "give a list"),
        ([0], "positive"),
        ([-100], "positive"),
        ([1.5], "whole number"),
        ([True], "whole number"),
        ([250], "nearest is 200"),
        ([200, 100], r"write \[100, 200\]"),
        ([100, 100], r"write \[100\]"),
    ):
        with pytest.raises(GraphSettingsError, match=remedy):
            validate("local", budgets, 100)  # type: ignore[arg-type]


def test_full_batches_and_any_remainder_are_expected() -> None:
    assert assumed(16, 64) == {16: 1, 32: 1, 48: 1, 64: 3}
    assert assumed(16, 16) == {16: 1}


def test_the_smallest_that_holds_it() -> None:
    assert [smallest_fitting([64, 128], tokens) for tokens in (1, 64, 65, 128, 129)] == [
        64,
        64,
        128,
        128,
        None,
    ]


def cost_of(chosen: tuple[int, ...], histogram: dict[int, int], latency: dict[int, float]) -> float:
    total = 0.0
    for size, count in histogram.items():
        fitting = smallest_fitting(chosen, size)
        if fitting is None:
            return float("inf")
        total += count * latency[fitting]
    return total


@given(
    latency=st.dictionaries(st.integers(1, 12), st.floats(0.1, 10), min_size=1, max_size=6),
    histogram=st.dictionaries(st.integers(1, 12), st.integers(1, 5), min_size=1, max_size=6),
    max_graphs=st.integers(1, 4),
)
def test_chosen_sizes_are_as_good_as_any(
    latency: dict[int, float], histogram: dict[int, int], max_graphs: int
) -> None:
    chosen = choose(histogram, latency.__getitem__, list(latency), max_graphs)
    served = {size: count for size, count in histogram.items() if size <= max(latency)}
    if not served:
        assert chosen == []
        return
    candidates = sorted(latency)
    best = min(
        cost_of(subset, served, latency)
        for count in range(1, max_graphs + 1)
        for subset in itertools.combinations(candidates, count)
    )
    assert len(chosen) <= max_graphs
    assert cost_of(tuple(chosen), served, latency) == pytest.approx(best)


def test_no_more_sizes_than_are_of_use() -> None:
    assert choose({3: 10}, lambda size: size, [1, 2, 4, 8], 4) == [4]
    assert choose({1: 5, 8: 1}, lambda size: size, [1, 2, 4, 8], 4) == [1, 8]
    assert choose({1: 5, 8: 1}, lambda size: size, [1, 2, 4, 8], 1) == [8]
    assert choose({}, lambda size: size, [1], 4) == []
