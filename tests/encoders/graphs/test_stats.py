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
    rounded = {
        "units": 3, "hit_rate": 0.667, "padding_share": 0.333, "capture_seconds": 1.23, "graph_mib": 1.5,
    }  # fmt: skip
    assert summary == stats.as_dict() | rounded
    assert (summary["nan_traps"], summary["left_out"], summary["parity_checks"]) == (2, {"640": [400]}, 0)
    assert len(json.dumps(summary)) < 1000
    stats.summary()["budgets"]["640"].clear()
    assert stats.budgets == {"640": [100, 300]}
