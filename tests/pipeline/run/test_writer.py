"""The database in a thread of its own."""

import threading
import time
from pathlib import Path

import pytest

from pipeline.run.writer import Writer
from storage.errors import DatabaseAccessError, DatabaseBusyError
from storage.records.store import Store
from tests.pipeline.runs import wait_until
from tests.storage.sample_records import a_file, a_page, a_run, rows


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "a.db")


def test_calls_run_one_after_the_other_in_the_order_of_asking(path: str) -> None:
    ran: list[tuple[int, str]] = []

    def task(store: Store, number: int, *, seconds: float) -> int:
        time.sleep(seconds)
        ran.append((number, threading.current_thread().name))
        return 2 * number

    with Writer(path) as writer:
        futures = [writer.call(task, number, seconds=0.02 if number == 0 else 0.0) for number in range(5)]
        assert [future.result() for future in futures] == [0, 2, 4, 6, 8]
    assert [number for number, _ in ran] == list(range(5))
    names = {name for _, name in ran}
    assert len(names) == 1
    assert threading.current_thread().name not in names


def test_an_error_comes_out_of_its_future_and_costs_no_other_call(path: str) -> None:
    def breaks(store: Store) -> None:
        raise KeyError("a bug")

    with Writer(path) as writer:
        broken, run_id = writer.call(breaks), writer.call(Store.start_run, a_run())
        with pytest.raises(KeyError, match="a bug"):
            broken.result()
        assert run_id.result() == 1
    assert rows(path, "SELECT count(*) FROM runs") == [(1,)]


def test_closing_does_what_was_asked_for_first(path: str) -> None:
    with Writer(path) as writer:
        run_id = writer.call(Store.start_run, a_run()).result()
        writer.call(Store.record_file, run_id, a_file())
        writer.call(lambda store: time.sleep(0.05))
        pending = [writer.call(Store.record_page, run_id, a_page(page_index=index)) for index in range(3)]
    assert all(future.done() for future in pending)
    assert rows(path, "SELECT page_index FROM pages ORDER BY page_index") == [(0,), (1,), (2,)]
    Store(path).close()  # nobody holds it any more


def test_the_database_is_closed_also_after_an_error(path: str) -> None:
    with pytest.raises(KeyError), Writer(path):
        raise KeyError
    Store(path).close()


def test_a_busy_database_is_refused_and_leaves_no_thread(path: str) -> None:
    before = threading.active_count()
    with Store(path), pytest.raises(DatabaseBusyError, match=r"a\.db"):
        Writer(path)
    assert threading.active_count() == before


def test_the_time_at_work_is_measured(path: str) -> None:
    worked: list[float] = []

    def work(store: Store) -> None:
        began = time.monotonic()
        time.sleep(0.05)
        worked.append(time.monotonic() - began)

    with Writer(path) as writer:
        asked = time.monotonic()
        writer.call(work).result()
        wait_until(lambda: writer.meter.state is None)
        answered = time.monotonic()
        time.sleep(0.05)
    assert worked[0] <= writer.meter.use("store", 1.0).busy <= answered - asked, "the rest is no work"


def test_marks_and_looks_are_work_of_the_stage_too(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Writer(path) as writer:
        stored = writer.use(1.0).busy
        for slow in ("_marker.begin_pages", "_store.presence.look"):
            owner = writer
            *way, name = slow.split(".")
            for step in way:
                owner = getattr(owner, step)
            monkeypatch.setattr(owner, name, lambda *_, **__: time.sleep(0.05))
        writer.begin(1, []).result()
        writer.look().result()
        assert writer.use(1.0).busy >= stored + 0.1


def test_a_database_that_takes_no_marks_is_refused_and_closed(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: str) -> None:
        raise DatabaseAccessError("the disk is full")

    before = threading.active_count()
    monkeypatch.setattr("pipeline.run.writer.Marker", fails)
    with pytest.raises(DatabaseAccessError, match="full"):
        Writer(path)
    assert threading.active_count() == before
    Store(path).close()
