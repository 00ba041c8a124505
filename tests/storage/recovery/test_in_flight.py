"""Marks of pages that the model has: when they go, which become attempts, and which pages are read last or alone."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from storage.database import open_for_reading
from storage.errors import DatabaseAccessError
from storage.records.store import Store
from storage.recovery.in_flight import Marker
from storage.types import PageError, PagePlan
from storage.upkeep.audit import audit
from storage.upkeep.prune import prune
from tests.storage.sample_records import SETTINGS, SHA_A, a_page, a_run, died_with, new_run, rows

MARKS = (
    "SELECT p.page_index, f.run_id, f.alone FROM in_flight f JOIN pages p ON p.id = f.page_id ORDER BY 2, 1"
)
ATTEMPTS = "SELECT p.page_index, a.run_id, a.status, a.error_category, a.settings_hash FROM attempts a"
ATTEMPTS += " JOIN pages p ON p.id = a.page_id ORDER BY a.id"
OTHER = "settings-2"


def died(store: Store, path: Path, *indices: int, alone: bool = False, settings_hash: str = SETTINGS) -> int:
    """A run that had these pages in the model, and never ended, as the store learns from its lock."""
    store.follows_a_death = True
    run_id = store.start_run(a_run(settings_hash=settings_hash))
    with Marker(path) as marker:
        marker.begin_pages(run_id, [(SHA_A, index) for index in indices], alone=alone)
    return run_id


def plan(store: Store, *, limit: int = 2, force: bool = False) -> PagePlan:
    return store.plan_pages(SHA_A, range(3), SETTINGS, attempt_limit=limit, force=force)


@pytest.fixture
def store(path: Path, store: Store) -> Store:
    """Opens a database that knows a document of three pages."""
    store.finish_run(new_run(store), exit_code=0, counts={})
    return store


@pytest.mark.parametrize("status", ["ok", "blank", "failed"])
def test_a_page_that_comes_to_any_end_is_accused_no_longer(store: Store, path: Path, status: str) -> None:
    died(store, path, 0, 1)
    died(store, path, 0)
    assert rows(path, MARKS) == [(0, 2, 0), (1, 2, 0), (0, 3, 0)]
    store.record_page(store.start_run(a_run()), a_page(None if status == "failed" else "", status=status))
    assert rows(path, MARKS) == [(1, 2, 0)]


def test_a_run_that_ends_in_order_accuses_nobody_and_leaves_the_accusations_of_others(
    store: Store, path: Path
) -> None:
    died(store, path, 0, 1)
    store.finish_run(died(store, path, 1, 2), exit_code=5, counts={})
    assert rows(path, MARKS) == [(0, 2, 0), (1, 2, 0)]


def test_only_a_page_that_was_alone_is_struck(store: Store, path: Path) -> None:
    died(store, path, 0, 1)
    died(store, path, 0, 1)
    last = died(store, path, 1, alone=True, settings_hash=OTHER)
    assert rows(path, ATTEMPTS) == [], "it may still be going on"
    store.start_run(a_run())
    assert rows(path, ATTEMPTS) == [(1, last, "failed", "process_died", OTHER)]
    assert rows(path, "SELECT error_stage, error_message FROM attempts") == [
        (
            "read",
            f"the process ended while this page alone was being read (run {last}): "
            "killed, out of memory, or a fault in a library",
        )
    ]
    assert rows(path, "SELECT page_index, status FROM pages ORDER BY 1") == [
        (0, "pending"),
        (1, "failed"),
        (2, "pending"),
    ]
    assert rows(path, MARKS) == [(0, 2, 0), (1, 2, 0), (0, 3, 0), (1, 3, 0)]
    with open_for_reading(str(path)) as db:
        assert audit(db).problems == []


def test_a_page_that_dies_alone_too_often_is_set_aside_and_its_marks_go(store: Store, path: Path) -> None:
    for alone in (False, False, True, True):
        died(store, path, 0, alone=alone)
    store.start_run(a_run())
    assert (plan(store).given_up, plan(store).alone) == ((0,), {})
    assert rows(path, "SELECT status FROM pages WHERE page_index = 0") == [("quarantined",)]
    assert rows(path, MARKS) == []
    assert plan(store, force=True).alone == {0: 2}, "what it did is not forgotten"


def test_a_page_that_is_done_is_accused_no_longer(store: Store, path: Path) -> None:
    store.record_page(store.start_run(a_run()), a_page("whole"))
    died(store, path, 0, 1, settings_hash=OTHER)
    store.start_run(a_run())
    assert plan(store).done == (0,)
    assert rows(path, MARKS) == [(1, 3, 0)]


def test_a_run_that_could_not_write_its_end_accuses_nobody(path: Path) -> None:
    with Store(path) as store, Marker(path) as marker:
        marker.begin_pages(new_run(store), [(SHA_A, 0)], alone=True)
    with Store(path) as store:
        assert not store.follows_a_death
        store.start_run(a_run())
    assert (rows(path, MARKS), rows(path, ATTEMPTS)) == ([], [])


def test_pruning_between_two_runs_does_not_forget_that_the_first_died(path: Path) -> None:
    with Store(path) as store:
        new_run(store)
    died_with(path, SHA_A, [1], alone=True)
    prune(str(path))
    with Store(path) as store:
        assert not store.follows_a_death
        store.start_run(a_run())
    assert rows(path, ATTEMPTS) == [(1, 2, "failed", "process_died", SETTINGS)]


def test_a_strike_hides_no_text(store: Store, path: Path) -> None:
    store.record_page(store.start_run(a_run()), a_page("whole"))
    died(store, path, 0, alone=True)
    store.start_run(a_run())
    assert rows(path, "SELECT page, status, text FROM results WHERE page = 1") == [(1, "ok", "whole")]
    assert plan(store).done == (0,)


def test_pages_that_are_not_known_are_a_bug(store: Store, path: Path) -> None:
    run_id = store.start_run(a_run())
    with Marker(path) as marker, pytest.raises(AssertionError, match="plan_pages"):
        marker.begin_pages(run_id, [(SHA_A, 0), (SHA_A, 7)])
    assert rows(path, MARKS) == []


def test_pages_of_one_death_are_read_last_and_those_of_more_alone(store: Store, path: Path) -> None:
    died(store, path, 0, 1)
    died(store, path, 1)
    store.start_run(a_run())
    expected = PagePlan(to_read=(0, 1, 2), done=(), given_up=(), last=(0,), alone={1: 2})
    assert plan(store) == plan(store, force=True) == expected
    store.record_page(store.start_run(a_run()), a_page(), a_page(page_index=0, rung="dense"))
    assert plan(store).last == (), "a page that is done is not read"
    assert plan(store, force=True) == replace(expected, last=())


def test_the_run_that_goes_on_counts_for_nothing(store: Store, path: Path) -> None:
    died(store, path, 0)
    died(store, path, 0, 1)
    assert (plan(store).last, plan(store).alone) == ((0,), {})


def test_a_page_that_was_struck_comes_after_those_that_were_not(store: Store, path: Path) -> None:
    for indices, alone in [((0, 1, 2), False), ((0, 1, 2), False), ((0,), True)]:
        died(store, path, *indices, alone=alone)
    store.start_run(a_run())
    assert plan(store).alone == {0: 3, 1: 2, 2: 2}


def test_deaths_and_lost_devices_add_up(store: Store, path: Path) -> None:
    error = PageError(stage="encode", category="device_lost", message="lost")
    store.record_page(store.start_run(a_run()), replace(a_page(None), error=error))
    assert plan(store).alone == {0: 1}
    died(store, path, 0)
    store.start_run(a_run())
    assert plan(store).alone == {0: 2}
    store.record_page(store.start_run(a_run()), a_page(None))
    assert (plan(store, limit=5).last, plan(store, limit=5).alone) == ((), {}), "it had another end since"


def test_pages_that_were_not_asked_for_stay_out_of_it(store: Store, path: Path) -> None:
    died(store, path, 0, 1, 2)
    store.start_run(a_run())
    assert store.plan_pages(SHA_A, [1], "s", attempt_limit=2).last == (1,)


def test_marks_are_there_as_soon_as_it_returns_and_nothing_is_left_beside_the_database(path: Path) -> None:
    with Store(path) as store:
        run_id = new_run(store)
        with Marker(path) as marker:
            marker.begin_pages(run_id, [(SHA_A, 0), (SHA_A, 2)])
            marker.begin_pages(run_id, [(SHA_A, 2)], alone=True)
            assert rows(path, MARKS) == [(0, run_id, 0), (2, run_id, 1)]
            store.record_page(run_id, a_page())
            assert rows(path, MARKS) == [(2, run_id, 1)]
            marker.end_run(run_id + 1)
            assert rows(path, MARKS) == [(2, run_id, 1)]
            marker.end_run(run_id)
            assert rows(path, MARKS) == []
        marker.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_mark_waits_for_a_result_that_is_being_written(path: Path) -> None:
    begun = threading.Event()

    def mark() -> None:
        with Marker(path) as marker:
            begun.set()
            marker.begin_pages(run_id, [(SHA_A, 0)])

    with Store(path) as store:
        run_id = new_run(store)
        store._db.conn.execute("BEGIN IMMEDIATE")
        marking = threading.Thread(target=mark)
        marking.start()
        assert begun.wait(30)
        marking.join(0.1)
        assert marking.is_alive()
        store._db.conn.execute("COMMIT")
        marking.join(30)
        assert rows(path, MARKS) == [(0, run_id, 0)]


def test_the_marker_leaves_the_log_to_the_store_however_long_that_grows(path: Path) -> None:
    """Bringing the log into the file waits for the disk, and with it would whoever waits for a mark."""
    log = path.with_name(f"{path.name}-wal")
    with Store(path) as store, Marker(path) as marker:
        run_id = new_run(store)
        before = path.read_bytes()
        for _ in range(600):
            marker.begin_pages(run_id, [(SHA_A, 0)])
            marker.end_run(run_id)
        assert log.stat().st_size > 1100 * 4096, "SQLite's own limit is 1,000 pages"
        assert path.read_bytes() == before
        store.record_page(run_id, a_page())
        assert path.read_bytes() != before, "the store brings it in"


def test_the_marker_makes_no_database(path: Path) -> None:
    with pytest.raises(DatabaseAccessError):
        Marker(path)
    assert not path.exists()
