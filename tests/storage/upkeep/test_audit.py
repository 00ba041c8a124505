"""A sound database passes every check; each kind of damage is found by its own, and named."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ocr.types import Block
from storage.database import open_for_reading
from storage.records.store import Store
from storage.upkeep.audit import Audit, audit, listed_files
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


@pytest.fixture
def filled(path: Path) -> Path:
    with Store(path) as store:
        run_id = new_run(store, a_file(), a_file("docs/b.pdf", SHA_B, num_pages=1))
        blocks = (Block(label="title", text="Été"), Block(label="text", text="nul \0 end"))
        store.plan_pages(SHA_A, [0, 1], SETTINGS, attempt_limit=3)
        store.record_page(run_id, a_page("Été nul \0 end", blocks=blocks))
        store.record_page(run_id, a_page("part", 1, status="truncated"))
        store.record_page(run_id, a_page("whole", 1))
        for _ in range(2):
            store.record_page(run_id, a_page(None, sha256=SHA_B), attempt_limit=2)
        store.finish_run(run_id, exit_code=3, counts={})
    return path


def look(path: Path) -> Audit:
    with open_for_reading(str(path)) as db:
        return audit(db)


def test_a_sound_database_has_no_problems_and_stays_as_it_is(filled: Path) -> None:
    assert rows(filled, "SELECT status FROM pages ORDER BY id") == [
        ("ok",), ("ok",), ("pending",), ("quarantined",),
    ]  # fmt: skip
    before = filled.read_bytes()
    found = look(filled)
    assert (found.problems, found.notes) == ([], [])
    assert found.checked["documents"] == 2
    assert found.checked["pages"] == 4
    assert found.checked["attempts"] == 5
    assert found.checked["blocks"] == 2
    assert found.checked["search"] == 3
    assert filled.read_bytes() == before
    assert os.listdir(filled.parent) == [filled.name]


DAMAGE = {
    "DELETE FROM pages WHERE page_index = 2": (
        "documents",
        r"docs/a\.pdf: has 3 pages, and 2 rows for them$",
    ),
    "UPDATE pages SET page_index = 7 WHERE page_index = 2": (
        "documents",
        "3 rows .*the last of them for page 8",
    ),
    "UPDATE documents SET num_pages = 0 WHERE id = 2": ("documents", r"docs/b\.pdf: has 0 pages, and 1 rows"),
    "UPDATE pages SET status = 'failed' WHERE page_index = 1": ("pages", "page 2: is failed, .* that is ok"),
    "UPDATE pages SET status = 'ok' WHERE page_index = 2": ("pages", "page 3: is ok, but has no attempt"),
    "UPDATE pages SET status = 'quarantined' WHERE id = 1": (
        "pages",
        "page 1: is quarantined, .* that is ok",
    ),
    "UPDATE pages SET asked = 0 WHERE id = 1": ("pages", "page 1: .*never asked for"),
    "UPDATE attempts SET text = 'changed' WHERE id = 1": (
        "attempts",
        r"a\.pdf, page 1: the text \(attempt 1\)",
    ),
    "UPDATE attempts SET text = 'changed' WHERE id = 2": ("attempts", r"an earlier text \(attempt 2\)"),
    "UPDATE attempts SET text = CAST(x'ff' AS TEXT) WHERE id = 1": ("attempts", "page 1: the text"),
    "UPDATE attempts SET text_sha256 = 'x' WHERE text IS NULL AND id = 4": (
        "attempts",
        r"docs/b\.pdf, page 1",
    ),
    "UPDATE attempts SET markdown = 'changed' WHERE id = 1": (
        "attempts",
        r"page 1: the markdown or a block \(attempt 1\) is not the one that was stored",
    ),
    "UPDATE attempts SET markdown = CAST(x'ff' AS TEXT) WHERE id = 1": ("attempts", "page 1: the markdown"),
    "UPDATE attempts SET markdown = x'ff' WHERE id = 2": ("attempts", r"an earlier markdown or a block"),
    "UPDATE attempts SET markdown = 'x' WHERE id = 4": ("attempts", r"b\.pdf, page 1: the markdown"),
    "UPDATE attempts SET content_sha256 = NULL WHERE id = 1": ("attempts", "page 1: the markdown"),
    "UPDATE blocks SET text = 'changed' WHERE block_index = 1": (
        "attempts",
        "page 1: the markdown or a block",
    ),
    "UPDATE blocks SET label = 'text'": ("attempts", "page 1: the markdown or a block"),
    "UPDATE blocks SET x0_px = 0": ("attempts", "page 1: the markdown or a block"),
    "DELETE FROM blocks WHERE block_index = 1": ("attempts", "page 1: the markdown or a block"),
    "DELETE FROM blocks WHERE block_index = 0": (
        "blocks",
        "attempt 1: 1 blocks, the last of which is number 2",
    ),
    "UPDATE blocks SET attempt_id = 99": ("references", "2 rows of blocks belong to none of attempts"),
    "DELETE FROM page_search_docsize WHERE id = 1": ("search", "does not hold the current texts"),
    "INSERT INTO page_search (rowid, text) VALUES (9, 'x')": ("search", "does not hold the current texts"),
    "UPDATE runs SET state = 'running'": ("runs", "2 runs are marked as running"),
}


@pytest.mark.parametrize("sql", DAMAGE)
def test_damage_is_found_and_named(filled: Path, sql: str) -> None:
    with Store(filled) as store:
        store.finish_run(store.start_run(a_run()), exit_code=0, counts={})
    with closing(sqlite3.connect(filled)) as conn:
        conn.execute(sql)
        conn.commit()
    check, says = DAMAGE[sql]
    found = look(filled)
    assert check in {problem.check for problem in found.problems}
    with pytest.raises(AssertionError, match=says):
        raise AssertionError("\n".join(p.message for p in found.problems if p.check == check))
    assert all(problem.remedy for problem in found.problems)


def test_the_index_is_compared_with_the_texts(filled: Path) -> None:
    """Texts that change behind the triggers leave the index's own structure sound."""
    with closing(sqlite3.connect(filled)) as conn:
        conn.execute("DROP TRIGGER attempts_rewritten")
        conn.execute("UPDATE attempts SET text = 'others', text_sha256 = NULL WHERE id = 1")
        conn.commit()
    assert {problem.check for problem in look(filled).problems} == {"attempts", "search"}


