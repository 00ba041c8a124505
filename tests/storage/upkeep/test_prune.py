"""Only what no export shows goes; what is left is sound."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr.types import Block
from storage.database import open_for_reading
from storage.records.store import Store
from storage.recovery.in_flight import Marker
from storage.upkeep.audit import audit
from storage.upkeep.prune import prune
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

OTHER = "settings-2"
SHOWN = "SELECT path, page, status, text FROM results ORDER BY path, page"
TEXTS = "SELECT text FROM attempts ORDER BY id"


def is_sound(path: Path) -> bool:
    with open_for_reading(str(path)) as db:
        return audit(db).problems == []


def gone(**counts: int) -> dict[str, int]:
    return dict.fromkeys(("attempts", "runs", "files", "documents", "pages"), 0) | counts


def test_attempts_that_are_not_current_go_with_all_that_is_theirs(path: Path) -> None:
    with Store(path) as store:
        block = Block(label="text", text="b")
        for number in range(3):
            store.record_page(new_run(store), a_page(f"reading {number}", blocks=(block,)))
    shown = rows(path, SHOWN)
    assert prune(str(path), dry_run=True) == gone(attempts=2, runs=1)
    assert rows(path, "SELECT count(*) FROM attempts") == [(3,)]
    assert prune(str(path)) == gone(attempts=2, runs=1)
    assert rows(path, SHOWN) == shown
    assert rows(path, TEXTS) == [("reading 2",)]
    assert rows(path, "SELECT count(*) FROM blocks") == rows(path, "SELECT count(*) FROM timings") == [(1,)]
    assert rows(path, "SELECT id FROM runs") == [(1,), (3,)]  # the one that found the file, the last
    assert is_sound(path)
    assert prune(str(path)) == gone()


def test_the_last_runs_and_young_ones_are_left_alone(path: Path) -> None:
    with Store(path) as store:
        for number in range(4):
            store.record_page(new_run(store), a_page(f"reading {number}"))
        store._db.conn.execute("UPDATE runs SET started_at = '2020-01-01T00:00:00.000+00:00' WHERE id <= 2")
    assert prune(str(path), keep_runs=4)["attempts"] == 0
    assert prune(str(path), keep_runs=3, dry_run=True)["attempts"] == 1
    assert prune(str(path), older_than=timedelta(days=90), dry_run=True)["attempts"] == 2
    assert prune(str(path), keep_runs=3, older_than=timedelta(days=90))["attempts"] == 1
    assert rows(path, TEXTS) == [("reading 1",), ("reading 2",), ("reading 3",)]


def test_a_page_that_was_not_read_keeps_what_counts(path: Path) -> None:
    with Store(path) as store:
        run_id = new_run(store)
        store.record_page(run_id, a_page("whole under other settings", settings_hash=OTHER))
        store.record_page(run_id, a_page(None, settings_hash=OTHER))
        for _ in range(2):
            store.record_page(store.start_run(a_run()), a_page(None), a_page(None, rung="dense"))
        before = store.plan_pages(SHA_A, [0], SETTINGS, attempt_limit=2)
    # Gone: the failure under the settings that read it, and the ladder's two rungs, of which none is current.
    assert prune(str(path))["attempts"] == 3
    with Store(path) as store:
        assert store.plan_pages(SHA_A, [0], SETTINGS, attempt_limit=2) == before
        assert before.given_up == (0,)
        assert store.plan_pages(SHA_A, [0], OTHER, attempt_limit=2).done == (0,)
    assert is_sound(path)


def test_a_page_that_new_settings_do_not_read_is_not_read_anew_every_night(path: Path) -> None:
    """Its text is of older settings; the failures under the newest are what says that it was tried."""
    with Store(path) as store:
        store.record_page(new_run(store), a_page("old"), attempt_limit=3)
    num_read = 0
    for _ in range(6):
        with Store(path) as store:
            run_id = new_run(store)
            for _ in store.plan_pages(SHA_A, [0], OTHER, attempt_limit=3).to_read:
                first = a_page(None, settings_hash=OTHER)
                store.record_page(
                    run_id, first, a_page(None, settings_hash=OTHER, rung="dense"), attempt_limit=3
                )
                num_read += 1
        prune(str(path))
        assert rows(path, SHOWN)[0] == ("docs/a.pdf", 1, "ok", "old")
        assert is_sound(path)
    assert num_read == 3
    assert rows(path, "SELECT settings_hash, rung FROM attempts ORDER BY id") == [
        (SETTINGS, None),
        *[(OTHER, None)] * 3,
    ]
    with Store(path) as store:
        store.record_page(new_run(store), a_page("new", settings_hash=OTHER))
    assert prune(str(path))["attempts"] == 4
    assert rows(path, TEXTS) == [("new",)]


def test_two_configurations_over_the_same_files_do_not_read_them_anew_every_night(path: Path) -> None:
    with Store(path) as store:
        for settings_hash in (SETTINGS, OTHER):
            for text in ("read", "read once more"):
                run_id = new_run(store)
                store.record_page(run_id, a_page(f"{text}, {settings_hash}", settings_hash=settings_hash))
        for night in range(4):  # each finds its own reading and reads nothing
            settings_hash = (SETTINGS, OTHER)[night % 2]
            store.start_run(a_run(settings_hash=settings_hash))
            assert store.plan_pages(SHA_A, [0], settings_hash, attempt_limit=2).done == (0,)
    assert prune(str(path), keep_runs=2)["attempts"] == 2, "what was read before, with either"
    with Store(path) as store:
        assert store.plan_pages(SHA_A, [0], SETTINGS, attempt_limit=2).done == (0,)
    assert rows(path, TEXTS) == [(f"read once more, {SETTINGS}",), (f"read once more, {OTHER}",)]
    assert prune(str(path))["attempts"] == 1, "no run is kept"
    assert is_sound(path)


def test_a_text_that_an_earlier_version_of_the_program_hid_is_not_deleted(path: Path) -> None:
    with Store(path) as store:
        run_id = new_run(store)
        store.record_page(run_id, a_page("whole"))
        store.record_page(run_id, a_page(None, settings_hash=OTHER))
        store._db.conn.execute("UPDATE pages SET current_attempt_id = 2, status = 'failed' WHERE id = 1")
    assert prune(str(path))["attempts"] == 0
    with Store(path) as store:
        assert store.plan_pages(SHA_A, [0], SETTINGS, attempt_limit=2).done == (0,)
    assert rows(path, SHOWN)[0] == ("docs/a.pdf", 1, "ok", "whole")


def test_vanished_files_go_where_asked_for(path: Path) -> None:
    with Store(path) as store:
        run_id = new_run(
            store,
            a_file("/gone/a.pdf"),
            a_file("/gone/moved.pdf", SHA_B, num_pages=1),
            a_file("/gone/never.pdf", None, status="broken", num_pages=0),
        )
        store.record_page(run_id, a_page("vanished"))
        store.record_page(run_id, a_page("moved", sha256=SHA_B))
        second = store.start_run(a_run())
        mark_missing(store, second, "/gone")
        store.record_file(second, a_file("here.pdf", SHA_B, num_pages=1))
    assert prune(str(path)) == gone()
    assert prune(str(path), missing=True, keep_runs=2)["files"] == 0
    assert prune(str(path), missing=True) == gone(attempts=1, files=3, documents=2, pages=3)
    assert rows(path, "SELECT path FROM files") == [("here.pdf",)]
    assert rows(path, TEXTS) == [("moved",)]
    assert rows(path, "SELECT rowid FROM page_search WHERE page_search MATCH 'vanished'") == []
    assert is_sound(path)


def test_superseded_content_goes_where_asked_for(path: Path) -> None:
    with Store(path) as store:
        run_id = new_run(store, a_file("a.pdf"), a_file("b.pdf", SHA_B), a_file("keeps-b.pdf", SHA_B))
        store.record_page(run_id, a_page("old"))
        for name in ("a.pdf", "b.pdf"):
            store.record_file(store.start_run(a_run()), a_file(name, "c" * 64))
    assert prune(str(path), missing=True)["documents"] == 0
    assert prune(str(path), superseded=True) == gone(attempts=1, documents=1, pages=3)
    assert rows(path, "SELECT sha256 FROM documents ORDER BY 1") == [(SHA_B,), ("c" * 64,)]
    # b's former content is still at another path; that it was at b's is known until that goes as well.
    assert rows(path, "SELECT path FROM superseded") == [("b.pdf",)]
    assert is_sound(path)


KILLED = """
import os, sys
from storage.upkeep import prune
prune._BATCH = 10
real = prune._delete_attempts
def dies(conn, attempts):
    real(conn, attempts)
    if attempts[0] > 30:
        os.kill(os.getpid(), 9)
