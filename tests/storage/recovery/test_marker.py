"""A connection beside the one that stores results."""

import threading
from pathlib import Path

import pytest

from storage.errors import DatabaseAccessError
from storage.records.store import Store
from storage.recovery.marker import Marker
from tests.storage.recovery.test_in_flight import MARKS
from tests.storage.sample_records import SHA_A, a_page, new_run, rows


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


def test_it_waits_for_a_result_that_is_being_written(path: Path) -> None:
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


def test_it_leaves_the_log_to_the_store_however_long_that_grows(path: Path) -> None:
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


def test_it_makes_no_database(path: Path) -> None:
    with pytest.raises(DatabaseAccessError):
        Marker(path)
    assert not path.exists()
