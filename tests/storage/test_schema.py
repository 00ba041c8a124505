"""Every version leads to the newest; a migration commits with its record."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from storage import schema
from storage.database import open_for_reading, open_for_writing
from storage.errors import DatabaseVersionError
from storage.records.store import Store
from storage.strings.content import content_sha256
from storage.strings.text import text_sha256
from storage.types import BlockRecord
from storage.upkeep.audit import audit
from tests.storage.sample_records import SETTINGS, SHA_A, a_page, new_run, rows

SCHEMA = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"


def at_version(path: Path, version: int) -> None:
    """Makes a database as the program of that schema version left it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        db = Database(conn)
        conn.execute("BEGIN")
        stop = schema.NAMES[version] if version < len(schema.NAMES) else None
        schema.migrations.apply(db, stop_before=stop)
        conn.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        conn.execute(f"PRAGMA user_version = {version}")
        conn.execute("COMMIT")


@pytest.mark.parametrize("version", range(1, len(schema.NAMES) + 1))
def test_every_version_leads_to_the_newest(tmp_path: Path, version: int) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    at_version(old, version)
    for path in (old, new):
        with Store(path) as store:
            store.record_page(new_run(store), a_page())
    assert rows(old, SCHEMA) == rows(new, SCHEMA)
    assert rows(old, "PRAGMA user_version") == [(len(schema.NAMES),)]
    assert rows(old, "PRAGMA foreign_key_check") == []
    applied = "SELECT name FROM _sqlite_migrations ORDER BY id"
    assert [name for (name,) in rows(old, applied)] == list(schema.NAMES)


