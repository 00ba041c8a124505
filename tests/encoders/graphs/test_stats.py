import json

from encoders.graphs.stats import PathStats


def test_two_runs_together() -> None:
    first = PathStats(
        hits=6, misses=1, eager=1, replayed_tokens=90, padding_tokens=10, budgets={"640": [100]}
    )
    second = PathStats(hits=2, replayed_tokens=100, budgets={"640": [100, 200], "1024": [256]})
    both = first.merge(second)
    assert (both.hits, both.units, both.hit_rate) == (8, 10, 0.8)
    assert both.padding_share == 0.05
    assert both.budgets == {"640": [100, 200], "1024": [256]}
    assert first.hits == 6


def test_counts_and_shares_as_json() -> None:
    told = json.loads(json.dumps(PathStats(hits=1, replayed_tokens=3, padding_tokens=1).as_dict()))
    assert (told["hits"], told["hit_rate"], told["padding_share"]) == (1, 1.0, 0.25)
    assert PathStats().as_dict()["padding_share"] == 0


def test_a_summary_for_the_run_record() -> None:
    stats = PathStats(
        hits=2, misses=1, replays=1, replayed_tokens=200, padding_tokens=100, capture_seconds=1.23456,
        graph_bytes=3 * 2**19, budgets={"640": [100, 300]}, nan_traps=2, left_out={"640": [400]},
    )  # fmt: skip
    summary = json.loads(json.dumps(stats.summary()))
    assert summary == {
        "units": 3, "hits": 2, "misses": 1, "eager": 0, "hit_rate": 0.667, "padding_share": 0.333, "replays": 1,
        "eager_batches": 0, "capture_seconds": 1.23, "graph_mib": 1.5, "budgets": {"640": [100, 300]},
        "nan_traps": 2, "left_out": {"640": [400]},
    }  # fmt: skip
    summary["budgets"]["640"].clear()
    assert stats.budgets == {"640": [100, 300]}


def test_every_trouble_is_told_where_there_was_one() -> None:
    quiet = PathStats().summary()
    troubles = [name for name in PathStats().as_dict() if name not in quiet]
    for name in ("split_batches", "nan_traps", "parity_failures", "stale_graphs", "losing_graphs"):
        assert name in troubles
        assert PathStats(**{name: 1}).summary()[name] == 1
