"""Writes attempts at pages, and points each page at its best one (storage.records.merit)."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from storage.records.attempt_rows import insert_attempt, insert_blocks, insert_timings
from storage.records.merit import FINE_RANK, RANK, Merit, first_settings, merit
from storage.records.page_plans import document_id, history_of, quarantine
from storage.types import DONE_STATUSES, PageRecord


def record(
    conn: sqlite3.Connection,
    run_id: int,
    attempts: Sequence[PageRecord],
    finished_at: str,
    began: float,
    attempt_limit: int | None = None,
) -> int:
    """Writes a run's attempts at one page with all that belongs to them, inside the caller's transaction.

    Returns the id of the best of them. began: time.perf_counter() at the start of storing. attempt_limit: quarantines a
    page that this many runs did not read to its end, unless it has such a text; None: never.
    """
    page = attempts[0]
    assert len({(a.sha256, a.page_index, a.settings_hash) for a in attempts}) == 1, "attempts at one page"
    page_id = _page_id(conn, page)
    ids = []
    for attempt in attempts:
        ids.append(insert_attempt(conn, run_id, page_id, attempt, finished_at))
        insert_blocks(conn, ids[-1], attempt)
        began = insert_timings(conn, run_id, ids[-1], attempt.timings, began)
    best = max(range(len(ids)), key=lambda number: _merit(attempts[number]))
    _point(conn, page_id, ids[best], attempts[best])
    _forget_first(conn, page_id, page.settings_hash)
    if attempt_limit is not None and not any(attempt.status in DONE_STATUSES for attempt in attempts):
        document = document_id(conn, page.sha256)
        tried, done = history_of(conn, document, page.settings_hash, page.page_index)
        if not done and tried[page.page_index] >= attempt_limit:
            quarantine(conn, document, [page.page_index])
    return ids[best]


def record_first(
    conn: sqlite3.Connection, run_id: int, page: PageRecord, finished_at: str, began: float
) -> bool:
    """Writes a first reading while another is under way, inside the caller's transaction; record() removes it again.

    Returns whether it was kept: not if the page has a text that was read to its end. began: as for record().
    """
    page_id = _page_id(conn, page)
    settings_hash, page = page.settings_hash, replace(page, settings_hash=first_settings(page.settings_hash))
    current = conn.execute(
        "SELECT a.status FROM pages p JOIN attempts a ON a.id = p.current_attempt_id WHERE p.id = ?",
        (page_id,),
    ).fetchone()
    if current is not None and RANK[current[0]] == FINE_RANK:
        return False
    attempt_id = insert_attempt(conn, run_id, page_id, page, finished_at)
    insert_blocks(conn, attempt_id, page)
    insert_timings(conn, run_id, attempt_id, page.timings, began)
    _point(conn, page_id, attempt_id, page)
    _forget_first(conn, page_id, settings_hash)
    return True


def _forget_first(conn: sqlite3.Connection, page_id: int, settings_hash: str) -> None:
    """Deletes the first readings of a page that was since read to its end, except one that counts."""
    conn.execute(
        "DELETE FROM attempts WHERE page_id = ? AND settings_hash = ? AND id <>"
        " (SELECT current_attempt_id FROM pages WHERE id = ?)",
        (page_id, first_settings(settings_hash), page_id),
    )


def quarantined(conn: sqlite3.Connection, run_id: int, most: int) -> tuple[int, list[tuple[str, int]]]:
    """Returns how many pages of the files that a run found are quarantined, and the first: path, page number."""
    found = (
        "FROM files f JOIN pages p ON p.document_id = f.document_id"
        " WHERE f.last_run_id = ? AND p.status = 'quarantined'"
    )
    count = conn.execute(f"SELECT count(DISTINCT p.id) {found}", (run_id,)).fetchone()[0]
    rows = conn.execute(
        f"SELECT min(f.path) AS path, p.page_index + 1 {found} GROUP BY p.id ORDER BY path, p.page_index LIMIT ?",
        (run_id, most),
    )
    return int(count), [(str(path), int(number)) for path, number in rows]


def _merit(page: PageRecord) -> Merit:
    return merit(page.status, page.confidence)


def _point(conn: sqlite3.Connection, page_id: int, attempt_id: int, attempt: PageRecord) -> None:
    """Makes a run's best attempt current, unless the current one is better; ends the page's quarantine."""
    if _is_better(conn, page_id, attempt):
        conn.execute(
            "UPDATE pages SET current_attempt_id = ?, status = ?, asked = 1 WHERE id = ?",
            (attempt_id, attempt.status, page_id),
        )
    else:
        conn.execute(
            "UPDATE pages SET status = (SELECT status FROM attempts WHERE id = current_attempt_id) WHERE id = ?",
            (page_id,),
        )


def _page_id(conn: sqlite3.Connection, page: PageRecord) -> int:
    select = (
        "SELECT p.id FROM pages p JOIN documents d ON d.id = p.document_id"
        " WHERE d.sha256 = ? AND p.page_index = ?"
    )
    row = conn.execute(select, (page.sha256, page.page_index)).fetchone()
    if row is not None:
        return int(row[0])
    document = document_id(conn, page.sha256)
    cursor = conn.execute(
        "INSERT INTO pages (document_id, page_index) VALUES (?, ?)", (document, page.page_index)
    )
    return int(cursor.lastrowid or 0)


def _is_better(conn: sqlite3.Connection, page_id: int, page: PageRecord) -> bool:
    """Returns whether a run's best attempt replaces the current one."""
    row = conn.execute(
        "SELECT a.settings_hash, a.status, a.confidence"
        " FROM pages p JOIN attempts a ON a.id = p.current_attempt_id WHERE p.id = ?",
        (page_id,),
    ).fetchone()
    if row is None:
        return True
    old, new = merit(row[1], row[2]), _merit(page)
    if row[0] == first_settings(page.settings_hash) and page.status != "failed":
        return True  # it was one of these attempts, as far as was known of it then
    if row[0] != page.settings_hash:
        return new[0] >= old[0]
    return new > old or new[0] == old[0] == FINE_RANK
