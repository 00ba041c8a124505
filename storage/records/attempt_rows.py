"""Writes an attempt's rows: itself, its blocks and its timings. The caller has a transaction and the page."""

import sqlite3
import time
from collections.abc import Sequence

from storage.strings.search_lines import search_lines
from storage.strings.text import Block, content_sha256, storable, text_sha256
from storage.types import PageRecord, StageTiming
from storage.words import packed_for


def insert_attempt(
    conn: sqlite3.Connection, run_id: int, page_id: int, page: PageRecord, finished_at: str
) -> int:
    """Writes the attempt's own row; returns its id."""
    error, text = page.error, None if page.text is None else storable(page.text)
    markdown = None if page.markdown is None else storable(page.markdown)
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
        "doubt": None if page.doubt is None else storable(page.doubt),
        "text_sha256": None if text is None else text_sha256(text),
        "content_sha256": content_sha256(text, markdown, _blocks(page)),
        "text": text,
        "markdown": markdown,
        "words": _words(page, text),
        "search_lines": None if text is None else search_lines(text),
    }
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    cursor = conn.execute(f"INSERT INTO attempts ({names}) VALUES ({marks})", values)
    return int(cursor.lastrowid or 0)


def insert_blocks(conn: sqlite3.Connection, attempt_id: int, page: PageRecord) -> None:
    """Writes the attempt's blocks, numbered from 0 in reading order."""
    conn.executemany(
        "INSERT INTO blocks (attempt_id, block_index, confidence, label, x0_px, y0_px, x1_px, y1_px, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (attempt_id, index, block.confidence, *columns)
            for index, (block, columns) in enumerate(zip(page.blocks, _blocks(page), strict=True))
        ],
    )


def _blocks(page: PageRecord) -> list[Block]:
    """Returns the stored part of the blocks, without their confidence."""
    return [
        (storable(block.label), *(block.box_px or (None,) * 4), storable(block.text)) for block in page.blocks
    ]


def _words(page: PageRecord, text: str | None) -> bytes | None:
    """Returns the words' boxes packed; None where there are none, or where the stored text has other words."""
    if page.packed_words is not None:
        return page.packed_words
    return None if text is None else packed_for(text, page.words)


def insert_timings(
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
    return ended
