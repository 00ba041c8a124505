import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.graphs.batching.budgets import generate
from encoders.graphs.batching.packing import Batch, Bounds, Latencies, pack, total_seconds


def latencies_of(sizes: list[int], launch: float = 4.0, per_token: float = 0.1) -> Latencies:
    points = generate(1, sizes[-1])
    return Latencies(
        replay={size: 0.5 + per_token * size for size in sizes},
        eager={size: launch + per_token * size for size in points},
    )


def in_order(tokens: list[int], limit: int, max_items: int) -> list[list[int]]:
    """Batches of one budget for all, each filled until the next unit does not fit."""
    batches: list[list[int]] = []
    for index, size in enumerate(tokens):
        last = batches[-1] if batches else []
        if not batches or len(last) == max_items or sum(tokens[i] for i in last) + size > limit:
            batches.append([])
        batches[-1].append(index)
    return batches


@given(
    tokens=st.lists(st.integers(1, 40), max_size=30),
    sizes=st.lists(st.integers(1, 32), min_size=1, max_size=4, unique=True),
    max_items=st.integers(1, 8),
    measured=st.booleans(),
)
def test_every_unit_once_and_within_the_bounds(
    tokens: list[int], sizes: list[int], max_items: int, measured: bool
) -> None:
    sizes = sorted(sizes)
    bounds = Bounds(max_tokens=sizes[-1], max_items=max_items, sizes=sizes)
    latencies = latencies_of(sizes) if measured else None
    batches = pack(tokens, bounds, latencies=latencies)
    assert sorted(index for batch in batches for index in batch.indices) == list(range(len(tokens)))
    assert batches == pack(tokens, bounds, latencies=latencies), "the same every time"
    for batch in batches:
        assert batch.tokens == sum(tokens[index] for index in batch.indices)
        if batch.tokens > sizes[-1]:
            assert len(batch.indices) == 1
            assert batch.size is None
        else:
            assert len(batch.indices) <= max_items
            assert batch.size is None or batch.size == min(s for s in sizes if s >= batch.tokens)
        assert batch.padding >= 0


@given(
    tokens=st.lists(st.integers(1, 16), min_size=1, max_size=24)
    | st.integers(1, 50).map(lambda count: [4] * count),
    sizes=st.lists(st.sampled_from([16, 20, 32, 48, 64]), min_size=1, unique=True),
    max_items=st.integers(2, 20),
)
def test_never_worse_than_one_budget_for_all(tokens: list[int], sizes: list[int], max_items: int) -> None:
    sizes = sorted(sizes)
    latencies = latencies_of(sizes)
    bounds = Bounds(max_tokens=sizes[-1], max_items=max_items, sizes=sizes)
    ours = total_seconds(pack(tokens, bounds, latencies=latencies), latencies)
    for size in sizes:
        assert ours <= len(in_order(tokens, size, max_items)) * latencies.replay[size] + 1e-9
    unmeasured = pack(tokens, bounds)
    assert len(unmeasured) <= len(in_order(tokens, sizes[-1], max_items))


def test_equal_units_fill_batches_and_the_rest_costs_least() -> None:
    sizes = [100, 200, 400, 800]
    latencies = latencies_of(sizes)
    bounds = Bounds(max_tokens=800, max_items=8, sizes=sizes)
    batches = pack([100] * 19, bounds, latencies=latencies)
    assert [batch.size for batch in batches] == [800, 800, 200, 100]
    costly = Latencies(replay={size: 50 + 0.1 * size for size in sizes}, eager={100: 200, 800: 300})
    batches = pack([100] * 19, bounds, latencies=costly)
    assert [(batch.size, batch.padding) for batch in batches] == [(800, 0), (800, 0), (400, 100)]
    assert [len(batch.indices) for batch in pack([100] * 19, bounds)] == [8, 8, 3]


def test_equal_units_are_covered_as_cheaply_as_can_be() -> None:
    sizes = [1, 3, 5]
    latencies = Latencies(replay={1: 1.0, 3: 2.0, 5: 4.5}, eager={1: 9.0, 5: 9.0})
    bounds = Bounds(max_tokens=5, max_items=5, sizes=sizes)
    for count in range(1, 25):
        ours = total_seconds(pack([1] * count, bounds, latencies=latencies), latencies)
        best = min(
            a * 1.0 + b * 2.0 + c * 4.5
            for a in range(count + 1)
            for b in range(count + 1)
            for c in range(count + 1)
            if a + 3 * b + 5 * c >= count
        )
        assert math.isclose(ours, best)


def test_eager_takes_what_no_graph_wins() -> None:
    latencies = Latencies(replay={4096: 24.0}, eager={64: 2.0, 4096: 25.0})
    bounds = Bounds(max_tokens=4096, max_items=64, sizes=[4096])
    assert pack([64], bounds, latencies=latencies) == [Batch(indices=(0,), tokens=64, size=None)]
    assert [batch.size for batch in pack([64] * 64, bounds, latencies=latencies)] == [4096]


def test_large_units_are_placed_first() -> None:
    bounds = Bounds(max_tokens=10, max_items=8, sizes=[10])
    assert [batch.indices for batch in pack([4, 4, 6, 6], bounds)] == [(0, 2), (1, 3)]


def test_frames_count_as_items() -> None:
    bounds = Bounds(max_tokens=100, max_items=4, sizes=[100])
    batches = pack([10, 10, 10, 10], bounds, items=[3, 1, 2, 5])
    assert {batch.indices for batch in batches} == {(0, 1), (2,), (3,)}
    assert next(batch for batch in batches if batch.indices == (3,)).size is None


def test_nothing_to_pack() -> None:
    assert pack([], Bounds(max_tokens=4, max_items=4, sizes=[4]), latencies=latencies_of([4])) == []
    alone = pack([3, 3], Bounds(max_tokens=0, max_items=4))
    assert [batch.size for batch in alone] == [None, None]


def test_eager_latency_between_and_beyond_what_was_measured() -> None:
    latencies = Latencies(eager={10: 2.0, 20: 4.0}, replay={20: 3.0})
    assert [latencies.eager_at(tokens) for tokens in (1, 10, 15, 20, 40)] == [2.0, 2.0, 3.0, 4.0, 8.0]
    assert not latencies.wins(20, 15)
    assert latencies.wins(20, 16)
    assert latencies.cost(20, 11) == pytest.approx(2.2)


def test_a_graph_must_win_by_the_margin() -> None:
    latencies = Latencies(margin=1.1, replay={4: 0.95, 8: 1.5}, eager={4: 1.0, 8: 2.0})
    assert not latencies.wins(4, 4)
    assert latencies.wins(8, 8)
    assert latencies.cost(4, 4) == 1.0
    assert latencies.cost(8, 8) == pytest.approx(1.65)