def test_a_damaged_file_is_told_apart_from_wrong_rows(filled: Path) -> None:
    (root,) = rows(filled, "SELECT rootpage FROM sqlite_master WHERE name = 'attempts_run'")[0]
    with open(filled, "r+b") as file:
        file.seek((root - 1) * 4096 + 100)
        file.write(b"\xff" * 3900)
    found = look(filled)
    assert found.problems
    assert found.problems[0].check == "file"
    assert "damaged" in found.problems[0].message or "malformed" in found.problems[0].message


def test_it_can_be_checked_while_a_run_goes_on(filled: Path) -> None:
    with Store(filled) as store:
        run_id = store.start_run(a_run())
        with open_for_reading(str(filled)) as db:
            store._db.conn.execute("BEGIN IMMEDIATE")
            assert audit(db) == audit(db)
            store._db.conn.execute("ROLLBACK")
            store.record_page(run_id, a_page("more", 2))
            found = audit(db)
            assert (found.problems, found.notes, found.checked["attempts"]) == ([], [], 6)
    found = look(filled)
    assert found.problems == []
    assert found.notes == ["run 2 was killed before its end; the next `ocrbatch run` goes on from there"]


def test_listed_files_are_those_with_content_that_are_there(store: Store, path: Path) -> None:
    new_run(store, a_file("/gone/x.pdf", SHA_B), a_file("b.pdf"), a_file("a.pdf", None, status="broken"))
    mark_missing(store, store.start_run(a_run()), "/gone")
    with open_for_reading(str(path)) as db:
        assert listed_files(db) == [{"path": "b.pdf", "sha256": SHA_A, "num_pages": 3, "status": "ok"}]
