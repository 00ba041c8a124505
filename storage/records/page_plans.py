"""Plans which pages of a document to read, by their attempts in earlier runs.

A doubtful page counts as read: it is not read again under the same settings, unless failed pages are to be retried.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from storage.records.merit import FINE_RANK, RANK, Merit, merit
from storage.recovery import in_flight
from storage.types import DONE_STATUSES, FINE_STATUSES, LOST_CATEGORIES, PagePlan


def plan(
    conn: sqlite3.Connection,
    sha256: str,
    page_indices: Sequence[int],
    settings_hash: str,
    *,
    attempt_limit: int,
    force: bool = False,
    retry_failed: bool = False,
) -> PagePlan:
    """Creates the pages and sorts them into to read, done and given up, inside the caller's transaction."""
    document = document_id(conn, sha256)
    wanted = sorted(set(page_indices))
    conn.executemany(
        "INSERT INTO pages (document_id, page_index, asked) VALUES (?, ?, 1)"
        " ON CONFLICT (document_id, page_index) DO UPDATE SET asked = 1 WHERE NOT asked",
        [(document, index) for index in wanted],
    )
    if force:
        return in_flight.set_apart(conn, document, PagePlan(to_read=tuple(wanted), done=(), given_up=()))
    found, attempts = _sorted(conn, document, wanted, settings_hash, attempt_limit, retry_failed)
    _adopt(conn, [attempts[index] for index in found.done], settings_hash)
    quarantine(conn, document, found.given_up)
    in_flight.end_pages(conn, document, (*found.done, *found.given_up))
    return in_flight.set_apart(conn, document, _judged(conn, document, found))


def foresee(
    conn: sqlite3.Connection,
    sha256: str,
    page_indices: Sequence[int],
    settings_hash: str,
    *,
    attempt_limit: int,
    force: bool,
    retry_failed: bool = False,
) -> PagePlan:
    """Returns what `plan` would, without writing; all pages of an unknown document are to be read.

    In no order, and without the attempt that the next run writes for a page with which the last run died.
    """
    wanted = sorted(set(page_indices))
    row = conn.execute("SELECT id FROM documents WHERE sha256 = ?", (sha256,)).fetchone()
    if row is None or force:
        return PagePlan(to_read=tuple(wanted), done=(), given_up=())
    found, _ = _sorted(conn, int(row[0]), wanted, settings_hash, attempt_limit, retry_failed)
    return _judged(conn, int(row[0]), found)


def _sorted(
    conn: sqlite3.Connection,
    document: int,
    wanted: Sequence[int],
    settings_hash: str,
    attempt_limit: int,
    retry_failed: bool,
) -> tuple[PagePlan, dict[int, int]]:
    """Returns the pages to read, done and given up, and the attempts that count of all that are done."""
    tried, done = history_of(conn, document, settings_hash, retry_failed=retry_failed)
    open_ = [index for index in wanted if index not in done]
    given_up = [index for index in open_ if tried.get(index, 0) >= attempt_limit and not retry_failed]
    plan = PagePlan(
        to_read=tuple(sorted(set(open_) - set(given_up))),
        done=tuple(index for index in wanted if index in done),
        given_up=tuple(given_up),
    )
    return plan, done


def history_of(
    conn: sqlite3.Connection,
    document: int,
    settings_hash: str,
    page_index: int | None = None,
    *,
    retry_failed: bool = False,
) -> tuple[dict[int, int], dict[int, int]]:
    """Returns page_index -> runs that tried it under these settings, and -> the attempt that counts if it is done.

    A run's first reading has no rung; the ladder's further ones are no runs. Nor does the first that ended with the
    model lost count: other pages were computed with it. page_index: of this page alone.
    retry_failed: a doubtful reading does not count, nor a text layer that was used because reading failed.
    """
    rows = conn.execute(
        "SELECT p.page_index, a.id, a.run_id, a.status, a.confidence, a.rung IS NULL,"
        " a.error_category IN (?, ?) AND NOT EXISTS (SELECT 1 FROM attempts b WHERE b.page_id = p.id AND b.id < a.id"
        "  AND b.settings_hash = a.settings_hash AND b.error_category = a.error_category)"
        " FROM pages p JOIN attempts a ON a.page_id = p.id"
        " WHERE p.document_id = ? AND a.settings_hash = ? AND (? IS NULL OR p.page_index = ?) ORDER BY a.id",
        (*LOST_CATEGORIES, document, settings_hash, page_index, page_index),
    )
    tried: dict[int, int] = {}
    done: set[int] = set()
    best: dict[int, tuple[tuple[int, int, Merit], int]] = {}
    for index, attempt_id, run_id, status, confidence, is_first, is_first_lost in rows:
        tried[index] = tried.get(index, 0) + (is_first and not is_first_lost)
        if retry_failed and (status == "doubtful" or (status == "embedded" and not is_first)):
            continue
        if status in DONE_STATUSES:
            done.add(index)
        worth = merit(status, confidence)
        standing = (
            worth[0],
            run_id if worth[0] == FINE_RANK else 0,
            worth,
        )  # of good ones the later run's counts
        if index not in best or standing > best[index][0]:
            best[index] = standing, attempt_id
    return tried, {index: best[index][1] for index in done}


def _judged(conn: sqlite3.Connection, document: int, found: PagePlan) -> PagePlan:
    """Returns the plan with the given-up pages that have a text all the same, and the done ones that need a look."""
    if not found.given_up and not found.done:
        return found
    current = dict[int, str](
        conn.execute(
            "SELECT p.page_index, c.status FROM pages p JOIN attempts c ON c.id = p.current_attempt_id"
            " WHERE p.document_id = ?",
            (document,),
        ).fetchall()
    )
    return replace(
        found,
        kept=tuple(index for index in found.given_up if current.get(index) in FINE_STATUSES),
        doubtful=tuple(index for index in found.done if current.get(index) not in FINE_STATUSES),
    )


def _adopt(conn: sqlite3.Connection, attempt_ids: Sequence[int], settings_hash: str) -> None:
    """Makes attempts current where the current one has other settings and no higher rank."""
    ranks = " ".join(f"WHEN '{status}' THEN {rank}" for status, rank in RANK.items())
    conn.executemany(
        "UPDATE pages SET current_attempt_id = a.id, status = a.status FROM attempts a"
        " WHERE a.id = ? AND pages.id = a.page_id AND NOT EXISTS ("
        "   SELECT 1 FROM attempts c WHERE c.id = pages.current_attempt_id AND (c.settings_hash = ?"
        f"   OR CASE c.status {ranks} END > CASE a.status {ranks} END))",
        [(attempt_id, settings_hash) for attempt_id in attempt_ids],
    )


def quarantine(conn: sqlite3.Connection, document: int, page_indices: Sequence[int]) -> None:
    """Quarantines pages; their attempts stay. Leaves out those that other settings read to their end."""
    conn.executemany(
        "UPDATE pages SET status = 'quarantined' WHERE document_id = ? AND page_index = ? AND EXISTS ("
        "  SELECT 1 FROM attempts c WHERE c.id = pages.current_attempt_id AND c.status NOT IN (?, ?, ?))",
        [(document, index, *FINE_STATUSES) for index in page_indices],
    )


def document_id(conn: sqlite3.Connection, sha256: str) -> int:
    row = conn.execute("SELECT id FROM documents WHERE sha256 = ?", (sha256,)).fetchone()
    assert row is not None, f"record_file comes before the pages of {sha256}"
    return int(row[0])
