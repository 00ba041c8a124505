"""Where a run's time went is counted from its own rows."""

import statistics
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from storage.database import open_for_reading
from storage.queries import run_times
from storage.queries.run_times import Interval, PathUse
from storage.records.store import Store
from storage.types import StageTiming
from tests.storage.sample_records import a_page, a_run, new_run, rows


def timing(stage: str, share_s: float, path_use: str | None = None) -> StageTiming:
    return StageTiming(stage=stage, share_s=share_s, wall_s=2 * share_s, batch_size=2, path_use=path_use)


def ended(store: Store, run_id: int, after_s: dict[int, float]) -> None:
    """Sets when pages ended, by their index, in seconds after the run's start."""
    (start,) = store._db.conn.execute("SELECT started_at FROM runs WHERE id = ?", (run_id,)).fetchone()
    for index, seconds in after_s.items():
        at = (datetime.fromisoformat(start) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
        store._db.conn.execute(
            "UPDATE attempts SET finished_at = ? WHERE page_id = (SELECT id FROM pages WHERE page_index = ?)",
            (at, index),
        )


def test_pages_are_counted_by_intervals_from_the_run_s_start(store: Store, path: Path) -> None:
    run_id = new_run(store)
    for index, status in enumerate(["ok", "blank", "embedded", "failed", "ok"]):
        store.record_page(run_id, a_page(None if status == "failed" else "text", index, status=status))
    ended(store, run_id, {0: -0.001, 1: 9.9, 2: 10.1, 3: 10.2, 4: 35.0})
    with open_for_reading(str(path)) as db:
        assert run_times.throughput(db, run_id, 10.0) == [
            Interval(start_s=0.0, num_read=2, num_embedded=0, num_unfine=0),
            Interval(start_s=10.0, num_read=0, num_embedded=1, num_unfine=1),
            Interval(start_s=20.0, num_read=0, num_embedded=0, num_unfine=0),
            Interval(start_s=30.0, num_read=1, num_embedded=0, num_unfine=0),
        ]
        assert run_times.span_s(db, run_id) == pytest.approx(35.0, abs=0.002)
        assert run_times.throughput(db, 99, 10.0) == []


def test_a_clock_that_was_set_back_makes_no_negative_time(store: Store, path: Path) -> None:
    run_id, empty = new_run(store), store.start_run(a_run())
    store.record_page(run_id, a_page())
    ended(store, run_id, {0: -3600.0})
    with open_for_reading(str(path)) as db:
        assert run_times.span_s(db, run_id) == 0.0
        assert run_times.span_s(db, empty) == 0.0
        assert [interval.num_read for interval in run_times.throughput(db, run_id, 1.0)] == [1]


def test_stages_are_those_of_the_run(store: Store, path: Path) -> None:
    run_id = new_run(store)
    shares = [0.5, 0.1, 0.9, 0.3, 0.2]
    for index, share in enumerate(shares):
        # A stage may have several timings on a page; together they are its seconds.
        timings = (timing("render", share / 2), timing("render", share / 2), timing("encode", 0.01, "hit"))
        store.record_page(run_id, a_page("text", index, timings=timings))
    other = store.start_run(a_run())
    store.record_page(other, a_page("text", 0, timings=(timing("render", 100.0, "eager"),)))
    with open_for_reading(str(path)) as db:
        found = {stage.stage: stage for stage in run_times.stages_of(db, run_id)}
        assert run_times.path_uses(db, run_id) == [PathUse(stage="encode", path_use="hit", num_timings=5)]
    assert list(found)[:2] == ["render", "encode"]
    assert set(found) == {"render", "encode", "store"}
    render = found["render"]
    assert render.num_pages == 5
    assert render.total_s == pytest.approx(sum(shares))
    assert render.mean_s == pytest.approx(statistics.mean(shares))
    assert render.median_s == pytest.approx(statistics.median(shares))
    assert render.p99_s == pytest.approx(max(shares))
    (total,) = rows(path, "SELECT total_s FROM stage_summary WHERE stage = 'render' AND run_id = ?", run_id)[
        0
    ]
    assert render.total_s == pytest.approx(total)
