"""A second run costs nothing, and a retry never hides a text."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.database import open_for_reading
from storage.queries.search import search
from storage.records.merit import merit
from storage.records.page_plans import foresee
from storage.records.store import Store
from storage.types import DONE_STATUSES, LOST_CATEGORIES, PageError, PagePlan, PageRecord
from storage.upkeep.audit import audit
from tests.storage.sample_records import SETTINGS, SHA_A, SHA_B, a_file, a_page, new_run, rows

OTHER = "settings-2"


def plan(store: Store, settings_hash: str = SETTINGS, *, force: bool = False, limit: int = 2) -> PagePlan:
    return store.plan_pages(SHA_A, range(3), settings_hash, attempt_limit=limit, force=force)


def current(path: Path) -> list[tuple[str, str | None]]:
    sql = (
        "SELECT p.status, a.text FROM pages p LEFT JOIN attempts a ON a.id = p.current_attempt_id WHERE asked"
    )
    return rows(path, sql + " ORDER BY p.page_index")


def found(path: Path, word: str) -> list[int]:
    with open_for_reading(str(path)) as db:
        return [hit["page"] for hit in search(db, word)]


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
    assert plan(store, OTHER).to_read == (0, 1, 2)
    assert plan(store, force=True) == PagePlan(to_read=(0, 1, 2), done=(), given_up=())


@pytest.mark.parametrize("category", LOST_CATEGORIES)
def test_pages_that_were_computed_when_the_model_was_lost_are_read_alone(
    store: Store, path: Path, category: str
) -> None:
    lost = replace(a_page(None), error=PageError(stage="encode", category=category, message="lost"))

    def record(*indices: int) -> None:
        run_id = new_run(store)
        for index in indices:
            store.record_page(run_id, replace(lost, page_index=index), attempt_limit=1)

    record(0, 2)
    expected = PagePlan(to_read=(0, 1, 2), done=(), given_up=(), alone={0: 1, 2: 1})
    assert plan(store, limit=1) == plan(store, OTHER) == plan(store, force=True) == expected
    assert current(path) == [("failed", None), ("pending", None), ("failed", None)], "others were beside it"
    record(2)
    assert current(path)[2] == ("quarantined", None), "nothing was beside it this time"
    assert plan(store, limit=1).alone == {0: 1}
    assert plan(store, force=True).alone == {0: 1, 2: 2}
    store.record_page(new_run(store), a_page(None))
    assert plan(store).alone == {2: 2}, "the latest attempt had another end"


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
    assert current(path)[0][0] == "quarantined"


def test_every_page_has_a_row_and_those_asked_for_are_marked(store: Store, path: Path) -> None:
    new_run(store)
    found = "SELECT page_index, status, asked FROM pages ORDER BY 1"
    assert rows(path, found) == [(0, "pending", 0), (1, "pending", 0), (2, "pending", 0)]
    assert store.plan_pages(SHA_A, [2, 0, 2], SETTINGS, attempt_limit=1).to_read == (0, 2)
    assert rows(path, found) == [(0, "pending", 1), (1, "pending", 0), (2, "pending", 1)]
    assert rows(path, "SELECT page FROM results ORDER BY 1") == [(1,), (3,)]
    assert store.plan_pages(SHA_A, [1], SETTINGS, attempt_limit=1).to_read == (1,)
    assert rows(path, "SELECT count(*), sum(asked) FROM pages") == [(3, 3)]


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
    store.record_page(run_id, a_page("second", settings_hash=OTHER, confidence=0.1))
    assert current(path) == [("ok", "second")]
    assert found(path, "first") == []
    assert plan(store).done == (0,)
    assert current(path)[0] == ("ok", "first")
    assert found(path, "first") == [1]
    assert rows(path, "SELECT count(*) FROM attempts") == [(2,)]


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("ok", "failed", "ok"),
        ("blank", "truncated", "blank"),
        ("embedded", "repeated", "embedded"),
        ("truncated", "failed", "truncated"),
        ("ok", "blank", "blank"),
        ("truncated", "repeated", "repeated"),
        ("failed", "failed", "failed"),
        ("failed", "truncated", "truncated"),
    ],
)
def test_other_settings_hide_nothing_that_was_read_further(
    store: Store, path: Path, old: str, new: str, kept: str
) -> None:
    """Confidences under different settings are not compared: they are not the same measure."""
    for status, settings_hash, confidence in ((old, SETTINGS, 0.9), (new, OTHER, 0.1)):
        page = a_page(
            None if status == "failed" else f"text{settings_hash}",
            status=status,
            settings_hash=settings_hash,
            confidence=confidence,
        )
        store.record_page(new_run(store), page)
    assert rows(path, "SELECT status, settings_hash FROM results WHERE page = 1") == [
        (kept, OTHER if kept == new else SETTINGS)
    ]
    assert rows(path, "SELECT status FROM attempts ORDER BY id") == [(old,), (new,)]


def test_a_page_that_new_settings_do_not_read_is_given_up_and_keeps_its_text(
    store: Store, path: Path
) -> None:
    """Not set aside, as its text is good; nor read anew every night, nor shown under settings it is not of."""
    store.record_page(new_run(store), a_page("old"), attempt_limit=2)
    for _ in range(2):
        assert plan(store, OTHER).to_read == (0, 1, 2)
        run_id = new_run(store)
        store.record_page(run_id, a_page(None, settings_hash=OTHER), attempt_limit=2)
        assert current(path)[0] == ("ok", "old")
    for _ in range(2):
        assert plan(store, OTHER) == PagePlan(to_read=(1, 2), done=(), given_up=(0,), kept=(0,))
        assert current(path)[0] == ("ok", "old")
    assert plan(store) == PagePlan(to_read=(1, 2), done=(0,), given_up=())
    assert store.quarantined(run_id, 5) == (0, [])
    assert found(path, "old") == [1]
    with open_for_reading(str(path)) as db:
        assert audit(db).problems == []
        again = {"attempt_limit": 2, "force": False, "retry_failed": True}
        assert foresee(db.conn, SHA_A, [0], OTHER, attempt_limit=2, force=False).kept == (0,)
        assert foresee(db.conn, SHA_A, [0], OTHER, **again).to_read == (0,)
    store.record_page(new_run(store), a_page("new", settings_hash=OTHER), attempt_limit=2)
    assert current(path)[0] == ("ok", "new")
    assert plan(store, OTHER).done == (0,)


def test_a_page_cut_short_under_other_settings_is_set_aside_with_what_it_has(
    store: Store, path: Path
) -> None:
    store.record_page(new_run(store), a_page("part", status="truncated"), attempt_limit=1)
    assert current(path) == [("quarantined", "part")]
    store.record_page(new_run(store), a_page(None, settings_hash=OTHER), attempt_limit=2)
    assert current(path) == [("truncated", "part")], "it is tried again"
    store.record_page(new_run(store), a_page(None, settings_hash=OTHER), attempt_limit=2)
    assert current(path) == [("quarantined", "part")]
    assert plan(store, OTHER) == PagePlan(to_read=(1, 2), done=(), given_up=(0,))


STATUSES = ["ok", "blank", "doubtful", "repeated", "truncated", "failed"]
CURRENT = "SELECT page_index, p.status, a.status FROM pages p JOIN attempts a ON a.id = p.current_attempt_id"
READINGS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(STATUSES), st.sampled_from([SETTINGS, OTHER])), max_size=12
)


@pytest.mark.slow
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
            doubt = "of something" if status == "doubtful" else None
            store.record_page(run_id, a_page(text, index, status=status, settings_hash=hashed, doubt=doubt))
        planned = plan(store)
        assert sorted(planned.to_read + planned.done + planned.given_up) == [0, 1, 2]
        for index in range(3):
            here = [status for at, status, hashed in readings if (at, hashed) == (index, SETTINGS)]
            done = any(status in DONE_STATUSES for status in here)
            assert (index in planned.done) == done
            assert (index in planned.given_up) == (not done and len(here) >= 2)
        for index, status, made in rows(path, CURRENT):
            best = max(merit(status, None) for at, status, _ in readings if at == index)
            assert merit(made, None) == best, "no text was hidden by a worse one"
            assert status == ("quarantined" if index in planned.given_up and best[0] < 2 else made)
        texts = rows(path, "SELECT page_id, text FROM current_text WHERE text LIKE '%common%' ORDER BY 1")
        hits = "SELECT rowid, text FROM page_search WHERE page_search MATCH 'common' ORDER BY rowid"
        assert rows(path, hits) == texts
        store._db.conn.execute("INSERT INTO page_search(page_search) VALUES ('rebuild')")
        assert rows(path, hits) == texts


def tries(*wanted: tuple[str, float | None]) -> list[PageRecord]:
    """Attempts of one run at page 1: the first reading, then rung by rung."""
    return [
        a_page(
            None if status == "failed" else f"text{number}",
            status=status,
            confidence=confidence,
            rung=f"rung{number}" if number else None,
            doubt="of something" if status == "doubtful" else None,
        )
        for number, (status, confidence) in enumerate(wanted)
    ]


@pytest.mark.parametrize(
    ("attempts", "best"),
    [
        ([("repeated", 0.9), ("ok", 0.2), ("ok", 0.4), ("ok", 0.4)], 2),
        ([("failed", None), ("truncated", 0.1), ("failed", None)], 1),
        ([("truncated", 0.5), ("repeated", 0.5)], 0),
        ([("ok", 0.3), ("blank", None)], 0),
        ([("ok", 0.3), ("embedded", None)], 1),
        ([("failed", None), ("failed", None)], 0),
        ([("doubtful", 0.9), ("ok", 0.1)], 1),
        ([("doubtful", 0.1), ("truncated", 0.9), ("doubtful", 0.3)], 1),
        ([("truncated", 0.1), ("doubtful", 0.3), ("repeated", 0.3)], 1),
        ([("doubtful", None), ("doubtful", 0.0)], 1),
        ([("failed", None), ("doubtful", None)], 1),
        ([("doubtful", 0.3), ("embedded", None)], 1),
    ],
)
def test_the_best_of_a_run_s_attempts_is_kept_and_all_are_stored(
    store: Store, path: Path, attempts: list[tuple[str, float | None]], best: int
) -> None:
    run_id = new_run(store)
    made = store.record_page(run_id, *tries(*attempts))
    expected = [
        (None if number == 0 else f"rung{number}", status) for number, (status, _) in enumerate(attempts)
    ]
    assert rows(path, "SELECT rung, status FROM attempts ORDER BY id") == expected
    assert rows(path, "SELECT current_attempt_id FROM pages WHERE page_index = 0") == [(made,)]
    assert rows(path, "SELECT id FROM attempts ORDER BY id")[best] == (made,)
    assert rows(path, "SELECT count(*) FROM timings WHERE stage = 'store'") == [(len(attempts),)]


def a_doubtful(
    text: str = "garbage", confidence: float | None = 0.1, settings_hash: str = SETTINGS
) -> PageRecord:
    return a_page(text, status="doubtful", doubt="why", confidence=confidence, settings_hash=settings_hash)


def test_a_doubtful_page_counts_as_read_until_somebody_asks_for_it(store: Store, path: Path) -> None:
    for _ in range(3):
        store.record_page(new_run(store), a_doubtful(), attempt_limit=2)
        assert plan(store) == PagePlan(to_read=(1, 2), done=(0,), given_up=(), doubtful=(0,))
    assert current(path)[0] == ("doubtful", "garbage"), "and is not set aside"
    again = store.plan_pages(SHA_A, range(1), SETTINGS, attempt_limit=2, retry_failed=True)
    assert again == PagePlan(to_read=(0,), done=(), given_up=())
    store.record_page(new_run(store), a_doubtful("worse", 0.05))
    store.record_page(new_run(store), a_page(None))
    assert current(path)[0] == ("doubtful", "garbage"), "a retry hides no text"
    store.record_page(new_run(store), a_page("read"))
    assert current(path)[0] == ("ok", "read")
    assert plan(store).doubtful == ()
    store.record_page(new_run(store), a_doubtful("forced"))
    assert current(path)[0] == ("ok", "read")


def test_a_page_cut_short_whose_whole_is_garbage_keeps_its_half(store: Store, path: Path) -> None:
    """It is not read again: the settings have said all they can. Nor does it pass for fine."""
    half = a_page("the upper half", status="truncated", confidence=0.9)
    store.record_page(new_run(store), half, replace(a_doubtful(), rung="mode"))
    assert current(path) == [("truncated", "the upper half")]
    assert plan(store) == PagePlan(to_read=(1, 2), done=(0,), given_up=(), doubtful=(0,))


def test_a_doubtful_text_never_takes_the_place_of_one_that_other_settings_read(
    store: Store, path: Path
) -> None:
    store.record_page(new_run(store), a_page("read", confidence=0.9))
    store.record_page(new_run(store), a_doubtful(settings_hash=OTHER))
    for _ in range(2):
        assert current(path)[0] == ("ok", "read")
        assert plan(store, OTHER) == PagePlan(to_read=(1, 2), done=(0,), given_up=()), (
            "read under them, in doubt"
        )
    store.record_page(new_run(store), a_page("later", settings_hash="settings-3", confidence=0.9))
    assert plan(store).done == (0,)
    assert current(path)[0] == ("ok", "read"), "the best under the settings that are used again"
    store.record_page(new_run(store), a_doubtful("forced"))
    assert plan(store, "settings-3").done == plan(store).done == (0,)
    assert current(path)[0] == ("ok", "read"), "not the latest, which is doubtful"
    with open_for_reading(str(path)) as db:
        assert audit(db).problems == []


def test_a_page_doubtful_under_other_settings_is_set_aside_with_its_text(store: Store, path: Path) -> None:
    store.record_page(new_run(store), a_doubtful())
    store.record_page(new_run(store), a_page(None, settings_hash=OTHER), attempt_limit=1)
    assert current(path)[0] == ("quarantined", "garbage")
    assert plan(store, OTHER, limit=1) == PagePlan(to_read=(1, 2), done=(), given_up=(0,))
    with open_for_reading(str(path)) as db:
        assert audit(db).problems == []
    assert plan(store) == PagePlan(to_read=(1, 2), done=(0,), given_up=(), doubtful=(0,))


def test_runs_are_counted_and_not_rungs(store: Store, path: Path) -> None:
    for number in range(2):
        store.record_page(new_run(store), *tries(("repeated", 0.4), ("repeated", 0.3)), attempt_limit=2)
        assert current(path)[0][0] == ("quarantined" if number else "repeated")
    assert plan(store).given_up == (0,)


def test_a_quarantined_page_keeps_its_text_and_comes_back_when_asked_for(store: Store, path: Path) -> None:
    for _ in range(2):
        store.record_page(new_run(store), a_page("part", status="truncated", confidence=0.7), attempt_limit=2)
    assert current(path) == [("quarantined", "part")]
    assert rows(path, "SELECT DISTINCT status FROM attempts") == [("truncated",)]
    retried = store.plan_pages(SHA_A, range(1), SETTINGS, attempt_limit=2, retry_failed=True)
    assert retried == PagePlan(to_read=(0,), done=(), given_up=())
    store.record_page(new_run(store), a_page("worse", status="truncated", confidence=0.6), attempt_limit=2)
    assert current(path) == [("quarantined", "part")]
    store.record_page(new_run(store), a_page("whole"), attempt_limit=2)
    assert current(path) == [("ok", "whole")]
    assert plan(store).done == (0,)


def test_a_page_set_aside_under_other_settings_is_read_and_listed_as_it_is(store: Store, path: Path) -> None:
    store.record_page(new_run(store), a_page(None), attempt_limit=1)
    run_id = new_run(store)
    assert store.quarantined(run_id, 5) == (1, [("docs/a.pdf", 1)])
    assert plan(store, OTHER).to_read == (0, 1, 2)
    store.record_page(run_id, a_page("read", settings_hash=OTHER), attempt_limit=1)
    assert store.quarantined(run_id, 5) == (0, [])
    assert plan(store, limit=1).given_up == (0,), "still, under these settings"
    assert current(path)[0] == ("ok", "read")


def test_the_summary_names_the_first_quarantined_pages_once(store: Store) -> None:
    store.record_page(new_run(store), a_page(None, 2), attempt_limit=1)
    run_id = new_run(store, a_file("docs/b.pdf"), a_file("docs/a.pdf"))
    store.record_page(run_id, a_page(None, 0), attempt_limit=1)
    assert store.quarantined(run_id, 1) == (2, [("docs/a.pdf", 1)])
    assert store.quarantined(new_run(store, a_file("c.pdf", SHA_B)), 1) == (0, [])


def test_a_failure_in_one_of_the_attempts_leaves_none(store: Store, path: Path) -> None:
    odd = replace(tries(("ok", 0.5))[0], status="no such status", rung="odd")
    with pytest.raises((sqlite3.IntegrityError, KeyError)):
        store.record_page(new_run(store), *tries(("repeated", 0.5)), odd)
    assert rows(path, "SELECT count(*) FROM attempts") == [(0,)]


def first_reading(store: Store, run_id: int, text: str = "the first word", **changes: object) -> bool:
    return store.record_first(run_id, replace(a_page(text, 0), **changes))


def attempts_of(path: Path) -> list[tuple[str, str | None]]:
    return rows(path, "SELECT settings_hash, text FROM attempts ORDER BY id")


def test_a_first_reading_is_there_at_once_and_the_page_still_to_be_read(store: Store, path: Path) -> None:
    assert first_reading(store, new_run(store))
    plan(store)
    assert current(path)[0] == ("ok", "the first word")
    assert found(path, "first") == [1]
    assert plan(store).to_read == (0, 1, 2), "a run that is killed now leaves it to the next one"
    with open_for_reading(str(path)) as db:
        assert audit(db).problems == []


def test_of_first_readings_the_better_one_is_kept(store: Store, path: Path) -> None:
    run_id = new_run(store)
    first_reading(store, run_id, "likely wrong", status="doubtful", doubt="low", confidence=0.2)
    assert first_reading(store, run_id, "likely right", status="doubtful", doubt="low", confidence=0.3)
    assert [text for _, text in attempts_of(path)] == ["likely right"]
    assert found(path, "wrong") == []


@pytest.mark.parametrize("run_ends", [True, False])
def test_what_is_read_in_the_end_takes_the_first_readings_place(
    store: Store, path: Path, run_ends: bool
) -> None:
    run_id = new_run(store)
    first_reading(store, run_id)
    store.record_page(run_id if run_ends else new_run(store), a_page("better", 0))
    assert attempts_of(path) == [(SETTINGS, "better")], "as if nothing had been kept before"
    assert (found(path, "first"), found(path, "better")) == ([], [1])
    assert 0 in plan(store).done


def test_a_page_that_is_doubtful_in_the_end_does_not_stay_ok(store: Store, path: Path) -> None:
    run_id = new_run(store)
    first_reading(store, run_id)
    store.record_page(
        run_id, replace(a_page("the first word", 0), status="doubtful", doubt="half of it is missing")
    )
    assert current(path)[0] == ("doubtful", "the first word")
    assert len(attempts_of(path)) == 1
    assert 0 in plan(store).done


def test_a_page_that_fails_in_the_end_keeps_its_first_reading(store: Store, path: Path) -> None:
    run_id = new_run(store)
    first_reading(store, run_id)
    store.record_page(run_id, a_page(None, 0))
    plan(store)
    assert current(path)[0] == ("ok", "the first word")
    assert 0 in plan(store).to_read


def test_a_page_given_up_keeps_its_first_reading(store: Store, path: Path) -> None:
    """As one that every run dies of while it is read again, alone."""
    first_reading(store, new_run(store))
    for _ in range(2):
        store.record_page(new_run(store), a_page(None, 0), attempt_limit=2)
    planned = plan(store, limit=2)
    assert (planned.given_up, planned.kept) == ((0,), (0,))
    assert current(path)[0] == ("ok", "the first word")


def test_a_first_reading_hides_no_text_that_was_read_to_its_end(store: Store, path: Path) -> None:
    store.record_page(new_run(store), a_page("old", 0))
    assert not first_reading(store, new_run(store))
    assert current(path)[0] == ("ok", "old")
