"""Files and the content behind them: links a path to its document, and notices when it goes missing."""

import os
import sqlite3
from collections.abc import Iterable
from typing import Any

from storage.strings.text import real_path, storable, stored_path
from storage.strings.urls import is_url
from storage.types import FileRecord


def record(conn: sqlite3.Connection, run_id: int, file: FileRecord) -> None:
    """Writes the file's row, its document's and one for each of its pages, inside the caller's transaction.

    Content that was at the path before is marked superseded until the path holds it again.
    """
    path = stored_path(file.path)
    reason = None if file.reason is None else storable(file.reason)
    row = conn.execute("SELECT document_id FROM files WHERE path = ?", (path,)).fetchone()
    known = None if row is None else int(row[0])
    document = _document(conn, file, reason, known)
    conn.execute(
        "INSERT INTO files (path, document_id, status, reason, first_run_id, last_run_id, stamp)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET document_id = excluded.document_id,"
        " status = excluded.status, reason = excluded.reason, last_run_id = excluded.last_run_id,"
        " stamp = excluded.stamp",
        (path, document, file.status, reason, run_id, run_id, file.stamp),
    )
    _make_pages(conn, document)
    conn.execute("DELETE FROM superseded WHERE path = ? AND document_id = ?", (path, document))
    if known is not None and known != document:
        conn.execute(
            "INSERT OR REPLACE INTO superseded (path, document_id, run_id)"
            " SELECT ?, id, ? FROM documents WHERE id = ? AND sha256 IS NOT NULL",
            (path, run_id, known),
        )
        # A document without content belongs to one file only, which no longer needs it once it is readable.
        conn.execute("DELETE FROM documents WHERE id = ? AND sha256 IS NULL", (known,))


def known(conn: sqlite3.Connection, path: str, stamp: str) -> dict[str, Any] | None:
    """Returns what is known of the readable file at a path if it had this stamp when it was last looked into.

    Its sha256, kind, num_pages, size_bytes and reason, as in FileRecord.
    """
    row = conn.execute(
        "SELECT d.sha256, d.kind, d.num_pages, d.size_bytes, f.reason"
        " FROM files f JOIN documents d ON d.id = f.document_id"
        " WHERE f.path = ? AND f.stamp = ? AND f.status = 'ok' AND d.status = 'ok' AND d.sha256 IS NOT NULL",
        (stored_path(path), stamp),
    ).fetchone()
    names = ("sha256", "kind", "num_pages", "size_bytes", "reason")
    return None if row is None else dict(zip(names, row, strict=True))


def found_again(conn: sqlite3.Connection, run_id: int, path: str) -> None:
    """Notes that a run found a known file, inside the caller's transaction."""
    conn.execute("UPDATE files SET last_run_id = ? WHERE path = ?", (run_id, stored_path(path)))


def _document(conn: sqlite3.Connection, file: FileRecord, reason: str | None, known: int | None) -> int:
    """Returns the id of the document with this content, created or brought up to date."""
    values = (file.status, reason, file.kind, file.size_bytes, file.num_pages)
    if file.sha256 is None and known is not None:
        return known
    if file.sha256 is not None:
        conn.execute(
            # The same content may be inspected under several names and at bad times: what an inspection did not
            # find out (kind, pages) keeps the value of an earlier one.
            "INSERT INTO documents (sha256, status, reason, kind, size_bytes, num_pages)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (sha256) DO UPDATE SET status = excluded.status,"
            " reason = excluded.reason, kind = coalesce(excluded.kind, kind),"
            " size_bytes = excluded.size_bytes, num_pages = max(excluded.num_pages, num_pages)",
            (file.sha256, *values),
        )
        row = conn.execute("SELECT id FROM documents WHERE sha256 = ?", (file.sha256,)).fetchone()
        return int(row[0])
    cursor = conn.execute(
        "INSERT INTO documents (status, reason, kind, size_bytes, num_pages) VALUES (?, ?, ?, ?, ?)", values
    )
    return int(cursor.lastrowid or 0)


def _make_pages(conn: sqlite3.Connection, document: int) -> None:
    """Creates a row for every page of the document, pending and not asked for yet."""
    num_pages, rows = conn.execute(
        "SELECT iif(sha256 IS NULL, 0, num_pages), (SELECT count(*) FROM pages WHERE document_id = documents.id)"
        " FROM documents WHERE id = ?",
        (document,),
    ).fetchone()
    if rows < num_pages:
        conn.executemany(
            "INSERT OR IGNORE INTO pages (document_id, page_index) VALUES (?, ?)",
            ((document, index) for index in range(num_pages)),
        )


def gone(files: Iterable[tuple[int, str]]) -> list[int]:
    """Returns the ids of those of the files (id, path) that are known to be gone.

    Needs no database, and may block for ever if a file server does not answer: for a thread that nothing waits for.
    """
    return [file_id for file_id, path in files if not _is_there(path)]


def is_under(path: str, top: str) -> bool:
    """Returns whether a stored path is a root or below it, as pipeline.ingest.walk.canonical returns that."""
    if is_url(path) or is_url(top):
        return path == top or (is_url(top) and path.startswith(top.rstrip("/") + "/"))
    return os.path.abspath(path) == top or os.path.abspath(path).startswith(os.path.join(top, ""))


def _is_there(path: str) -> bool:
    """Returns False only for a file that is known to be gone: a folder that may not be entered proves nothing.

    An object of a store counts as there; pipeline.ingest.objects.object_walk asks the store.
    """
    if is_url(path):
        return True
    try:
        os.stat(real_path(path))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True
