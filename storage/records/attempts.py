"""Writes attempts at pages, and points each page at its best one (storage.records.merit)."""

import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from storage.records.merit import FINE_RANK, RANK, Merit, first_settings, merit
from storage.records.page_plans import document_id, history_of, quarantine
from storage.strings.search_lines import search_lines
from storage.strings.text import Block, content_sha256, storable, text_sha256
from storage.types import DONE_STATUSES, PageRecord, StageTiming
from storage.words import packed_for

# Columns that hold what the record has under the same name.
_AS_THEY_ARE = (
    "settings_hash", "status", "seconds", "confidence", "num_tokens", "width_px", "height_px", "dpi", "rung", "source",
    "rotation_deg", "layer_agreement", "script",
)  # fmt: skip


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
        ids.append(_insert_attempt(conn, run_id, page_id, attempt, finished_at))
        began = _insert_timings(conn, run_id, ids[-1], attempt.timings, began)
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
    attempt_id = _insert_attempt(conn, run_id, page_id, page, finished_at)
    _insert_timings(conn, run_id, attempt_id, page.timings, began)
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


def _insert_attempt(
    conn: sqlite3.Connection, run_id: int, page_id: int, page: PageRecord, finished_at: str
) -> int:
    """Writes an attempt with its blocks; returns its id."""
    error, text = page.error, None if page.text is None else storable(page.text)
    markdown = None if page.markdown is None else storable(page.markdown)
    words = page.packed_words
    if words is None and text is not None:
        words = packed_for(text, page.words)
    blocks: list[Block] = [
        (storable(block.label), *(block.box_px or (None,) * 4), storable(block.text)) for block in page.blocks
    ]
    values = {name: getattr(page, name) for name in _AS_THEY_ARE} | {
        "page_id": page_id,
        "run_id": run_id,
        "error_stage": None if error is None else error.stage,
        "error_category": None if error is None else error.category,
        "error_message": None if error is None else storable(error.message),
        "finished_at": finished_at,
        "doubt": None if page.doubt is None else storable(page.doubt),
        "text_sha256": None if text is None else text_sha256(text),
        "content_sha256": content_sha256(text, markdown, blocks),
        "text": text,
        "markdown": markdown,
        "words": words,
        "search_lines": None if text is None else search_lines(text),
    }
    marks = ", ".join(f":{name}" for name in values)
    cursor = conn.execute(f"INSERT INTO attempts ({', '.join(values)}) VALUES ({marks})", values)
    attempt_id = int(cursor.lastrowid or 0)
    confidences = (block.confidence for block in page.blocks)
    _insert_blocks(conn, attempt_id, zip(confidences, blocks, strict=True))
    return attempt_id


def _insert_blocks(
    conn: sqlite3.Connection, attempt_id: int, blocks: Iterable[tuple[float | None, Block]]
) -> None:
    """Writes an attempt's blocks, numbered from 0 in reading order. blocks: confidence, and what is hashed."""
    conn.executemany(
        "INSERT INTO blocks (attempt_id, block_index, confidence, label, x0_px, y0_px, x1_px, y1_px, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(attempt_id, index, confidence, *block) for index, (confidence, block) in enumerate(blocks)],
    )


def _insert_timings(
    conn: sqlite3.Connection, run_id: int, attempt_id: int, timings: Sequence[StageTiming], began: float
) -> float:
    """Writes the timings, adding the time since `began` as "store" unless it is there; returns when it ended."""
    ended = time.perf_counter()
    if all(timing.stage != "store" for timing in timings):
        timings = (*timings, StageTiming(stage="store", share_s=ended - began, wall_s=ended - began))
    conn.executemany(
        "INSERT INTO timings (run_id, attempt_id, stage, path_use, share_s, wall_s, batch_size)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (run_id, attempt_id, one.stage, one.path_use, one.share_s, one.wall_s, one.batch_size)
            for one in timings
        ],
    )
    return ended