prune._delete_attempts = dies
prune.prune(sys.argv[1])
"""


@pytest.mark.slow
def test_a_kill_amid_pruning_loses_nothing(path: Path) -> None:
    with Store(path) as store:
        run_id = new_run(store)
        for number in range(60):
            store.record_page(run_id, a_page(f"reading {number}", number % 3))
    shown = rows(path, SHOWN)
    command = [sys.executable, "-c", KILLED, str(path)]
    assert subprocess.run(command, cwd=Path(__file__).parents[3], check=False).returncode == -9
    assert rows(path, "SELECT count(*) FROM attempts") == [(30,)]  # three batches are gone, the fourth is not
    assert is_sound(path)
    assert prune(str(path))["attempts"] == 27
    assert rows(path, SHOWN) == shown
    assert is_sound(path)


READINGS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["ok", "blank", "repeated", "truncated", "failed"]),
        st.sampled_from([SETTINGS, OTHER]),
        st.booleans(),
    ),
    max_size=10,
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(readings=READINGS, keep_runs=st.integers(0, 3))
def test_nothing_that_is_shown_or_planned_changes(
    tmp_path_factory: pytest.TempPathFactory,
    readings: list[tuple[int, str, str, bool]],
    keep_runs: int,
) -> None:
    path = tmp_path_factory.mktemp("prune") / "test.db"
    with Store(path) as store:
        run_id = new_run(store)
        for number, (index, status, hashed, again) in enumerate(readings):
            run_id = store.start_run(a_run()) if again else run_id
            text = None if status == "failed" else "" if status == "blank" else f"word{number}"
            store.record_page(run_id, a_page(text, index, status=status, settings_hash=hashed))
    shown, hashes = rows(path, SHOWN), dict(rows(path, "SELECT page, settings_hash FROM results"))
    with Store(path) as store:
        plans = {h: store.plan_pages(SHA_A, range(3), h, attempt_limit=2) for h in (SETTINGS, OTHER)}
    with Store(path) as store:  # planning adopts: back to what was shown
        for hashed in hashes.values():
            store.plan_pages(SHA_A, range(3), hashed, attempt_limit=2)
    shown = rows(path, SHOWN)
    newest = rows(
        path,
        "SELECT p.page_index + 1, a.settings_hash FROM pages p JOIN attempts a ON a.id = ("
        " SELECT max(id) FROM attempts WHERE page_id = p.id) WHERE p.current_attempt_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM attempts d WHERE d.page_id = p.id"
        "  AND d.settings_hash = a.settings_hash AND d.status IN ('ok', 'blank'))",
    )
    prune(str(path), keep_runs=keep_runs)
    assert rows(path, SHOWN) == shown
    assert is_sound(path)
    with Store(path) as store:
        for page, hashed in newest:
            after = store.plan_pages(SHA_A, [page - 1], hashed, attempt_limit=2)
            assert (page - 1 in after.given_up) == (page - 1 in plans[hashed].given_up)
        for page, hashed in rows(
            path, "SELECT page, settings_hash FROM results WHERE settings_hash IS NOT NULL"
        ):
            after = store.plan_pages(SHA_A, [page - 1], hashed, attempt_limit=2)
            for name in ("to_read", "done", "given_up"):
                assert (page - 1 in getattr(after, name)) == (page - 1 in getattr(plans[hashed], name))


def test_what_died_with_a_page_is_kept_as_long_as_the_page(path: Path) -> None:
    with Store(path) as store:
        store.follows_a_death = True
        run_id = new_run(store, a_file("/gone/a.pdf"), a_file("b.pdf", SHA_B, num_pages=1))
        with Marker(path) as marker:
            for pages in ([(SHA_A, 0), (SHA_B, 0)], [(SHA_A, 0)]):
                marker.begin_pages(store.start_run(a_run()), pages)
        run_id = store.start_run(a_run())
        store.record_file(run_id, a_file("b.pdf", SHA_B, num_pages=1))
        mark_missing(store, run_id, "/gone")
        store.start_run(a_run())
    assert prune(str(path))["runs"] == 0
    assert rows(path, "SELECT page_id, run_id FROM in_flight ORDER BY 1, 2") == [(1, 2), (1, 3), (4, 2)]
    assert is_sound(path)
    found = prune(str(path), missing=True, dry_run=True)
    assert prune(str(path), missing=True) == found == gone(runs=1, files=1, documents=1, pages=3)
    assert rows(path, "SELECT page_id, run_id FROM in_flight") == [(4, 2)]
    assert rows(path, "SELECT id FROM runs ORDER BY 1") == [(1,), (2,), (4,), (5,)]
    assert is_sound(path)
