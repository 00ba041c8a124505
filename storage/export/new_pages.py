"""Supplies pages in the order in which they were stored, so that an export can add those that came since."""

from collections.abc import Iterator

from sqlite_utils import Database

from storage.database import database_path, explained
from storage.export.rows import PageRow, page_row

_ATTEMPTS_A_QUERY = 1000


def new_pages(db: Database, after: int) -> Iterator[tuple[int, list[PageRow]]]:
    """Yields each attempt stored after another that is its page's current one, by number, with its page's rows.

    A page has a row for each file with its content. Only as many attempts are looked up at once as take little memory;
    a run may go on storing meanwhile.
    """
    with explained(database_path(db)):
        while found := db.conn.execute(
            "SELECT a.id, a.page_id FROM attempts a JOIN pages p ON p.id = a.page_id AND p.current_attempt_id = a.id"
            " WHERE a.id > ? ORDER BY a.id LIMIT ?",
            (after, _ATTEMPTS_A_QUERY),
        ).fetchall():
            for attempt, page_id in found:
                # Read anew meanwhile: the page comes with its new attempt.
                rows = db.query(
                    "SELECT * FROM results WHERE page_id = ? AND attempt_id = ? ORDER BY path",
                    (page_id, attempt),
                )
                yield attempt, [page_row(db, row, superseded=False, with_words=True) for row in rows]
            after = found[-1][0]


def stored_at(db: Database, attempt: int) -> str | None:
    """Returns when an attempt was stored, None where there is no such attempt."""
    with explained(database_path(db)):
        row = db.conn.execute("SELECT finished_at FROM attempts WHERE id = ?", (attempt,)).fetchone()
    return None if row is None else str(row[0])
