"""Calls that wait for the database share a transaction, and none pays for another."""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.run import shared_commits
from pipeline.run.shared_commits import PriorityLock
from pipeline.run.writer import Writer
from storage.records.store import Store
from tests.pipeline.runs import wait_until
from tests.storage.sample_records import SHA_A, a_file, a_page, a_run, rows


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "a.db")


@pytest.fixture
def writer(path: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A database with a document of three pages; storing its pages shares transactions, which may take long."""
    monkeypatch.setattr(shared_commits, "SHARED", (Store.record_page,))
    monkeypatch.setattr(shared_commits, "_MOST_S", 60.0)
    with Writer(path) as its:
        its.call(Store.start_run, a_run()).result()
        its.call(Store.record_file, 1, a_file()).result()
        yield its


def together(writer: Writer, *calls: Callable[[], Future[Any]]) -> list[Future[Any]]:
    """Makes calls while the database is busy, so that they wait for it together."""
    go = threading.Event()
    writer.call(lambda store: go.wait(60))
    futures = [call() for call in calls]
    go.set()
    return futures


def storing(writer: Writer, index: int, **fields: Any) -> Callable[[], Future[Any]]:
    return lambda: writer.call(Store.record_page, 1, a_page(page_index=index, **fields))


def commits(writer: Writer) -> list[str]:
    """Every commit from now on."""
    seen: list[str] = []
    writer.call(
        lambda store: store._db.conn.set_trace_callback(
            lambda sql: seen.append(sql) if sql == "COMMIT" else None
        )
    ).result()
    return seen


def test_pages_that_wait_together_are_one_transaction(writer: Writer, path: str) -> None:
    seen = commits(writer)
    futures = together(writer, *(storing(writer, index) for index in range(3)))
    assert [future.result() for future in futures] == [1, 2, 3]
    assert len(seen) == 1
    assert rows(path, "SELECT count(*) FROM attempts") == [(3,)]


def test_a_page_that_is_refused_costs_no_other_page(writer: Writer, path: str) -> None:
    unknown = storing(writer, 0, sha256="f" * 64)
    first, refused, last = together(writer, storing(writer, 0), unknown, storing(writer, 2))
    assert first.result()
    assert last.result()
    with pytest.raises(AssertionError, match="record_file comes before"):
        refused.result()
    stored = "SELECT p.page_index FROM attempts a JOIN pages p ON p.id = a.page_id ORDER BY a.id"
    assert rows(path, stored) == [(0,), (2,)]
    assert rows(path, "SELECT count(*) FROM page_search WHERE page_search MATCH 'some'") == [(2,)]


def test_a_page_is_done_only_once_others_can_see_it(writer: Writer, path: str) -> None:
    seen: list[int] = []

    def look(_: object) -> None:
        with closing(sqlite3.connect(path)) as db:
            seen.append(db.execute("SELECT count(*) FROM attempts").fetchone()[0])

    for future in (futures := together(writer, *(storing(writer, index) for index in range(3)))):
        future.add_done_callback(look)
    [future.result() for future in futures]
    wait_until(lambda: len(seen) == 3)
    assert seen == [3, 3, 3]


def test_other_calls_keep_their_place_and_their_own_transaction(writer: Writer, path: str) -> None:
    order: list[int] = []
    seen = commits(writer)
    count = "SELECT count(*) FROM attempts"
    between = lambda: writer.call(lambda store: order.append(store._db.conn.execute(count).fetchone()[0]))  # noqa: E731
    futures = together(writer, storing(writer, 0), between, storing(writer, 1), between)
    [future.result() for future in futures]
    assert order == [1, 2]
    assert len(seen) == 2


def test_a_disk_that_fails_at_the_end_is_each_call_s_error(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Store) -> Any:
        raise OSError("the disk is gone")

    monkeypatch.setattr(Store, "together", fails)
    monkeypatch.setattr(Store, "_transaction", fails)
    for future in together(writer, *(storing(writer, index) for index in range(3))):
        with pytest.raises(OSError, match="the disk is gone"):
            future.result()


def test_marks_wait_for_no_more_than_one_transaction(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[Future[None]] = []

    def marks(store: Store) -> None:
        marked.append(writer.begin(1, [(SHA_A, 0)]))
        wait_until(lambda: writer._shared.priority._num_first == 1)

    monkeypatch.setattr(shared_commits, "SHARED", (marks,))
    writer.call(marks).result()
    marked[0].result()
    num_marks = "SELECT count(*) FROM in_flight"
    assert writer.call(lambda store: store._db.conn.execute(num_marks).fetchone()).result() == (1,)


def test_the_lock_lets_marks_in_before_the_next_results() -> None:
    priority, order = PriorityLock(), list[str]()

    def mark() -> None:
        with priority.first():
            order.append("mark")

    def results() -> None:
        with priority.after():
            order.append("results")

    with priority.after() as leave:
        threads = [threading.Thread(target=mark)]
        threads[0].start()
        wait_until(lambda: priority._num_first == 1)
        assert order == []
        leave()
        threads.append(threading.Thread(target=results))
        threads[1].start()
        [thread.join(60) for thread in threads]
    assert order == ["mark", "results"]
