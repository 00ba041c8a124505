"""Compares the pages of two databases, or of two runs in one: what changed, what is new, what is gone.

Pages are the same if their document's content and their number are; a document whose content only one side has is the
one at the same path on the other. Documents are matched on disk, and so is kept where pages differ: ten million pages
need no more memory than a few.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein
from sqlite_utils import Database

from storage.database import Row, number_of, pairs, rows, snapshot
from storage.errors import SelectionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two. db: open for reading. run_id: the run whose attempts are meant; None for the current texts."""

    db: Database
    run_id: int | None = None


def compare(before: Side, after: Side, *, limit: int = 20) -> Row:
    """Returns what two sides have in common, and what not; at most `limit` pages in each of the lists.

    Of what both sides have now: neither changes meanwhile. One document's pages are in memory at a time, and the lists.
    Raises: SelectionError for an unknown run.

    same, changed: numbers of pages on both, with the same text and with another one. median_share: of the characters
    that differ, over changed pages. most_changed: path, page (1-based), share of characters that differ (0 to 1; 1
    where one side has no text) and status before and after of the worst, worst first. statuses: status before and
    after, and number of pages, where they differ. lost, new: (path, page) of those on the first side only, or the
    second, the first of them; num_lost, num_new: how many there are. stages: stage -> mean seconds a page on each side,
    None where it did not run.
    """
    for side in (before, after):
        if side.run_id is not None and not number_of(
            side.db, "SELECT count(*) FROM runs WHERE id = ?", (side.run_id,)
        ):
            raise SelectionError(f"there is no run {side.run_id}; `ocrbatch status` lists them")
    with closing(sqlite3.connect("")) as found, snapshot(before.db), snapshot(after.db):
        found.executescript(_TABLES)
        for name, side in (("first", before), ("second", after)):
            sql = _CURRENT if side.run_id is None else _OF_RUN
            found.executemany(_ADD.format(side=name), side.db.conn.execute(sql, {"run": side.run_id}))
        num_same = 0
        for first, place, path, second, other_place, other_path in found.execute(_MATCHED):
            pages, others = _pages(before, first), _pages(after, second)
            for number, page in pages.items():
                other = others.pop(number, None)
                share = None if other is None else _difference(before, page, after, other)
                num_same += share == 0
                if share != 0 or other is None or page[0] != other[0]:
                    values = (place, number, path, page[0], None if other is None else other[0], share)
                    found.execute(_DIFFERS, values)
            for number, (status, *_) in others.items():
                found.execute(_DIFFERS, (other_place, number, other_path, None, status, None))
        stages = [_stages(side) for side in (before, after)]
        return _told(found, num_same, limit, stages)