def test_blocks_stored_before_there_was_a_confidence_have_none(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    at_version(path, 1)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("INSERT INTO blocks VALUES (1, 0, 'text', NULL, NULL, NULL, NULL, 'before')")
        conn.commit()
    Store(path).close()
    assert rows(path, "SELECT text, confidence FROM blocks") == [("before", None)]


def test_runs_stored_before_there_were_graphs_have_no_statistics(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    at_version(path, 2)
    run = "INSERT INTO runs VALUES (1, 't', NULL, NULL, 'finished', 0, 's', 'small', 'w', '{}', '{}', NULL)"
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(run)
        conn.commit()
    with pytest.raises(
        DatabaseVersionError, match=r"version 2 is older.*\(7\); update it with `ocrbatch run"
    ):
        open_for_reading(str(path))
    Store(path).close()
    assert rows(path, "SELECT model, encoder FROM runs") == [("small", None)]


def test_runs_stored_before_stages_were_measured_have_no_flow(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    at_version(path, 3)
    run = "INSERT INTO runs VALUES (1, 't', NULL, NULL, 'finished', 0, 's', 'small', 'w', '{}', '{}', NULL, NULL)"
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(run)
        conn.commit()
    Store(path).close()
    assert rows(path, "SELECT model, flow FROM runs") == [("small", None)]


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


def test_a_migration_that_breaks_off_leaves_no_trace(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_SEARCH", "CREATE TABLE half (x); CREATE NONSENSE;")
    with pytest.raises(Exception, match="NONSENSE"):
        open_for_writing(str(path))
    assert rows(path, SCHEMA) == []
    assert rows(path, "PRAGMA application_id") == [(0,)]
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


def test_texts_stored_before_there_were_hashes_have_one(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    at_version(path, 4)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(
            "INSERT INTO attempts (page_id, run_id, settings_hash, status, finished_at, seconds, num_tokens, text)"
            " VALUES (1, 1, 's', 'ok', 't', 0, 0, 'Été')"
        )
        conn.commit()
        conn.execute(
            "INSERT INTO attempts (page_id, run_id, settings_hash, status, finished_at, seconds, num_tokens,"
            " error_category) VALUES (1, 1, 's', 'failed', 't', 0, 0, 'timeout')"
        )
        conn.execute("INSERT INTO blocks VALUES (1, 0, 'title', 1, 2, 3, 4, 'Été', 0.5)")
        conn.commit()
    Store(path).close()
    found = rows(path, "SELECT text_sha256, source, rotation_deg, rung, script FROM attempts")
    assert found == [(text_sha256("Été"), "ocr", 0, None, None), (None, "ocr", 0, None, None)]
    content = content_sha256("Été", None, [("title", 1, 2, 3, 4, "Été")])
    assert rows(path, "SELECT content_sha256 FROM attempts") == [(content,), (None,)]


def test_pages_that_nobody_had_asked_for_get_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    at_version(path, 4)
    with closing(sqlite3.connect(path)) as conn:
        conn.executemany(
            "INSERT INTO documents (id, sha256, status, size_bytes, num_pages) VALUES (?, ?, 'ok', 1, ?)",
            [(1, "a", 4), (2, "b", 1), (3, None, 0)],
        )
        conn.executemany("INSERT INTO pages (document_id, page_index) VALUES (?, ?)", [(1, 2), (2, 0)])
        conn.commit()
    Store(path).close()
    assert rows(path, "SELECT document_id, page_index, asked FROM pages ORDER BY 1, 2") == [
        (1, 0, 0), (1, 1, 0), (1, 2, 1), (1, 3, 0), (2, 0, 1),
    ]  # fmt: skip


# What v005_ledger had at first, and what some databases were made with before it was complete.
_AT_FIRST = """
DROP VIEW results;
DROP VIEW superseded_results;
CREATE VIEW results AS
    SELECT f.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status, a.text, a.markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script,
        a.run_id, a.finished_at,
        f.id AS file_id, d.id AS document_id, p.id AS page_id, a.id AS attempt_id
    FROM listed_files f
    JOIN documents d ON d.id = f.document_id
    JOIN pages p ON p.document_id = d.id
    LEFT JOIN attempts a ON a.id = p.current_attempt_id;
ALTER TABLE attempts DROP COLUMN content_sha256;
"""
_LATER = """
DROP VIEW results;
CREATE VIEW results AS
    SELECT f.path, d.sha256, p.page_index, p.page_index + 1 AS page, p.status, a.text, a.markdown,
        a.confidence, a.num_tokens, a.seconds, a.width_px, a.height_px, a.dpi,
        a.error_stage, a.error_category, a.error_message, a.settings_hash,
        a.text_sha256, a.rung, a.source, a.rotation_deg, a.layer_agreement, a.script,
        a.run_id, a.finished_at,
        f.id AS file_id, d.id AS document_id, p.id AS page_id, a.id AS attempt_id
    FROM listed_files f
    JOIN documents d ON d.id = f.document_id
    JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id;
CREATE VIEW superseded_results AS SELECT s.path FROM superseded s;
"""
_UNASKED = "DELETE FROM pages WHERE NOT asked; ALTER TABLE pages DROP COLUMN asked;"


@pytest.mark.parametrize("lacks", [_AT_FIRST + _UNASKED, _AT_FIRST + _LATER], ids=["the first", "the second"])
def test_databases_of_the_first_ledgers_get_what_it_has_now(tmp_path: Path, lacks: str) -> None:
    path, new = tmp_path / "old.db", tmp_path / "new.db"
    for made in (path, new):
        with Store(made) as store:
            store.record_page(new_run(store), a_page("Été", blocks=(BlockRecord(label="title", text="Été"),)))
            store.plan_pages(SHA_A, [0], SETTINGS, attempt_limit=1)
    shown = "SELECT path, page, text, content_sha256 FROM results"
    before = rows(path, shown)
    assert len(before) == 1
    assert before[0][3]
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(lacks)
        conn.executescript(
            "DROP TABLE in_flight; DELETE FROM _sqlite_migrations WHERE name IN ('v006_in_flight', 'v007_doubt')"
        )
        conn.execute("PRAGMA user_version = 5")
        conn.commit()
    Store(path).close()
    assert rows(path, shown) == before
    views = "SELECT name, sql FROM sqlite_master WHERE type = 'view' ORDER BY 1"
    assert rows(path, views) == rows(new, views)
    columns = "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ORDER BY 1, 2"
    assert rows(path, columns) == rows(new, columns)
    assert rows(path, "SELECT page_index, asked FROM pages ORDER BY 1") == [(0, 1), (1, 0), (2, 0)]
    with open_for_reading(str(path)) as db:
        assert audit(db).problems == []


def test_attempts_stored_before_there_were_doubts_keep_all_that_is_theirs(tmp_path: Path) -> None:
    """The table is made anew: nothing that refers to an attempt may go with the old one."""
    path = tmp_path / "old.db"
    at_version(path, 6)
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
            VALUES (5, 7, 1, 's', 'ok', 't', 1.5, 0.25, 3, 10, 20, 72.0, 'tea', '# tea', 'h', 'mode', 90, 0.5, 'Cyrl');
            INSERT INTO blocks VALUES (5, 0, 'title', 1, 2, 3, 4, 'tea', 0.5);
            INSERT INTO timings VALUES (1, 1, 5, 'render', NULL, 0.5, 0.5, 1);
            UPDATE pages SET current_attempt_id = 5;
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
    assert rows(path, "SELECT path, text, doubt FROM results") == [("a.pdf", "tea", None)]
    assert rows(path, "SELECT rowid FROM page_search WHERE page_search MATCH 'tea'") == [(7,)]
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
