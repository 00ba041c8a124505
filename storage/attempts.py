"""Attempts at pages: which to make, how one is written, and which one is current."""

import sqlite3
import time
from collections.abc import Sequence

from storage.text import storable, text_sha256
from storage.types import DONE_STATUSES, PagePlan, PageRecord, TimingRecord

# How much an attempt is worth against another under the same settings.
_RANK = {"ok": 2, "blank": 2, "embedded": 2, "truncated": 1, "repeated": 1, "failed": 0, "quarantined": 0}


def plan(
    conn: sqlite3.Connection,
    sha256: str,
    page_indices: Sequence[int],
    settings_hash: str,
    *,
    attempt_limit: int,
    force: bool,
) -> PagePlan:
    """Creates the pages and sorts them into read, done and given up, inside the caller's transaction."""
    document = _document_id(conn, sha256)
    wanted = sorted(set(page_indices))
    conn.executemany(
        "INSERT OR IGNORE INTO pages (document_id, page_index) VALUES (?, ?)",
        [(document, index) for index in wanted],
    )
    if force:
        return PagePlan(to_read=tuple(wanted), done=(), given_up=())
    tried, done = _history(conn, document, settings_hash)
    chosen = [done[index] for index in wanted if index in done]
    _adopt(conn, chosen, settings_hash)
    open_ = [index for index in wanted if index not in done]
    return PagePlan(
        to_read=tuple(index for index in open_ if tried.get(index, 0) < attempt_limit),
        done=tuple(index for index in wanted if index in done),
        given_up=tuple(index for index in open_ if tried.get(index, 0) >= attempt_limit),
    )


def record(conn: sqlite3.Connection, run_id: int, page: PageRecord, finished_at: str, began: float) -> int:
    """Writes an attempt with all that belongs to it, inside the caller's transaction; returns its id.

    began: time.perf_counter() at the start of storing.
    """
    page_id = _page_id(conn, page)
    attempt_id = _insert_attempt(conn, run_id, page_id, page, finished_at)
    _insert_blocks(conn, attempt_id, page)
    if _is_better(conn, page_id, page):
        conn.execute(
            "UPDATE pages SET current_attempt_id = ?, status = ? WHERE id = ?",
            (attempt_id, page.status, page_id),
        )
    timings = list(page.timings)
    if all(timing.stage != "store" for timing in timings):
        seconds = time.perf_counter() - began
        timings.append(TimingRecord(stage="store", share_s=seconds, wall_s=seconds))
    _insert_timings(conn, run_id, attempt_id, timings)
    return attempt_id


def _document_id(conn: sqlite3.Connection, sha256: str) -> int:
    row = conn.execute("SELECT id FROM documents WHERE sha256 = ?", (sha256,)).fetchone()
    assert row is not None, f"record_file comes before the pages of {sha256}"
    return int(row[0])


def _history(
    conn: sqlite3.Connection, document: int, settings_hash: str
) -> tuple[dict[int, int], dict[int, int]]:
    """Returns page_index -> attempts under these settings, and -> the newest ok or blank one's id."""
    rows = conn.execute(
        "SELECT p.page_index, count(*), max(CASE WHEN a.status IN (?, ?, ?) THEN a.id END)"
        " FROM pages p JOIN attempts a ON a.page_id = p.id"
        " WHERE p.document_id = ? AND a.settings_hash = ? GROUP BY p.id",
        (*DONE_STATUSES, document, settings_hash),
    ).fetchall()
    return (
        {index: number for index, number, _ in rows},
        {index: attempt for index, _, attempt in rows if attempt is not None},
    )


def _adopt(conn: sqlite3.Connection, attempt_ids: Sequence[int], settings_hash: str) -> None:
    """Makes attempts current where the current one was made under other settings."""
    conn.executemany(
        "UPDATE pages SET current_attempt_id = a.id, status = a.status FROM attempts a"
        " WHERE a.id = ? AND pages.id = a.page_id AND NOT EXISTS ("
        "   SELECT 1 FROM attempts c WHERE c.id = pages.current_attempt_id AND c.settings_hash = ?)",
        [(attempt_id, settings_hash) for attempt_id in attempt_ids],
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


def _insert_attempt(
    conn: sqlite3.Connection, run_id: int, page_id: int, page: PageRecord, finished_at: str
) -> int:
    error, text = page.error, None if page.text is None else storable(page.text)
    values = {
        "page_id": page_id,
        "run_id": run_id,
        "settings_hash": page.settings_hash,
        "status": page.status,
        "error_stage": None if error is None else error.stage,
        "error_category": None if error is None else error.category,
        "error_message": None if error is None else storable(error.message),
        "finished_at": finished_at,
        "seconds": page.seconds,
        "confidence": page.confidence,
        "num_tokens": page.num_tokens,
        "width_px": page.width_px,
        "height_px": page.height_px,
        "dpi": page.dpi,
        "rung": page.rung,
        "source": page.source,
        "rotation_deg": page.rotation_deg,
        "layer_agreement": page.layer_agreement,
        "script": page.script,
        "text_sha256": None if text is None else text_sha256(text),
        "text": text,
        "markdown": None if page.markdown is None else storable(page.markdown),
    }
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    cursor = conn.execute(f"INSERT INTO attempts ({names}) VALUES ({marks})", values)
    return int(cursor.lastrowid or 0)


def _insert_blocks(conn: sqlite3.Connection, attempt_id: int, page: PageRecord) -> None:
    conn.executemany(
        "INSERT INTO blocks (attempt_id, block_index, label, x0_px, y0_px, x1_px, y1_px, text, confidence)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                attempt_id,
                index,
                storable(block.label),
                *(block.box_px or (None,) * 4),
                storable(block.text),
                block.confidence,
            )
            for index, block in enumerate(page.blocks)
        ],
    )


def _insert_timings(
    conn: sqlite3.Connection, run_id: int, attempt_id: int, timings: Sequence[TimingRecord]
) -> None:
    conn.executemany(
        "INSERT INTO timings (run_id, attempt_id, stage, path_use, share_s, wall_s, batch_size)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                run_id,
                attempt_id,
                timing.stage,
                timing.path_use,
                timing.share_s,
                timing.wall_s,
                timing.batch_size,
            )
            for timing in timings
        ],
    )


def _is_better(conn: sqlite3.Connection, page_id: int, page: PageRecord) -> bool:
    """Returns whether the page's new attempt takes the current one's place."""
    row = conn.execute(
        "SELECT a.settings_hash, a.status FROM pages p JOIN attempts a ON a.id = p.current_attempt_id"
        " WHERE p.id = ?",
        (page_id,),
    ).fetchone()
    if row is None or row[0] != page.settings_hash:
        return True
    return _RANK[page.status] >= _RANK[str(row[1])]