def _told(found: sqlite3.Connection, num_same: int, limit: int, stages: list[dict[str, float]]) -> Row:
    """Returns the comparison from the pages that differ."""
    changed, num_lost, num_new = found.execute(_COUNTS).fetchone()
    middle = found.execute(_MEDIAN, (2 - changed % 2, max(0, changed - 1) // 2)).fetchone()[0]
    db = Database(found)
    return {
        "same": num_same,
        "changed": changed,
        "median_share": middle or 0.0,
        "most_changed": rows(db, _WORST, (limit,)),
        "statuses": rows(db, _STATUSES),
        "num_lost": num_lost,
        "num_new": num_new,
        "lost": found.execute(_LOST, (limit,)).fetchall(),
        "new": found.execute(_NEW, (limit,)).fetchall(),
        "stages": {name: (stages[0].get(name), stages[1].get(name)) for name in stages[0] | stages[1]},
    }


# A page's status, attempt, and the hash of its text, None where that has to be looked at.
_Page = tuple[str, int | None, str | None]


def _pages(side: Side, document: int | None) -> dict[int, _Page]:
    """Returns a document's pages by number, from 1, in order; none for no document."""
    sql = _CURRENT_PAGES if side.run_id is None else _PAGES_OF_RUN
    rows = side.db.conn.execute(sql, {"document": document, "run": side.run_id}) if document else ()
    return {number: page for number, *page in rows}


def _difference(before: Side, page: _Page, after: Side, other: _Page) -> float:
    """Returns the share of characters that differ, white space collapsed."""
    if page[2] is not None and page[2] == other[2]:
        return 0.0
    first, second = _text(before, page[1]), _text(after, other[1])
    if first is None or second is None:
        return float(first is not second)
    return float(Levenshtein.normalized_distance(" ".join(first.split()), " ".join(second.split())))


def _text(side: Side, attempt: int | None) -> str | None:
    if attempt is None:
        return None
    sql = (
        "SELECT coalesce(c.text, a.text) FROM attempts a LEFT JOIN pages p ON p.current_attempt_id = a.id"
        " LEFT JOIN corrections c ON c.id = p.correction_id WHERE a.id = ?"
        if side.run_id is None
        else "SELECT text FROM attempts WHERE id = ?"
    )
    text: str | None = side.db.conn.execute(sql, (attempt,)).fetchone()[0]
    return text


def _stages(side: Side) -> dict[str, float]:
    """Returns the mean seconds a page of every stage, in the order in which stages come."""
    which = (
        "run_id = :run" if side.run_id is not None else "attempt_id IN (SELECT current_attempt_id FROM pages)"
    )
    sql = (
        f"SELECT stage, sum(share_s) / count(DISTINCT attempt_id) FROM timings WHERE {which}"
        " GROUP BY stage ORDER BY min(id)"
    )
    return pairs(side.db, sql, {"run": side.run_id})


_TABLES = (
    "".join(
        f"CREATE TABLE {side} (place INTEGER PRIMARY KEY, id INTEGER NOT NULL, sha256 TEXT NOT NULL UNIQUE, path TEXT);"
        f"CREATE INDEX {side}_path ON {side}(path);"
        for side in ("first", "second")
    )
    + "CREATE TABLE differing (place INTEGER, page INTEGER, path TEXT, before TEXT, after TEXT, share REAL);"
)
_DIFFERS = "INSERT INTO differing VALUES (?, ?, ?, ?, ?, ?)"
_COUNTS = "SELECT count(nullif(share, 0)), count(*) - count(after), count(*) - count(before) FROM differing"
_MEDIAN = """
SELECT avg(share) FROM (SELECT share FROM differing WHERE share > 0 ORDER BY share LIMIT ? OFFSET ?)
"""

_WORST = "SELECT path, page, share, before, after FROM differing WHERE share > 0 ORDER BY share DESC, rowid LIMIT ?"
_STATUSES = """
SELECT before, after, count(*) AS pages FROM differing WHERE before <> after GROUP BY before, after
ORDER BY pages DESC, min(rowid)
"""
_LOST = "SELECT path, page FROM differing WHERE after IS NULL ORDER BY rowid LIMIT ?"
_NEW = "SELECT path, page FROM differing WHERE before IS NULL ORDER BY place, page LIMIT ?"

# Content at several paths stands where the first of them does, and is called like the last.
_ADD = """
INSERT INTO {side} (id, sha256, path) VALUES (?, ?, ?) ON CONFLICT (sha256) DO UPDATE SET path = excluded.path
"""

# The first side's documents by path, each with the second side's that it is, then those that only that has.
_MATCHED = """
SELECT f.id, f.place, f.path, s.id, s.place, s.path FROM first f LEFT JOIN second s ON s.place = coalesce(
    (SELECT place FROM second WHERE sha256 = f.sha256),
    (SELECT place FROM second o WHERE o.path = f.path AND NOT EXISTS (SELECT 1 FROM first WHERE sha256 = o.sha256)))
UNION ALL
SELECT NULL, NULL, NULL, s.id, s.place, s.path FROM second s
WHERE NOT EXISTS (SELECT 1 FROM first WHERE sha256 = s.sha256) AND NOT EXISTS (
    SELECT 1 FROM first o WHERE o.path = s.path AND NOT EXISTS (SELECT 1 FROM second WHERE sha256 = o.sha256))
ORDER BY 2 NULLS LAST, 5
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
