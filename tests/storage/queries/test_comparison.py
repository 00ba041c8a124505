"""Two databases, or two runs, are compared page by page, whatever their files are called by now."""

from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from storage.database import Row, open_for_reading, open_for_writing
from storage.errors import SelectionError
from storage.queries.comparison import Side, compare
from storage.records.corrections import correct
from storage.records.store import Store
from storage.types import StageTiming
from tests.storage.sample_records import SHA_A, SHA_B, a_file, a_page, new_run

SHA_C = "c" * 64


def compared(before: tuple[Path, int | None], after: tuple[Path, int | None], limit: int = 20) -> Row:
    with ExitStack() as stack:
        sides = [
            Side(db=stack.enter_context(closing(open_for_reading(str(path)))), run_id=run)
            for path, run in (before, after)
        ]
        return compare(*sides, limit=limit)


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "before.db", tmp_path / "after.db"
    timing = StageTiming(stage="lines", share_s=0.5, wall_s=0.5)
    with Store(before) as store:
        run = new_run(
            store,
            a_file("in/a.pdf"),
            a_file("in/b.pdf", SHA_B, num_pages=1),
            a_file("in/c.pdf", "d" * 64, num_pages=1),
        )
        store.record_page(run, a_page("the same", 0, timings=(timing,)))
        store.record_page(run, a_page("ten letter", 1))
        store.record_page(run, a_page("text", 2, status="doubtful", doubt="why"))
        store.record_page(run, a_page("old words", 0, sha256=SHA_B))
        store.record_page(run, a_page("gone", 0, sha256="d" * 64))
    with Store(after) as store:
        run = new_run(
            store,
            a_file("moved/a.pdf"),
            a_file("in/b.pdf", SHA_C, num_pages=1),
            a_file("in/e.pdf", "e" * 64, num_pages=1),
        )
        store.record_page(run, a_page("the  same", 0))
        store.record_page(run, a_page("ten lettes", 1))
        store.record_page(run, a_page(None, 2))
        store.record_page(run, a_page("new words", 0, sha256=SHA_C))
        store.record_page(run, a_page("fresh", 0, sha256="e" * 64))
    return before, after


def test_pages_are_found_by_content_then_by_path(both: tuple[Path, Path]) -> None:
    found = compared((both[0], None), (both[1], None))
    assert (found["same"], found["changed"]) == (1, 3)
    assert found["most_changed"] == [
        {"path": "in/a.pdf", "page": 3, "share": 1.0, "before": "doubtful", "after": "failed"},
        {
            "path": "in/b.pdf",
            "page": 1,
            "share": pytest.approx(1 / 3, abs=0.01),
            "before": "ok",
            "after": "ok",
        },
        {"path": "in/a.pdf", "page": 2, "share": 0.1, "before": "ok", "after": "ok"},
    ]
    assert found["median_share"] == pytest.approx(1 / 3, abs=0.01)
    assert found["statuses"] == [{"before": "doubtful", "after": "failed", "pages": 1}]
    assert (found["lost"], found["new"]) == ([("in/c.pdf", 1)], [("in/e.pdf", 1)])
    assert found["stages"]["lines"] == (0.5, None)


def test_a_database_is_as_itself(both: tuple[Path, Path]) -> None:
    found = compared((both[0], None), (both[0], None))
    assert (found["same"], found["changed"], found["num_lost"], found["num_new"], found["statuses"]) == (
        5,
        0,
        0,
        0,
        [],
    )


def test_lists_are_as_long_as_asked_for_and_counts_are_of_all(both: tuple[Path, Path]) -> None:
    found = compared((both[0], None), (both[1], None), limit=1)
    assert (len(found["most_changed"]), found["changed"]) == (1, 3)
    assert found["most_changed"][0]["share"] == 1.0


def test_runs_are_what_each_of_them_read(path: Path, store: Store) -> None:
    first = new_run(store)
    store.record_page(first, a_page("one", 0))
    store.record_page(first, a_page("two", 1))
    second = new_run(store)
    store.record_page(second, a_page("one more", 0, settings_hash="settings-2"))
    found = compared((path, first), (path, second))
    assert (found["same"], found["changed"], found["num_lost"], found["num_new"]) == (0, 1, 1, 0)
    with pytest.raises(SelectionError, match="there is no run 9"):
        compared((path, first), (path, 9))
    assert found["lost"] == [("docs/a.pdf", 2)]
    assert SHA_A not in str(found)


def test_content_at_several_paths_and_pages_only_on_one_side_are_counted_once(
    both: tuple[Path, Path], tmp_path: Path
) -> None:
    third = tmp_path / "third.db"
    with Store(third) as store:
        run = new_run(store, a_file("in/a.pdf"), a_file("in/z.pdf"), a_file("in/b.pdf", SHA_B, num_pages=1))
        store.record_page(run, a_page("the same", 0))
        store.record_page(run, a_page("old words", 0, sha256=SHA_B))
    with closing(open_for_writing(str(third))) as db:
        correct(db, 1, "another text", made_by="somebody", attempt_id=1)
    found = compared((both[0], None), (third, None))
    assert (found["same"], found["changed"], found["num_new"]) == (1, 1, 0)
    assert (
        found["most_changed"][0]["path"] == "in/a.pdf"
    )  # a correction counts, though the text as read is the same
    assert found["num_lost"] == 3
    # Called by its last path there.
    assert compared((third, None), (both[0], None))["most_changed"][0]["path"] == "in/z.pdf"
