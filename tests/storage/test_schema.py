"""A new database and one brought up to date are the same; a step commits with its version, and is never edited."""

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from storage import schema
from storage.database import open_for_reading, open_for_writing
from storage.errors import DatabaseVersionError
from storage.records.store import Store
from storage.upkeep.audit import audit
from tests.storage.sample_records import a_page, new_run, rows

NAMES = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE '%sqlite%' ORDER BY type, name"
COLUMNS = """SELECT m.name, c.name, c.type, c."notnull", c.dflt_value, c.pk
    FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.name NOT LIKE '%sqlite%' ORDER BY m.name, c.cid"""
VIEWS = "SELECT name, sql FROM sqlite_master WHERE type IN ('view', 'trigger') ORDER BY name"
OLDEST = Path(__file__).with_name("schema_6.sql")  # as the first measured version of the program made it


def oldest_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(OLDEST.read_text(encoding="utf-8"))


def test_no_landed_step_was_edited() -> None:
    """A change of the schema is a new step, and a new hash here; those that are here stay."""
    landed = {
        6: "241d6086455172af90772782b95f561eca5812b5fd1a68be578a9e668a8632d9",
        7: "ed9e1118ab04d2ec3bb8a1d2dfff2bc23f5616e10511b467a8710473b1e22ca8",
        8: "596dfa40f16d4575c6c4f36d4cb16d40a7a804ac068de5528669e1b5e95d6a78",
        9: "63a0b095bf968be00ec14f30ba5cdf9058ced0befff7eeb78a49bf06fd8f4d93",
        10: "63020f408d94ffc2777891f3d1ccd202e49df3ce6f791cc3326ee5c44c015b91",
    }
    assert {
        version: hashlib.sha256(step.encode()).hexdigest() for version, step in schema.STEPS.items()
    } == landed
    assert sorted(schema.STEPS) == list(range(schema.OLDEST, schema.VERSION))


def test_the_oldest_leads_to_what_a_new_one_is(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    oldest_database(old)
    for path in (old, new):
        with Store(path) as store:
            store.record_page(new_run(store), a_page())
    for sql in (NAMES, COLUMNS, VIEWS):
        assert rows(old, sql) == rows(new, sql)
    for path in (old, new):
        assert rows(path, "PRAGMA user_version") == [(schema.VERSION,)]
        with open_for_reading(str(path)) as db:
            assert audit(db).problems == []


def test_a_reader_says_how_an_older_one_is_updated(path: Path) -> None:
    oldest_database(path)
    with pytest.raises(
        DatabaseVersionError, match=rf"version 6 is older.*\({schema.VERSION}\); update it with `ocrbatch run"
    ):
        open_for_reading(str(path))


@pytest.mark.parametrize("opener", [open_for_writing, open_for_reading])
def test_one_that_is_too_old_is_refused_untouched(path: Path, opener: Callable[[str], Database]) -> None:
    oldest_database(path)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA user_version = 5")
    content = path.read_bytes()
    with pytest.raises(DatabaseVersionError, match=r"version 5 is too old.*untouched; keep it.*another --db"):
        opener(str(path))
    assert path.read_bytes() == content


def test_a_new_database_says_whose_it_is(path: Path) -> None:
    Store(path).close()
    assert rows(path, "PRAGMA application_id") == [(0x6F637262,)]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]
    assert path.read_bytes()[68:72] == b"ocrb"


def test_opening_again_changes_nothing(path: Path) -> None:
    Store(path).close()
    content = path.read_bytes()
    Store(path).close()
    assert path.read_bytes() == content


@pytest.mark.parametrize("is_new", [True, False])
def test_a_step_that_breaks_off_leaves_no_trace(
    path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    if not is_new:
        oldest_database(path)
    whole = "SELECT type, name, sql FROM sqlite_master ORDER BY rowid"
    before = path.exists() and (rows(path, whole), rows(path, "PRAGMA application_id"))
    half = "CREATE TABLE half (x); CREATE NONSENSE;"
    monkeypatch.setattr(schema, "TABLES", schema.TABLES + half)
    last = schema.VERSION - 1
    monkeypatch.setattr(schema, "STEPS", schema.STEPS | {last: schema.STEPS[last] + half})
    with pytest.raises(Exception, match="NONSENSE"):
        open_for_writing(str(path))
    after = rows(path, whole), rows(path, "PRAGMA application_id")
    assert after == (before or ([], [(0,)]))
    monkeypatch.undo()
    open_for_writing(str(path)).close()


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO attempts (page_id, run_id, settings_hash, status, finished_at, seconds, num_tokens)"
        " VALUES (1, 1, 's', 'ok', '', 0, 0)",  # neither a text nor an error
        "UPDATE attempts SET error_category = 'x'",  # both
        "UPDATE attempts SET status = 'fine'",
        "UPDATE files SET status = 'fine'",
        "UPDATE timings SET path_use = 'maybe'",
        "INSERT INTO pages (document_id, page_index) VALUES (1, -1)",
        "INSERT INTO pages (document_id, page_index) VALUES (1, 0)",  # there already
    ],
)
def test_rows_that_make_no_sense_are_refused(store: Store, path: Path, sql: str) -> None:
    store.record_page(new_run(store), a_page())
    with closing(sqlite3.connect(path)) as conn, pytest.raises(sqlite3.IntegrityError):
        conn.execute(sql)


