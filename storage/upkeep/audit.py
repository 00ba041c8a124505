"""Checks the database's consistency: each check is one statement over all rows, and changes nothing.

It checks what the ledger promises. Every page of every document has one row; the row's status is that of its
current attempt; every text is the one that was stored, and so are its markdown and blocks; everything that belongs to
an attempt has one; the search index holds the current texts; SQLite finds its file in order.
"""

import hashlib
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlite_utils import Database

from storage.database import Row, database_path, rows, snapshot
from storage.lock import is_locked
from storage.strings.text import stored_content_sha256
from storage.types import FINE_STATUSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem found. check: the check that found it. message: what is wrong; remedy: what to do about it."""

    check: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit. checked: check -> how many rows it saw. notes: worth knowing, but no fault."""

    checked: dict[str, int]
    problems: list[Problem]
    notes: list[str]


Found = Iterator[tuple[str, str]]  # what is wrong, what to do

_RESTORE = "restore a copy of the database, or save what is left with `sqlite3 DATABASE .recover`"
_CHANGED = "another program changed the database: restore a copy"


def audit(db: Database) -> Audit:
    """Returns what every check found, from one snapshot; a run may continue meanwhile."""
    path = database_path(db)
    checked: dict[str, int] = {}
    found: list[tuple[str, str, str]] = []
    conn = db.conn
    conn.create_function(
        "sha256_of_bytes", 1, lambda content: hashlib.sha256(content).hexdigest(), deterministic=True
    )
    with snapshot(db):
        for name, (size, check) in _CHECKS.items():
            try:
                checked[name] = int(conn.execute(size).fetchone()[0])
                found += [(name, *problem) for problem in check(conn)]
            except sqlite3.DatabaseError as error:
                found.append((name, f"cannot be checked: {error}", _RESTORE))
        killed = conn.execute("SELECT id FROM runs WHERE state = 'running'").fetchall()
        notes = []
        if killed and not is_locked(path):
            notes = [
                f"run {killed[-1][0]} was killed before its end; the next `ocrbatch run` goes on from there"
            ]
    problems = [
        Problem(check=name, message=message, remedy=remedy.replace("DATABASE", shlex.quote(path)))
        for name, message, remedy in found
    ]
    return Audit(checked=checked, problems=problems, notes=notes)


def listed_files(db: Database) -> list[Row]:
    """Returns the files whose content is known and that were present when last checked, by path."""
    sql = (
        "SELECT f.path, d.sha256, d.num_pages, f.status FROM files f JOIN documents d ON d.id = f.document_id"
        " WHERE f.status <> 'missing' AND d.sha256 IS NOT NULL ORDER BY f.path"
    )
    return rows(db, sql)


def _file(conn: sqlite3.Connection) -> Found:
    for (line,) in conn.execute("PRAGMA integrity_check"):
        if line != "ok":
            yield f"SQLite finds the file damaged: {line}", _RESTORE


def _references(conn: sqlite3.Connection) -> Found:
    counts: dict[tuple[str, str], int] = {}
    for table, _, parent, _ in conn.execute("PRAGMA foreign_key_check"):
        counts[table, parent] = counts.get((table, parent), 0) + 1
    for (table, parent), number in counts.items():
        yield f"{number} rows of {table} belong to none of {parent}", _CHANGED


def _documents(conn: sqlite3.Connection) -> Found:
    for name, num_pages, found, distinct, last in conn.execute(
        f"SELECT {_NAME}, iif(d.sha256 IS NULL, 0, d.num_pages) AS expected,"
        " count(p.id) AS found, count(DISTINCT p.page_index) AS different, coalesce(max(p.page_index), -1) AS last"
        " FROM documents d LEFT JOIN pages p ON p.document_id = d.id GROUP BY d.id"
        " HAVING found <> expected OR different <> expected OR last <> expected - 1"
    ):
        gaps = "" if last < num_pages else f", the last of them for page {last + 1}"
        doubled = f", {found - distinct} of them twice" if found > distinct else ""
        remedy = (
            f"`ocrbatch run {shlex.quote(name)}` adds them"
            if found < num_pages and last < num_pages
            else _CHANGED
        )
        yield f"{name}: has {num_pages} pages, and {found} rows for them{doubled}{gaps}", remedy


def _statuses(conn: sqlite3.Connection) -> Found:
    fine = ", ".join(f"'{status}'" for status in FINE_STATUSES)
    for name, page, status, made, asked in conn.execute(
        f"SELECT {_NAME}, p.page_index + 1, p.status, a.status, p.asked FROM pages p"
        " JOIN documents d ON d.id = p.document_id LEFT JOIN attempts a ON a.id = p.current_attempt_id"
        " WHERE NOT CASE WHEN p.current_attempt_id IS NULL"
        "   THEN p.status = 'pending' AND NOT EXISTS (SELECT 1 FROM attempts other WHERE other.page_id = p.id)"
        "   WHEN a.page_id IS NOT p.id OR NOT p.asked THEN 0"
        f"   WHEN p.status = 'quarantined' THEN a.status NOT IN ({fine})"
        "   ELSE p.status = a.status END"
    ):
        attempt = "no attempt" if made is None else f"an attempt that is {made}"
        unasked = "" if asked else ", and was never asked for"
        yield (
            f"{name}, page {page}: is {status}, but has {attempt} of its own as its current one{unasked}",
            _again(name),
        )


