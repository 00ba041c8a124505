"""Each page of a run counts once, by the attempt that counts, and the seconds of all of them are its own."""

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlite_utils import Database

from storage.database import Row, open_for_reading
from storage.queries import run_pages
from storage.records.merit import first_settings
from storage.records.store import Store
from storage.types import FINE_STATUSES, StageTiming
from tests.storage.sample_records import (
    SETTINGS,
    SHA_A,
    SHA_B,
    a_file,
    a_page,
    a_run,
    mark_missing,
    new_run,
    rows,
)


def figures(db: Database, run_id: int, num_bins: int = 10) -> Row:
    return run_pages.figures(db, run_id, most=9, num_bins=num_bins)


def timed(seconds: float) -> tuple[StageTiming, ...]:
    return (StageTiming(stage="render", share_s=seconds, wall_s=seconds),)


def test_a_page_read_twice_counts_once_with_the_seconds_of_both(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(
        run_id, a_page("bad", 0, status="doubtful", doubt="confidence 0.1", confidence=0.1, timings=timed(2))
    )
    store.record_page(run_id, a_page("good", 0, rung="ngram", confidence=0.9, num_tokens=7, timings=timed(3)))
    store.record_page(run_id, a_page("other", 1, confidence=0.5, timings=timed(4)))
    with open_for_reading(str(path)) as db:
        assert figures(db, run_id)["statuses"] == {"ok": 2}
        assert list(run_pages.unfine(db, run_id)) == []
        first, second = figures(db, run_id)["slowest"]
        assert (first["seconds"], first["num_attempts"], first["confidence"], first["num_tokens"]) == (
            5.0,
            2,
            0.9,
            7,
        )
        assert (second["seconds"], second["num_attempts"]) == (4.0, 1)
        assert [page["confidence"] for page in figures(db, run_id)["unsure"]] == [0.5, 0.9]


def test_a_run_s_page_is_not_another_run_s(store: Store, path: Path) -> None:
    """Where a later run read a page better, the earlier one's report still tells what that one left."""
    first = new_run(store)
    store.record_page(first, a_page(None, 0))
    store.record_page(first, a_page("begun", 1, settings_hash=first_settings(SETTINGS), confidence=0.99))
    store.record_page(first, a_page("done", 1, status="truncated", confidence=0.3))
    second = store.start_run(a_run())
    store.record_file(second, a_file())
    store.record_page(second, a_page("read", 0))
    store.record_page(second, a_page("read", 1))
    with open_for_reading(str(path)) as db:
        assert figures(db, first)["statuses"] == {"failed": 1, "truncated": 1}
        failed, cut = run_pages.unfine(db, first)
        assert (failed["stage"], failed["category"], failed["reason"]) == (
            "render",
            "timeout",
            "took over 60 s",
        )
        assert (cut["status"], cut["confidence"]) == ("truncated", 0.3)
        assert figures(db, second)["statuses"] == {"ok": 2}
        assert figures(db, 99)["statuses"] == {}


def test_figures_agree_with_the_rows(store: Store, path: Path) -> None:
    """Many attempts at random, counted anew in Python from the rows."""
    rng, run_id = random.Random(7), new_run(store, a_file(num_pages=60))
    for _ in range(150):
        status = rng.choice(["ok", "ok", "failed", "truncated", "repeated", "blank"])
        confidence = None if status in ("failed", "blank") else rng.random()
        text = None if status == "failed" else "text"
        store.record_page(
            run_id,
            a_page(
                text, rng.randrange(60), status=status, confidence=confidence, timings=timed(rng.random())
            ),
        )
    seconds: Counter[int] = Counter()
    for page_id, spent in rows(path, "SELECT page_id, seconds FROM attempts"):
        seconds[page_id] += spent
    current = rows(
        path,
        "SELECT p.id, a.status, a.confidence FROM pages p JOIN attempts a ON a.id = p.current_attempt_id",
    )
    confidences = sorted(
        (confidence, page_id) for page_id, _, confidence in current if confidence is not None
    )
    bins = Counter(int(confidence * 10) for confidence, _ in confidences)
    with open_for_reading(str(path)) as db:
        assert figures(db, run_id)["statuses"] == Counter(status for _, status, _ in current)
        unfine = {page_id: status for page_id, status, _ in current if status not in FINE_STATUSES}
        assert {page["page_id"]: page["status"] for page in run_pages.unfine(db, run_id)} == unfine
        slowest = sorted(seconds, key=lambda page_id: -seconds[page_id])[:9]
        assert [page["page_id"] for page in figures(db, run_id)["slowest"]] == slowest
        lowest = [page_id for _, page_id in confidences[:9]]
        assert [page["page_id"] for page in figures(db, run_id)["unsure"]] == lowest
        assert figures(db, run_id, num_bins=10)["confidences"] == [bins[number] for number in range(10)]


def test_certainty_falls_into_the_last_part_and_layers_into_none(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page("sure", 0, confidence=1.0))
    store.record_page(run_id, a_page("layer", 1, status="embedded", source="layer", confidence=0.2))
    with open_for_reading(str(path)) as db:
        assert figures(db, run_id, num_bins=4)["confidences"] == [0, 0, 0, 1]


def test_a_page_is_placed_where_its_content_is(store: Store, path: Path) -> None:
    first = new_run(
        store, a_file("b.pdf"), a_file("a.pdf"), a_file("/gone/c.pdf", SHA_B), a_file("d.pdf", "d" * 64)
    )
    for sha256 in (SHA_A, SHA_B, "d" * 64):
        store.record_page(first, a_page(sha256=sha256, page_index=2))
    second = store.start_run(a_run())
    store.record_file(second, a_file("d.pdf", "e" * 64))
    mark_missing(store, second, "/gone")
    ids = dict(
        rows(
            path,
            "SELECT d.sha256, p.id FROM pages p JOIN documents d ON d.id = p.document_id WHERE page_index = 2",
        )
    )
    with open_for_reading(str(path)) as db:
        found = run_pages.places(db, ids.values())
    place = {
        "page_id": ids[SHA_A], "path": "a.pdf", "sha256": SHA_A, "kind": "pdf", "page_index": 2,
        "state": "there",
    }  # fmt: skip
    assert found[ids[SHA_A]] == place
    assert (found[ids[SHA_B]]["path"], found[ids[SHA_B]]["state"]) == ("/gone/c.pdf", "missing")
    assert (found[ids["d" * 64]]["path"], found[ids["d" * 64]]["state"]) == ("d.pdf", "superseded")


def test_more_pages_are_placed_than_a_statement_takes(store: Store, path: Path) -> None:
    run_id = new_run(store, a_file(num_pages=1203))
    store.plan_pages(SHA_A, range(1203), SETTINGS, attempt_limit=1)
    store.record_page(run_id, a_page())
    ids = [page_id for (page_id,) in rows(path, "SELECT id FROM pages")]
    with open_for_reading(str(path)) as db:
        found = run_pages.places(db, ids)
    assert sorted(place["page_index"] for place in found.values()) == list(range(1203))


def test_refused_files_are_those_that_the_run_found(store: Store, path: Path) -> None:
    first = new_run(store, a_file("x.pdf", None, status="broken", reason="damaged", num_pages=0))
    second = store.start_run(a_run())
    store.record_file(second, a_file("y.pdf", SHA_B, status="encrypted", reason="locked", num_pages=0))
    with open_for_reading(str(path)) as db:
        assert figures(db, first)["refused"] == [{"path": "x.pdf", "status": "broken", "reason": "damaged"}]
        assert [file["path"] for file in figures(db, second)["refused"]] == ["y.pdf"]


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
        assert run_pages.throughput(db, run_id, 10.0) == [(2, 0, 0), (0, 1, 1), (0, 0, 0), (1, 0, 0)]
        assert figures(db, run_id)["span_s"] == pytest.approx(35.0, abs=0.002)
        assert run_pages.throughput(db, 99, 10.0) == []


def test_a_clock_that_was_set_back_makes_no_negative_time(store: Store, path: Path) -> None:
    run_id, empty = new_run(store), store.start_run(a_run())
    store.record_page(run_id, a_page())
    ended(store, run_id, {0: -3600.0})
    with open_for_reading(str(path)) as db:
        assert figures(db, run_id)["span_s"] == 0.0
        assert figures(db, empty)["span_s"] == 0.0
        assert run_pages.throughput(db, run_id, 1.0) == [(1, 0, 0)]