def test_the_index_follows_writes_of_others(store: Store, path: Path) -> None:
    store.record_page(new_run(store), a_page("wrong words"))
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("UPDATE attempts SET text = 'right words'")
        conn.commit()
        hits = "SELECT count(*) FROM page_search WHERE page_search MATCH ?"
        assert conn.execute(hits, ("wrong",)).fetchone() == (0,)
        assert conn.execute(hits, ("right",)).fetchone() == (1,)
        conn.execute("DELETE FROM pages")
        assert conn.execute(hits, ("right",)).fetchone() == (0,)


def test_attempts_stored_before_there_were_doubts_keep_all_that_is_theirs(tmp_path: Path) -> None:
    """The table is made anew: nothing that refers to an attempt may go with the old one."""
    path = tmp_path / "old.db"
    oldest_database(path)
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(
            """
            INSERT INTO runs (id, started_at, state, settings_hash, model, weights_sha256, config, versions)
            VALUES (1, 't', 'finished', 's', 'small', 'w', '{}', '{}');
            INSERT INTO documents VALUES (1, 'a', 'ok', NULL, 'pdf', 1, 1);
            INSERT INTO files VALUES (1, 'a.pdf', 1, 'ok', NULL, 1, 1);
            INSERT INTO pages (id, document_id, page_index, status, asked) VALUES (7, 1, 0, 'ok', 1);
            INSERT INTO attempts (id, page_id, run_id, settings_hash, status, finished_at, seconds, confidence,
                num_tokens, width_px, height_px, dpi, text, markdown, text_sha256, rung, rotation_deg,
                layer_agreement, script)
            VALUES (5, 7, 1, 's', 'ok', 't', 1.5, 0.25, 3, 10, 20, 72.0,
                'tea, cof-'||char(10)||'fee', '# tea', 'h', 'mode', 90, 0.5, 'Cyrl');
            INSERT INTO blocks VALUES (5, 0, 'title', 1, 2, 3, 4, 'tea', 0.5);
            INSERT INTO timings VALUES (1, 1, 5, 'render', NULL, 0.5, 0.5, 1);
            UPDATE pages SET current_attempt_id = 5;
            CREATE VIEW mine AS SELECT a.text FROM attempts a JOIN results r ON r.attempt_id = a.id;
            """
        )
        names = [row[1] for row in conn.execute("PRAGMA table_info(attempts)")]
    kept = f"SELECT {', '.join(names)} FROM attempts"
    before = rows(path, kept)
    Store(path).close()
    assert rows(path, kept) == before
    assert rows(path, "SELECT doubt FROM attempts") == [(None,)]
    assert rows(path, "SELECT attempt_id, text FROM blocks") == [(5, "tea")]
    assert rows(path, "SELECT attempt_id, stage FROM timings") == [(5, "render")]
    assert rows(path, "SELECT path, text, doubt FROM results") == [("a.pdf", "tea, cof-\nfee", None)]
    assert rows(path, "SELECT count(*) FROM mine") == [(1,)]  # what a user made stays
    for word in ("tea", "coffee"):
        assert rows(path, "SELECT rowid FROM page_search WHERE page_search MATCH ?", word) == [(7,)]
    with closing(sqlite3.connect(path)) as conn, pytest.raises(sqlite3.IntegrityError):
        conn.execute("UPDATE attempts SET status = 'doubtful'")  # which says why


def test_a_page_is_marked_once_a_run_and_alone_or_not(store: Store, path: Path) -> None:
    run_id = new_run(store)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("INSERT INTO in_flight VALUES (1, ?, 0)", (run_id,))
        for values in ((1, run_id, 1), (2, run_id, 2), (2, run_id, None), (9, run_id, 0), (2, 9, 0)):
            with pytest.raises(sqlite3.IntegrityError):
                conn.execute("INSERT INTO in_flight VALUES (?, ?, ?)", values)
