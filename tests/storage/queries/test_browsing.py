"""Lists come in steps that together are the whole, and say of each page what is stored."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from storage.database import Row, open_for_reading, open_for_writing
from storage.queries import browsing
from storage.queries.browsing import one_page
from storage.records.corrections import correct
from storage.records.store import Store
from tests.storage.sample_records import SHA_A, SHA_B, a_file, a_page, new_run

STATUSES = ("ok", "doubtful", "ok", "failed", "truncated", "blank", "ok")


@pytest.fixture
def db(store: Store, path: Path) -> Database:
    """Two documents: of seven pages, the last of which nobody asked for, and a copy; and of one page."""
    run = new_run(
        store,
        a_file("b.pdf", num_pages=8),
        a_file("copy.pdf", num_pages=8),
        a_file("a.pdf", SHA_B, num_pages=1),
    )
    for index, status in enumerate(STATUSES):
        store.record_page(run, a_page(
            None if status == "failed" else f"page number {index} the", index, status=status,
            doubt="some doubt" if status == "doubtful" else None,
        ))  # fmt: skip
    store.record_page(run, a_page("the only page the", sha256=SHA_B, status="repeated"))
    return open_for_reading(str(path))


def ids(db: Database, sha256: str, *indices: int) -> list[int]:
    sql = (
        "SELECT p.id FROM pages p JOIN documents d ON d.id = document_id WHERE sha256 = ? AND page_index = ?"
    )
    return [db.conn.execute(sql, (sha256, index)).fetchone()[0] for index in indices]


def all_steps(step: Callable[[int], list[Row]]) -> list[int]:
    found: list[int] = []
    while entries := step(found[-1] if found else 0):
        found += [entry["page_id"] for entry in entries]
    return found


def test_documents_come_by_path_forwards_and_backwards(db: Database) -> None:
    def paths(**key: str) -> list[str]:
        return [entry["path"] for entry in browsing.documents(db, limit=2, **key)]

    assert paths() == ["a.pdf", "b.pdf"]
    assert paths(after="b.pdf") == ["copy.pdf"]
    assert paths(before="copy.pdf") == ["a.pdf", "b.pdf"]
    assert paths(before="a.pdf") == []
    assert browsing.num_documents(db) == 3


def test_a_document_has_its_counts(db: Database) -> None:
    entry = browsing.documents(db, after="a.pdf", limit=1)[0]
    assert entry["pages"] == {"ok": 3, "blank": 1, "doubtful": 1, "truncated": 1, "failed": 1}
    assert entry["num_pages"] == 8
    assert browsing.document(db, entry["file_id"]) == entry
    assert browsing.document(db, 99) is None
    assert browsing.page_counts(db) == {**entry["pages"], "repeated": 1}


def test_pages_of_a_document_come_in_order(db: Database) -> None:
    (document,) = {
        entry["document_id"] for entry in browsing.documents(db, limit=9) if entry["path"] == "b.pdf"
    }
    assert [e["page"] for e in browsing.document_pages(db, document, first=0, limit=3)] == [1, 2, 3]
    entries = browsing.document_pages(db, document, first=3, limit=9)
    assert [e["page"] for e in entries] == [4, 5, 6, 7]
    assert (entries[0]["doubt"], entries[0]["start"]) == ("took over 60 s", None)
    assert entries[1]["start"] == "page number 4 the"


@pytest.mark.parametrize("statuses", [("ok",), browsing.LOOK_STATUSES, ("blank",), ("quarantined",)])
def test_pages_with_a_status_come_once_each(db: Database, statuses: tuple[str, ...]) -> None:
    marks = ", ".join("?" * len(statuses))
    expected = [row[0] for row in db.conn.execute(
        f"SELECT id FROM pages WHERE asked AND status IN ({marks}) ORDER BY id", statuses)]  # fmt: skip
    assert all_steps(lambda key: browsing.pages(db, statuses, after=key, limit=2)) == expected
    before = [entry["page_id"] for entry in browsing.pages(db, statuses, before=10**6, limit=2)]
    assert before == expected[-2:]


@pytest.mark.parametrize("most", [500, 3])
def test_a_search_comes_in_steps_ranked_or_not(
    db: Database, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsing, "MOST_RANKED", most)
    found: list[int] = []
    start: int | None = 0
    while start is not None:
        step = browsing.search_pages(db, "the", start=start, limit=2)
        assert step["num_hits"] == (7 if most == 500 else None)
        found += [entry["page_id"] for entry in step["entries"]]
        start = step["next_start"]
    assert sorted(found) == sorted([*ids(db, SHA_A, 0, 1, 2, 4, 5, 6), *ids(db, SHA_B, 0)])
    if most == 500:
        assert found[0] == ids(db, SHA_B, 0)[0]  # the one that has it twice
    assert [e["status"] for e in browsing.search_pages(db, "the", status="blank", limit=9)["entries"]] == [
        "blank"
    ]


def test_a_hit_shows_where_it_matches(db: Database) -> None:
    (entry,) = browsing.search_pages(db, "only", limit=9)["entries"]
    assert entry["snippet"] == "the \x02only\x03 page the"
    assert (entry["path"], entry["page"], entry["status"]) == ("a.pdf", 1, "repeated")


def test_a_star_needs_letters_before_it(db: Database) -> None:
    found = browsing.search_pages(db, "nu* th* numb*", limit=9)
    assert (found["is_without_stars"], found["num_hits"]) == (True, 0)
    found = browsing.search_pages(db, "numb*", limit=9)
    assert (found["is_without_stars"], found["num_hits"]) == (False, 6)


def test_pages_to_look_at_come_in_turn(db: Database) -> None:
    expected = [*ids(db, SHA_A, 1, 3, 4), *ids(db, SHA_B, 0)]
    at, found = None, []
    for _ in range(5):
        at = browsing.next_to_look_at(db, at)
        found.append(at)
    assert found == [*expected, expected[0]]


def test_a_corrected_page_has_been_looked_at(db: Database, path: Path) -> None:
    (number,) = ids(db, SHA_A, 1)
    attempt = db.conn.execute("SELECT current_attempt_id FROM pages WHERE id = ?", (number,)).fetchone()[0]
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("PRAGMA user_version").fetchone()
    with closing(open_for_writing(str(path))) as writing:
        correct(writing, number, "fixed", made_by="ada", attempt_id=attempt)
    assert browsing.next_to_look_at(db, None) == ids(db, SHA_A, 3)[0]
    assert [e["page_id"] for e in browsing.pages(db, ("corrected",), limit=9)] == [number]
    assert browsing.page_counts(db)["corrected"] == 1
    page = one_page(db, number)
    assert page is not None
    assert (page["text"], page["read_text"], page["corrected_by"]) == ("fixed", "page number 1 the", "ada")


def test_a_page_knows_its_files_and_neighbours(db: Database) -> None:
    numbers = ids(db, SHA_A, 0, 1, 2)
    page = one_page(db, numbers[1])
    assert page is not None
    assert (page["previous_id"], page["next_id"]) == (numbers[0], numbers[2])
    assert page["paths"] == ("b.pdf", "copy.pdf")
    assert one_page(db, 999) is None


def test_content_that_no_file_has_any_more_is_not_shown(db: Database, path: Path) -> None:
    numbers = ids(db, SHA_B, 0)
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("DELETE FROM files WHERE path = 'a.pdf'")
    assert one_page(db, numbers[0]) is None
    assert browsing.pages(db, ("repeated",), limit=9) == []
    assert browsing.search_pages(db, "only", limit=9)["entries"] == []
    assert browsing.next_to_look_at(db, ids(db, SHA_A, 4)[0]) == ids(db, SHA_A, 1)[0]
