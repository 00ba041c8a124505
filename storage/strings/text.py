"""Converts text to a form SQLite can hold: file names need not be UTF-8, and Python keeps the rest as surrogates.

Hashes everything that was read on a page, so that later changes are detected.
"""

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable

_ESCAPED_BYTE = re.compile(r"\\udc(5c|[89a-f][0-9a-f])")
_AS_IF_ESCAPED = re.compile(r"\\(?=udc[0-9a-f]{2})")


def storable(text: str) -> str:
    r"""Returns the text itself, or, where it is not valid Unicode, with lone surrogates written \udcXX."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def stored_path(path: str) -> str:
    r"""Returns the path's storable form, one for each path: a backslash that would be taken for an escape is \udc5c."""
    return storable(_AS_IF_ESCAPED.sub(r"\\udc5c", path))


def real_path(stored: str) -> str:
    r"""Returns the path that is stored so, reading \udcXX as the byte XX of its name."""
    return _ESCAPED_BYTE.sub(
        lambda match: "\\" if match[1] == "5c" else chr(0xDC00 + int(match[1], 16)), stored
    )


def text_sha256(text: str) -> str:
    """Returns the hash that the ledger keeps of a page's text: sha256 of its UTF-8, hex."""
    return hashlib.sha256(text.encode()).hexdigest()


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
