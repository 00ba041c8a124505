"""Hashes everything that was read on a page, so that later changes are detected."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable

# label, x0_px, y0_px, x1_px, y1_px (null if there is no box), text
Block = tuple[str | int | None, ...]


def content_sha256(text: str | None, markdown: str | None, blocks: Iterable[Block]) -> str | None:
    """Returns the sha256, hex, of a page's text, markdown and blocks in reading order; None if it has none.

    Hashes the JSON array [text, markdown, blocks] in UTF-8, without spaces, with escapes only where JSON needs them.
    Confidences are left out: their last digits depend on the pages read along with this one.
    """
    content = [text, markdown, list(blocks)]
    if content == [None, None, []]:
        return None
    # A value that is no longer text, in a damaged database, gets another hash and must not end the check.
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=repr)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def stored_content_sha256(
    conn: sqlite3.Connection, attempt_id: int, text: str | None, markdown: str | None
) -> str | None:
    """Returns the hash of an attempt's text and markdown with its blocks as the database holds them now."""
    return content_sha256(text, markdown, conn.execute(_BLOCKS, (attempt_id,)))


_BLOCKS = (
    "SELECT label, x0_px, y0_px, x1_px, y1_px, text FROM blocks WHERE attempt_id = ? ORDER BY block_index"
)
