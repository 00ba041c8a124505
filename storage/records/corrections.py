"""Stores texts that people write in place of what was read. That stays, and so does every earlier correction."""

from datetime import UTC, datetime

from sqlite_utils import Database

from storage.database import database_path, transaction
from storage.errors import CorrectionError
from storage.strings.search_lines import search_lines
from storage.strings.text import storable


def correct(
    db: Database, page_id: int, text: str, *, made_by: str, attempt_id: int, markdown: str | None = None
) -> int:
    """Stores a correction, which is the page's text from then on, also when the page is read again; returns its id.

    db: open for writing; a run may be writing at the same time. made_by: a name. attempt_id: the reading that was
    corrected. markdown: None where it is the text. Raises: CorrectionError where that reading is not the page's current
    one any more, or has no text.
    """
    text, now = storable(text), datetime.now(UTC).isoformat(timespec="milliseconds")
    markdown = text if markdown is None else storable(markdown)
    with transaction(db, database_path(db)) as conn:
        found = conn.execute(
            "SELECT a.id, a.text FROM pages p JOIN attempts a ON a.id = p.current_attempt_id WHERE p.id = ?",
            (page_id,),
        ).fetchone()
        if found is None or found[0] != attempt_id:
            raise CorrectionError("the page was read again meanwhile; look at it, then correct that text")
        if found[1] is None:
            raise CorrectionError("the page has no text to correct; read it again, with other settings")
        cursor = conn.execute(
            "INSERT INTO corrections (page_id, made_at, made_by, read_text, text, markdown, search_lines)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (page_id, now, storable(made_by), found[1], text, markdown, search_lines(text)),
        )
        number = int(cursor.lastrowid or 0)
        conn.execute("UPDATE pages SET correction_id = ? WHERE id = ?", (number, page_id))
    return number


def withdraw(db: Database, page_id: int) -> None:
    """Makes what was read the page's text again. Corrections stay in the database, none counts."""
    with transaction(db, database_path(db)) as conn:
        conn.execute("UPDATE pages SET correction_id = NULL WHERE id = ?", (page_id,))
