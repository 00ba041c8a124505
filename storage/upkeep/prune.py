"""Bounds the database's growth by deleting what no export shows any more. A page's current text is never deleted.

Deleted: attempts that are not current, runs that nothing refers to any more and, on request, vanished files and
superseded contents with their pages. Kept: first readings under settings that did not read the page to its end (those
of its current attempt and those of its latest), because they count towards the limit of attempts; any reading to its
end where the current attempt is none; the last one under each of the settings of the runs that are kept, which would
read the page again; and marks of pages that a run died with, and that run.
"""

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from storage.database import held_for_upkeep, number_of, transaction
from storage.types import DONE_STATUSES

# Each batch is a transaction: the log next to the database stays small, and a kill leaves whole batches.
_BATCH = 500


def prune(
    path: str,
    *,
    keep_runs: int = 0,
    older_than: timedelta | None = None,
    missing: bool = False,
    superseded: bool = False,
    dry_run: bool = False,
) -> dict[str, int]:
    """Deletes what is not needed from all runs but the last `keep_runs`, and from those started longer ago.

    missing: also files that such a run was the last to find. superseded: also contents that such a run found replaced.
    The file does not shrink; `storage.upkeep.vacuum` shrinks it. Raises: StorageError.

    Returns how many attempts, runs, files, documents (contents) and pages of these are deleted or, in a dry run, would.
    """
    before = "9" if older_than is None else (datetime.now(UTC) - older_than).isoformat()
    with held_for_upkeep(path) as db:
        conn = db.conn
        # Rows that refer to a deleted row are deleted by hand: SQLite would scan whole tables for each.
        conn.execute("PRAGMA foreign_keys = OFF")
        values = {"keep": keep_runs, "before": before, "missing": missing, "superseded": superseded}
        for name, query in _DOOMED.items():
            conn.execute(f"CREATE TEMP TABLE {name} AS {query.format(done=_DONE)}", values)
        names = ("attempts", "runs", "files", "documents", "pages")
        pruned = {name: number_of(db, f"SELECT count(*) FROM doomed_{name}") for name in names}
        if not dry_run:
            for document in _ids(conn, "doomed_documents"):
                with transaction(db, path):
                    _delete_document(conn, document)
            attempts = _ids(conn, "doomed_attempts")
            for start in range(0, len(attempts), _BATCH):
                with transaction(db, path):
                    _delete_attempts(conn, attempts[start : start + _BATCH])
            with transaction(db, path):
                for table in ("files", "runs"):
                    conn.execute(f"DELETE FROM main.{table} WHERE id IN (SELECT id FROM doomed_{table})")
    return pruned


def _ids(conn: sqlite3.Connection, table: str) -> list[int]:
    return [number for (number,) in conn.execute(f"SELECT id FROM {table} ORDER BY id")]


def _delete_document(conn: sqlite3.Connection, document: int) -> None:
    sql = "SELECT a.id FROM attempts a JOIN pages p ON p.id = a.page_id WHERE p.document_id = ?"
    attempts = [number for (number,) in conn.execute(sql, (document,))]
    conn.execute(
        "DELETE FROM in_flight WHERE page_id IN (SELECT id FROM pages WHERE document_id = ?)", (document,)
    )
    # Pages before attempts: the search index removes a page by the text of its current attempt.
    for table in ("pages", "files", "superseded"):
        conn.execute(f"DELETE FROM {table} WHERE document_id = ?", (document,))
    _delete_attempts(conn, attempts)
    conn.execute("DELETE FROM documents WHERE id = ?", (document,))


def _delete_attempts(conn: sqlite3.Connection, attempts: Sequence[int]) -> None:
    for table, column in (("blocks", "attempt_id"), ("timings", "attempt_id"), ("attempts", "id")):
        conn.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(number,) for number in attempts])


_DONE = ", ".join(f"'{status}'" for status in DONE_STATUSES)

# What is deleted, decided before anything is; each builds on those before it.
_DOOMED = {
    "old_runs": """
        SELECT id FROM runs WHERE started_at < :before
        AND id NOT IN (SELECT id FROM runs ORDER BY id DESC LIMIT :keep)""",
    "doomed_files": """
        SELECT id, document_id FROM files
        WHERE :missing AND status = 'missing' AND last_run_id IN (SELECT id FROM old_runs)""",
    "doomed_superseded": """
        SELECT path, document_id FROM superseded WHERE :superseded AND run_id IN (SELECT id FROM old_runs)""",
    "doomed_documents": """
        SELECT DISTINCT document_id AS id FROM (
            SELECT document_id FROM doomed_files UNION SELECT document_id FROM doomed_superseded)
        WHERE document_id NOT IN (SELECT document_id FROM files WHERE id NOT IN (SELECT id FROM doomed_files))
        AND document_id NOT IN (
            SELECT document_id FROM superseded s WHERE NOT EXISTS (
                SELECT 1 FROM doomed_superseded d WHERE d.path = s.path AND d.document_id = s.document_id))""",
    "doomed_pages": "SELECT id FROM pages WHERE document_id IN (SELECT id FROM doomed_documents)",
    "doomed_attempts": """
        SELECT a.id FROM attempts a WHERE a.page_id IN (SELECT id FROM doomed_pages)
        UNION SELECT a.id FROM attempts a JOIN pages p ON p.id = a.page_id
            JOIN attempts c ON c.id = p.current_attempt_id
            JOIN attempts last ON last.id = (SELECT max(id) FROM attempts WHERE page_id = p.id)
        WHERE a.id <> c.id AND a.run_id IN (SELECT id FROM old_runs)
        AND NOT (a.status IN ({done}) AND c.status NOT IN ({done}))
        AND NOT (a.rung IS NULL AND a.settings_hash IN (c.settings_hash, last.settings_hash) AND NOT EXISTS (
            SELECT 1 FROM attempts d
            WHERE d.page_id = p.id AND d.settings_hash = a.settings_hash AND d.status IN ({done})))
        AND NOT (a.status IN ({done}) AND a.settings_hash <> c.settings_hash
            AND a.settings_hash IN (SELECT settings_hash FROM runs WHERE id NOT IN (SELECT id FROM old_runs))
            AND NOT EXISTS (
                SELECT 1 FROM attempts d WHERE d.page_id = p.id AND d.settings_hash = a.settings_hash
                AND d.status IN ({done}) AND d.run_id > a.run_id
                AND (a.status = 'doubtful' OR d.status <> 'doubtful')))""",
    "doomed_runs": """
        SELECT id FROM runs WHERE id IN (SELECT id FROM old_runs) AND id <> (SELECT max(id) FROM runs)
        AND id NOT IN (SELECT run_id FROM attempts WHERE id NOT IN (SELECT id FROM doomed_attempts))
        AND id NOT IN (SELECT run_id FROM in_flight WHERE page_id NOT IN (SELECT id FROM doomed_pages))
        AND id NOT IN (SELECT first_run_id FROM files WHERE id NOT IN (SELECT id FROM doomed_files))
        AND id NOT IN (SELECT last_run_id FROM files WHERE id NOT IN (SELECT id FROM doomed_files))
        AND id NOT IN (
            SELECT run_id FROM superseded WHERE document_id NOT IN (SELECT id FROM doomed_documents))""",
}