def _texts(conn: sqlite3.Connection) -> Found:
    for attempt, what in _changed(conn).items():
        name, page, current = conn.execute(
            f"SELECT {_NAME}, p.page_index + 1, a.id = p.current_attempt_id FROM attempts a"
            " LEFT JOIN pages p ON p.id = a.page_id LEFT JOIN documents d ON d.id = p.document_id WHERE a.id = ?",
            (attempt,),
        ).fetchone()
        which = f"the {what}" if current else f"an earlier {what}"
        remedy = (
            _again(name) if current else "no export shows it, and `ocrbatch prune --db DATABASE` deletes it"
        )
        yield f"{name}, page {page}: {which} (attempt {attempt}) is not the one that was stored", remedy


def _changed(conn: sqlite3.Connection) -> dict[int, str]:
    """Returns attempt -> its part whose hash differs from the stored one: the text, else its markdown and blocks."""
    texts = conn.execute(
        "SELECT id FROM attempts WHERE text_sha256 IS NOT iif(text IS NULL, NULL, sha256_of_bytes(CAST(text AS BLOB)))"
    )
    changed = {number: "text" for (number,) in texts}
    # Bytes that are not UTF-8, in a damaged database, become what no stored text has.
    conn.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    try:
        for number, stored, *content in conn.execute(
            "SELECT id, content_sha256, text, markdown FROM attempts"
        ):
            if stored != stored_content_sha256(conn, number, *content):
                changed.setdefault(number, "markdown or a block")
    finally:
        conn.text_factory = str
    return changed


def _again(name: str) -> str:
    return f"read it again with `ocrbatch run {shlex.quote(name)} --force`, or restore a copy of the database"


def _blocks(conn: sqlite3.Connection) -> Found:
    for attempt, number, last in conn.execute(
        "SELECT attempt_id, count(*), max(block_index) FROM blocks GROUP BY attempt_id"
        " HAVING max(block_index) + 1 <> count(*) OR min(block_index) <> 0"
    ):
        yield f"attempt {attempt}: {number} blocks, the last of which is number {last + 1}", _CHANGED


def _runs(conn: sqlite3.Connection) -> Found:
    (number,) = conn.execute("SELECT count(*) FROM runs WHERE state = 'running'").fetchone()
    if number > 1:
        yield (
            f"{number} runs are marked as running, of which there can be only one",
            "`ocrbatch run` corrects it",
        )


def _search(conn: sqlite3.Connection) -> Found:
    """Checks the search index on a temporary copy: FTS5's own check writes, and would keep a run waiting."""
    conn.execute("PRAGMA query_only = OFF")  # it covers temporary tables too
    try:
        _copy_index(conn)
        conn.execute("INSERT INTO temp.checked_search (checked_search, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name == "SQLITE_FULL":
            yield "there is no room for a temporary copy", "set SQLITE_TMPDIR to a folder with more"
        elif name == "SQLITE_CORRUPT_VTAB":
            yield "it does not hold the current texts", "`ocrbatch vacuum --db DATABASE` rebuilds it"
        else:
            raise
    finally:
        conn.execute("PRAGMA query_only = ON")


def _copy_index(conn: sqlite3.Connection) -> None:
    (sql,) = conn.execute("SELECT sql FROM main.sqlite_master WHERE name = 'page_search'").fetchone()
    conn.execute("CREATE TEMP VIEW checked_text AS SELECT page_id, text, search_lines FROM main.current_text")
    conn.execute(
        sql.replace("page_search", "temp.checked_search", 1).replace("'current_text'", "'checked_text'", 1)
    )
    for part in ("data", "idx", "docsize", "config"):
        conn.execute(f"DELETE FROM temp.checked_search_{part}")
        conn.execute(f"INSERT INTO temp.checked_search_{part} SELECT * FROM main.page_search_{part}")
    # FTS5 caches what it made of an empty index until something is rolled back.
    for sql in ("SAVEPOINT copied", "ROLLBACK TO copied", "RELEASE copied"):
        conn.execute(sql)


# A document's name: one of its paths, a path that held it, or its content's hash.
_NAME = """coalesce((SELECT min(path) FROM files f WHERE f.document_id = d.id),
    (SELECT min(path) FROM superseded s WHERE s.document_id = d.id), 'content ' || substr(d.sha256, 1, 12), '?')"""

Check = Callable[[sqlite3.Connection], Found]
_CHECKS: dict[str, tuple[str, Check]] = {
    "file": ("PRAGMA page_count", _file),
    "references": ("SELECT count(*) FROM sqlite_master WHERE sql LIKE '%REFERENCES%'", _references),
    "documents": ("SELECT count(*) FROM documents", _documents),
    "pages": ("SELECT count(*) FROM pages", _statuses),
    "attempts": ("SELECT count(*) FROM attempts", _texts),
    "blocks": ("SELECT count(*) FROM blocks", _blocks),
    "search": ("SELECT count(*) FROM page_search_docsize", _search),
    "runs": ("SELECT count(*) FROM runs", _runs),
}
