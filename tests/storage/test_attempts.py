"""A second run costs nothing, and a retry never hides a text."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.database import open_for_reading
from storage.search import search
from storage.store import Store
from storage.types import PagePlan
from tests.storage.records import SETTINGS, SHA_A, SHA_B, a_file, a_page, new_run, rows

OTHER = "settings-2"


def plan(store: Store, settings_hash: str = SETTINGS, *, force: bool = False, limit: int = 2) -> PagePlan:
    return store.plan_pages(SHA_A, range(3), settings_hash, attempt_limit=limit, force=force)


def current(path: Path) -> list[tuple[str, str | None]]:
    sql = "SELECT p.status, a.text FROM pages p LEFT JOIN attempts a ON a.id = p.current_attempt_id"
    return rows(path, sql + " ORDER BY p.page_index")


def found(path: Path, word: str) -> list[int]:
    with open_for_reading(str(path)) as db:
        return [hit.page for hit in search(db, word)]


def test_new_pages_are_pending_and_to_read(store: Store, path: Path) -> None:
    new_run(store)
    expected = PagePlan(to_read=(0, 1, 2), done=(), given_up=())
    assert plan(store) == expected
    assert plan(store) == expected
    assert current(path) == [("pending", None)] * 3


@pytest.mark.parametrize("status", ["ok", "blank"])
def test_ok_and_blank_pages_are_done_for_their_settings_only(store: Store, status: str) -> None:
    store.record_page(new_run(store), a_page("", 1, status=status))
    assert plan(store) == PagePlan(to_read=(0, 2), done=(1,), given_up=())
    assert store.done_pages(SHA_A, SETTINGS) == {1}
    assert store.done_pages(SHA_A, OTHER) == store.done_pages(SHA_B, SETTINGS) == set()
    assert plan(store, OTHER).to_read == (0, 1, 2)
    assert plan(store, force=True) == PagePlan(to_read=(0, 1, 2), done=(), given_up=())


@pytest.mark.parametrize("status", ["failed", "repeated", "truncated"])
def test_other_pages_are_tried_up_to_the_limit(store: Store, path: Path, status: str) -> None:
    run_id = new_run(store)
    page = a_page(None if status == "failed" else "part", status=status)
    for _ in range(2):
        assert 0 in plan(store).to_read
        store.record_page(run_id, page)
    assert plan(store) == PagePlan(to_read=(1, 2), done=(), given_up=(0,))
    assert plan(store, limit=3).to_read == (0, 1, 2)
    assert plan(store, OTHER).to_read == (0, 1, 2)
    assert plan(store, force=True).to_read == (0, 1, 2)
    assert current(path)[0][0] == status


def test_only_the_pages_asked_for_get_rows(store: Store, path: Path) -> None:
    new_run(store)
    assert store.plan_pages(SHA_A, [2, 0, 2], SETTINGS, attempt_limit=1).to_read == (0, 2)
    assert rows(path, "SELECT page_index FROM pages ORDER BY 1") == [(0,), (2,)]


def test_pages_follow_their_content_to_another_path(store: Store) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page(page_index=0))
    store.record_file(run_id, a_file("elsewhere/b.pdf", SHA_A))
    assert plan(store).done == (0,)


def test_a_worse_retry_under_the_same_settings_hides_nothing(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page("whole"))
    store.record_page(run_id, a_page(None))
    store.record_page(run_id, a_page("part", status="truncated"))
    assert current(path) == [("ok", "whole")]
    store.record_page(run_id, a_page("forced again"))
    assert current(path) == [("ok", "forced again")]
    assert found(path, "whole") == []
    assert found(path, "forced") == [1]


def test_other_settings_replace_and_come_back_without_reading(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page("first"))
    store.record_page(run_id, a_page(None, settings_hash=OTHER))
    assert current(path) == [("failed", None)]
    assert found(path, "first") == []
    assert plan(store).done == (0,)
    assert current(path)[0] == ("ok", "first")
    assert found(path, "first") == [1]
    assert rows(path, "SELECT count(*) FROM attempts") == [(2,)]


STATUSES = ["ok", "blank", "repeated", "truncated", "failed"]
READINGS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(STATUSES), st.sampled_from([SETTINGS, OTHER])), max_size=12
)


@settings(max_examples=20, deadline=None)
@given(readings=READINGS)
def test_plan_and_index_agree_with_the_attempts(
    tmp_path_factory: pytest.TempPathFactory, readings: list[tuple[int, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("plan") / "test.db"
    with Store(path) as store:
        run_id = new_run(store)
        for number, (index, status, hashed) in enumerate(readings):
            text = None if status == "failed" else "" if status == "blank" else f"word{number} common"
            store.record_page(run_id, a_page(text, index, status=status, settings_hash=hashed))
        planned = plan(store)
        assert sorted(planned.to_read + planned.done + planned.given_up) == [0, 1, 2]
        for index in range(3):
            here = [status for at, status, hashed in readings if (at, hashed) == (index, SETTINGS)]
            done = "ok" in here or "blank" in here
            assert (index in planned.done) == done
            assert (index in planned.given_up) == (not done and len(here) >= 2)
        texts = rows(path, "SELECT page_id, text FROM current_text WHERE text LIKE '%common%' ORDER BY 1")
        hits = "SELECT rowid, text FROM page_search WHERE page_search MATCH 'common' ORDER BY rowid"
        assert rows(path, hits) == texts
        store._db.conn.execute("INSERT INTO page_search(page_search) VALUES ('rebuild')")
        assert rows(path, hits) == texts
