"""Attempts at pages: chooses which to make, writes them, and decides which one is current.

The rule for attempts under the same settings: a page read to its end ("ok", "blank", "embedded") beats one that is
doubtful, was cut short or repeats itself, and that beats a failed one. Within a rank the higher confidence wins, and
any confidence beats none; of equals the earlier. A trusted text layer counts as certain. A page that was read to its
end is read again only when forced, and then the later run's attempt counts. A doubtful text and one cut short have the
same rank, because the confidence covers what is missing too: more is right of half a page at 0.9 than of a whole one at
0.1.

A doubtful page counts as read: it is not read again under the same settings, unless failed pages are to be retried.

Confidences under different settings cannot be compared: an attempt under others replaces the current one unless that
has a higher of these three ranks. So the text of a page that new settings cannot read stays, with the settings it was
made under; the page is tried under the new ones up to their own limit, and then given up without being quarantined.

A first reading is stored at once while a better one is under way, under settings of its own (first_settings): it counts
neither as done nor as tried, so that a killed run leaves its text, and the next run reads the page to its end. The
final reading replaces it, even if that is in doubt; only a failure does not.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from storage.records.attempt_rows import insert_attempt, insert_blocks, insert_timings
from storage.recovery import in_flight
from storage.recovery.suspects import set_apart
from storage.types import DONE_STATUSES, FINE_STATUSES, LOST_CATEGORIES, PagePlan, PageRecord

_RANK = {"ok": 2, "blank": 2, "embedded": 2, "doubtful": 1, "truncated": 1, "repeated": 1, "failed": 0}
_FINE_RANK = 2
# Confidence of an attempt without one, which may have no text: any other with a text ranks above it, however doubtful.
_NO_CONFIDENCE = -1.0

Merit = tuple[int, float]


def merit(status: str, confidence: float | None) -> Merit:
    """Returns an attempt's merit: its rank, and what decides between attempts under the same settings."""
    if status == "embedded":
        return _FINE_RANK, 1.0
    return _RANK[status], _NO_CONFIDENCE if confidence is None else confidence


def plan(
    conn: sqlite3.Connection,
    sha256: str,
    page_indices: Sequence[int],
    settings_hash: str,
    *,
    attempt_limit: int,
    force: bool,
    retry_failed: bool = False,
) -> PagePlan:
    """Creates the pages and sorts them into to read, done and given up, inside the caller's transaction."""
    document = _document_id(conn, sha256)
    wanted = sorted(set(page_indices))
    conn.executemany(
        "INSERT INTO pages (document_id, page_index, asked) VALUES (?, ?, 1)"
        " ON CONFLICT (document_id, page_index) DO UPDATE SET asked = 1 WHERE NOT asked",
        [(document, index) for index in wanted],
    )
    if force:
        return set_apart(conn, document, PagePlan(to_read=tuple(wanted), done=(), given_up=()))
    history = _history(conn, document, settings_hash, retry_failed=retry_failed)
    found = _sorted(wanted, history, attempt_limit, retry_failed)
    _adopt(conn, [history[1][index] for index in found.done], settings_hash)
    _quarantine(conn, document, found.given_up)
    in_flight.end_pages(conn, document, (*found.done, *found.given_up))
    return set_apart(conn, document, _judged(conn, document, found))


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
    document = int(row[0])
    history = _history(conn, document, settings_hash, retry_failed=retry_failed)
    found = _sorted(wanted, history, attempt_limit, retry_failed)
    return _judged(conn, document, found)


def _sorted(
    wanted: Sequence[int],
    history: tuple[dict[int, int], dict[int, int]],
    attempt_limit: int,
    retry_failed: bool,
) -> PagePlan:
    tried, done = history
    open_ = [index for index in wanted if index not in done]
    given_up = [index for index in open_ if tried.get(index, 0) >= attempt_limit and not retry_failed]
    return PagePlan(
        to_read=tuple(sorted(set(open_) - set(given_up))),
        done=tuple(index for index in wanted if index in done),
        given_up=tuple(given_up),
    )


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
    if attempt_limit is not None:
        document = _document_id(conn, page.sha256)
        tried, done = _history(conn, document, page.settings_hash, page.page_index)
        if not done and tried[page.page_index] >= attempt_limit:
            _quarantine(conn, document, [page.page_index])
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
    if current is not None and _RANK[current[0]] == _FINE_RANK:
        return False
    attempt_id = insert_attempt(conn, run_id, page_id, page, finished_at)
    insert_blocks(conn, attempt_id, page)
    insert_timings(conn, run_id, attempt_id, page.timings, began)
    _point(conn, page_id, attempt_id, page)
    _forget_first(conn, page_id, settings_hash)
    return True


def first_settings(settings_hash: str) -> str:
    """Returns the settings hash of a reading that is not the last one under these settings."""
    return f"{settings_hash}+first"


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


def _document_id(conn: sqlite3.Connection, sha256: str) -> int:
    row = conn.execute("SELECT id FROM documents WHERE sha256 = ?", (sha256,)).fetchone()
    assert row is not None, f"record_file comes before the pages of {sha256}"
    return int(row[0])


def _history(
    conn: sqlite3.Connection,
    document: int,
    settings_hash: str,
    page_index: int | None = None,
    *,
    retry_failed: bool = False,
) -> tuple[dict[int, int], dict[int, int]]:
    """Returns page_index -> runs that tried it under these settings, and -> the attempt that counts if it is done.

    A run's first reading has no rung; the ladder's further ones are no runs. Nor does the first that ended with the
    model lost count: other pages were computed beside it. page_index: of this page alone.
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
        worth = _standing(run_id, merit(status, confidence))
        if index not in best or worth > best[index][0]:
            best[index] = worth, attempt_id
    return tried, {index: best[index][1] for index in done}


def _standing(run_id: int, worth: Merit) -> tuple[int, int, Merit]:
    """Returns what decides between attempts of several runs: of good ones the later run's counts."""
    return worth[0], run_id if worth[0] == _FINE_RANK else 0, worth


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
    ranks = " ".join(f"WHEN '{status}' THEN {rank}" for status, rank in _RANK.items())
    conn.executemany(
        "UPDATE pages SET current_attempt_id = a.id, status = a.status FROM attempts a"
        " WHERE a.id = ? AND pages.id = a.page_id AND NOT EXISTS ("
        "   SELECT 1 FROM attempts c WHERE c.id = pages.current_attempt_id AND (c.settings_hash = ?"
        f"   OR CASE c.status {ranks} END > CASE a.status {ranks} END))",
        [(attempt_id, settings_hash) for attempt_id in attempt_ids],
    )


def _quarantine(conn: sqlite3.Connection, document: int, page_indices: Sequence[int]) -> None:
    """Quarantines pages; their attempts stay. Leaves out those that other settings read to their end."""
    conn.executemany(
        "UPDATE pages SET status = 'quarantined' WHERE document_id = ? AND page_index = ? AND EXISTS ("
        "  SELECT 1 FROM attempts c WHERE c.id = pages.current_attempt_id AND c.status NOT IN (?, ?, ?))",
        [(document, index, *FINE_STATUSES) for index in page_indices],
    )


def _page_id(conn: sqlite3.Connection, page: PageRecord) -> int:
    select = (
        "SELECT p.id FROM pages p JOIN documents d ON d.id = p.document_id"
        " WHERE d.sha256 = ? AND p.page_index = ?"
    )
    row = conn.execute(select, (page.sha256, page.page_index)).fetchone()
    if row is not None:
        return int(row[0])
    document = _document_id(conn, page.sha256)
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
    return new > old or new[0] == old[0] == _FINE_RANK
