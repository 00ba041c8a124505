"""Selections by age, status, path and supersession, each alone and together."""

import io
from pathlib import Path

import pytest

from storage.database import open_for_reading, open_for_writing
from storage.errors import SelectionError
from storage.export.formats import FORMATS, export
from storage.export.rows import export_rows
from storage.export.selection import Selection, Since, parse_since, selected
from storage.records.corrections import correct
from storage.records.store import Store
from tests.storage.sample_records import SHA_A, SHA_B, a_file, a_page, a_run, new_run


@pytest.fixture
def filled(path: Path) -> Path:
    """Run 1 reads two files, run 2 another page of one and again the other, run 3 nothing."""
    with Store(path) as store:
        first = new_run(store, a_file("in/a.pdf"), a_file("in/b.pdf", SHA_B, num_pages=1))
        store.record_page(first, a_page("a1"))
        store.record_page(first, a_page("b1", sha256=SHA_B))
        store._db.conn.execute("UPDATE attempts SET finished_at = '2026-01-31T22:00:00.000+00:00'")
        store.finish_run(first, exit_code=0, counts={})
        second = store.start_run(a_run())
        store.record_page(second, a_page(None, 1))
        store.record_page(second, a_page("b1 again", sha256=SHA_B))
        store.finish_run(second, exit_code=3, counts={})
        store.finish_run(store.start_run(a_run()), exit_code=0, counts={})
    return path


def found(path: Path, selection: Selection) -> list[tuple[str, int]]:
    with open_for_reading(str(path)) as db:
        return [(row["path"], row["page"]) for row in export_rows(db, selection)]


def since(path: Path, text: str) -> list[tuple[str, int]]:
    with open_for_reading(str(path)) as db:
        return found(path, Selection(since=parse_since(db, text)))


def test_last_is_the_last_run_that_is_over_even_if_it_read_nothing(filled: Path) -> None:
    """A night without anything new exports nothing, and not once more what an earlier night read."""
    assert since(filled, "last") == []
    with Store(filled) as store:
        running = store.start_run(a_run())
        store.record_page(running, a_page("a3", 2))
        assert since(filled, "last") == []
    assert since(filled, "last") == [("in/a.pdf", 3)]  # it was killed


def test_since_a_run_and_since_a_time(filled: Path) -> None:
    assert since(filled, "1") == [("in/a.pdf", 1), ("in/a.pdf", 2), ("in/b.pdf", 1)]
    assert since(filled, "2") == [("in/a.pdf", 2), ("in/b.pdf", 1)]
    assert since(filled, "3") == []
    assert ("in/a.pdf", 1) in since(filled, "2026-01-31")
    assert ("in/a.pdf", 1) in since(filled, "2026-01-31T23:00+01:00")
    assert ("in/a.pdf", 1) not in since(filled, "2026-01-31T22:00:01")
    assert since(filled, "2999-01-01") == []


@pytest.mark.parametrize(
    ("text", "says"), [("9", "no run 9; the last is 3"), ("0", "no run 0"), ("yesterday", "2026-01-31")]
)
def test_what_names_no_run_and_no_date_is_refused(filled: Path, text: str, says: str) -> None:
    with open_for_reading(str(filled)) as db, pytest.raises(SelectionError, match=says):
        parse_since(db, text)


def test_without_a_run_nothing_is_new(store: Store, path: Path) -> None:
    store.record_file(store.start_run(a_run()), a_file())
    with open_for_reading(str(path)) as db:
        assert parse_since(db, "last") == Since(first_run=1, last_run=0)
    assert since(path, "last") == []


def test_statuses_and_paths_combine(filled: Path) -> None:
    assert found(filled, Selection(statuses=("failed",))) == [("in/a.pdf", 2)]
    assert found(filled, Selection(statuses=("ok", "failed"), wants_path=lambda path: "a" in path)) == [
        ("in/a.pdf", 1),
        ("in/a.pdf", 2),
    ]
    assert found(filled, Selection(statuses=("ok",), since=Since(first_run=2))) == [("in/b.pdf", 1)]


def test_superseded_content_is_there_only_where_asked_for(filled: Path) -> None:
    with Store(filled) as store:
        run_id = store.start_run(a_run())
        store.record_file(run_id, a_file("in/a.pdf", "c" * 64, num_pages=1))
        store.record_page(run_id, a_page("new", sha256="c" * 64))
    assert found(filled, Selection()) == [("in/a.pdf", 1), ("in/b.pdf", 1)]
    with open_for_reading(str(filled)) as db:
        rows = list(export_rows(db, Selection(superseded=True)))
        assert [(row["path"], row["page"], row["sha256"], row["superseded"]) for row in rows] == [
            ("in/a.pdf", 1, "c" * 64, False),
            ("in/a.pdf", 1, SHA_A, True),
            ("in/a.pdf", 2, SHA_A, True),
            ("in/b.pdf", 1, SHA_B, False),
        ]
        for name, mark in (("md", "# in/a.pdf (superseded)"), ("txt", "in/a.pdf, page 1 (superseded) ===")):
            stream = io.StringIO()
            assert export(db, FORMATS[name], stream, Selection(superseded=True)) == 4
            assert stream.getvalue().count(mark) == 1


def test_a_least_confidence_spares_what_has_none_and_what_was_corrected(store: Store, path: Path) -> None:
    run_id = new_run(store)
    store.record_page(run_id, a_page("sure", 0, confidence=0.9))
    store.record_page(run_id, a_page("unsure", 1, confidence=0.2))
    store.record_page(run_id, a_page("taken", 2, status="embedded", source="layer"))
    assert [page for _, page in found(path, Selection(min_confidence=0.5))] == [1, 3]
    with open_for_writing(str(path)) as db:
        correct(db, 2, "unsure!", made_by="ada", attempt_id=2)
    assert [page for _, page in found(path, Selection(min_confidence=0.5))] == [1, 2, 3]


@pytest.mark.parametrize("view", ["results", "superseded_results"])
@pytest.mark.parametrize("analyzed", [False, True])
def test_no_selection_makes_sqlite_sort(store: Store, path: Path, view: str, analyzed: bool) -> None:
    run_id = new_run(store, *(a_file(f"{number}.pdf", f"{number:064}") for number in range(50)))
    for number in range(50):
        store.record_page(run_id, a_page(sha256=f"{number:064}"))
        store.record_file(run_id, a_file(f"{number}.pdf", f"{number + 100:064}"))
    if analyzed:
        store._db.conn.execute("ANALYZE")
    chosen = Selection(since=Since(first_run=1, last_run=9, time="2026"), statuses=("ok", "failed"))
    with open_for_reading(str(path)) as db:
        statements: list[str] = []
        db.conn.set_trace_callback(statements.append)
        list(selected(db, view, chosen))
        db.conn.set_trace_callback(None)
        (statement,) = [text for text in statements if f"FROM {view}" in text]
        plan = db.conn.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    assert "TEMP B-TREE" not in str(plan), plan
