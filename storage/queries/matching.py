"""Matches the documents of two databases, or of two runs, on disk: ten million pages need no more memory than a few.

A document is the same on both sides if its content is; one whose content only one side has is the one at the same path
on the other.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from sqlite_utils import Database

from storage.database import database_path, explained


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two. db: open for reading. run_id: the run whose attempts are meant; None for the current texts."""

    db: Database
    run_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """A document of a side. id: in its database. place: its number in the order of the side's paths."""

    id: int
    place: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SidePage:
    """A page of a side. text_sha256: of its text; None where that has to be looked at."""

    status: str
    attempt: int | None
    text_sha256: str | None


class Matching:
    """The documents of two sides. Use `matching`, which deletes its file."""

    def __init__(self, found: sqlite3.Connection) -> None:
        self._found = found

    def pairs(self) -> Iterator[tuple[Matched, Matched | None]]:
        """Yields the first side's documents by path, each with the second side's that it is, None if there is none."""
        for *first, other, other_place, other_path in self._found.execute(_PAIRS):
            second = None if other is None else Matched(id=other, place=other_place, path=other_path)
            yield Matched(id=first[0], place=first[1], path=first[2]), second

    def only_second(self) -> Iterator[Matched]:
        """Yields the second side's documents that are none of the first side's, by path."""
        for number, place, path in self._found.execute(_ONLY_SECOND):
            yield Matched(id=number, place=place, path=path)


@contextmanager
def matching(first: Side, second: Side) -> Iterator[Matching]:
    """Yields the matching of what both sides have now: none of them changes meanwhile. Raises: StorageError."""
    with closing(sqlite3.connect("")) as found, _snapshot(first.db), _snapshot(second.db):
        found.executescript(_TABLES)
        for name, side in (("first", first), ("second", second)):
            with explained(database_path(side.db)):
                rows = side.db.conn.execute(
                    _CURRENT if side.run_id is None else _OF_RUN, {"run": side.run_id}
                )
                found.executemany(_ADD.format(side=name), rows)
        yield Matching(found)


def pages_of(side: Side, document: int) -> dict[int, SidePage]:
    """Returns a document's pages by number, from 1, in order."""
    sql = _CURRENT_PAGES if side.run_id is None else _PAGES_OF_RUN
    rows = side.db.conn.execute(sql, {"document": document, "run": side.run_id})
    return {
        page: SidePage(status=status, attempt=attempt, text_sha256=sha256)
        for page, status, attempt, sha256 in rows
    }


@contextmanager
def _snapshot(db: Database) -> Iterator[None]:
    if db.conn.in_transaction:  # both sides are one connection
        yield
        return
    with explained(database_path(db)):
        db.conn.execute("BEGIN")
    try:
        yield
    finally:
        db.conn.execute("ROLLBACK")


_TABLES = "".join(
    f"CREATE TABLE {side} (place INTEGER PRIMARY KEY, id INTEGER NOT NULL, sha256 TEXT NOT NULL UNIQUE, path TEXT);"
    f"CREATE INDEX {side}_path ON {side}(path);"
    for side in ("first", "second")
)

# Content at several paths stands where the first of them does, and is called like the last.
_ADD = """
INSERT INTO {side} (id, sha256, path) VALUES (?, ?, ?) ON CONFLICT (sha256) DO UPDATE SET path = excluded.path
"""

_PAIRS = """
SELECT f.id, f.place, f.path, s.id, s.place, s.path FROM first f LEFT JOIN second s ON s.place = coalesce(
    (SELECT place FROM second WHERE sha256 = f.sha256),
    (SELECT place FROM second o WHERE o.path = f.path AND NOT EXISTS (SELECT 1 FROM first WHERE sha256 = o.sha256)))
ORDER BY f.place
"""

_ONLY_SECOND = """
SELECT s.id, s.place, s.path FROM second s WHERE NOT EXISTS (SELECT 1 FROM first WHERE sha256 = s.sha256)
AND NOT EXISTS (
    SELECT 1 FROM first o WHERE o.path = s.path AND NOT EXISTS (SELECT 1 FROM second WHERE sha256 = o.sha256))
ORDER BY s.place
"""

_CURRENT = """
SELECT d.id, d.sha256, f.path FROM listed_files f JOIN documents d ON d.id = f.document_id
WHERE EXISTS (SELECT 1 FROM pages p WHERE p.document_id = d.id AND p.asked) ORDER BY f.path
"""

_OF_RUN = """
SELECT d.id, d.sha256, coalesce((SELECT min(path) FROM files f WHERE f.document_id = d.id), d.sha256) AS path
FROM documents d WHERE d.id IN (
    SELECT p.document_id FROM attempts a JOIN pages p ON p.id = a.page_id WHERE a.run_id = :run)
ORDER BY path
"""

# A text with a hash and no correction is the one that has the hash: reading it would touch overflow pages.
_CURRENT_PAGES = """
SELECT p.page_index + 1, p.status, a.id, iif(p.correction_id IS NULL, a.text_sha256, NULL)
FROM pages p LEFT JOIN attempts a ON a.id = p.current_attempt_id
WHERE p.document_id = :document AND p.asked ORDER BY p.page_index
"""

# Of a run's attempts at a page the one that is the page's text, else its last. CROSS JOIN and the plus keep SQLite from
# going through all of the run's attempts for each document.
_PAGES_OF_RUN = """
SELECT p.page_index + 1, a.status, a.id, a.text_sha256 FROM pages p CROSS JOIN attempts a ON a.page_id = p.id
WHERE p.document_id = :document AND +a.run_id = :run ORDER BY p.page_index, a.id = p.current_attempt_id, a.id
"""
