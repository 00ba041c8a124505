"""Marks of the pages in the model, which tell which pages were there when the process died.

A process that is killed, by the system for lack of memory or by a fault in a library, leaves no attempt at the page
that caused it: every later run would come to the same page and die with it. So a page is marked before it goes to the
model. The mark is removed when the page reaches any end, and with a run that ends in order, which blames no page; the
lock file tells runs that could not even record their end from those that died. The marks left are those of runs that
died: each is one death with that page in the model.

A page that was there once is read after the others; one that was there more often, alone. A page that was alone when
the process died has had its try: its mark becomes a failed attempt. The other marks do not, because other pages were
in the model too, and somebody may simply have ended the process.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from storage.types import PROCESS_DIED, PageError, PageRecord


def mark(conn: sqlite3.Connection, run_id: int, pages: Sequence[tuple[str, int]], *, alone: bool) -> None:
    """Marks pages (sha256, page_index), inside the caller's transaction. alone: nothing else is in the model."""
    marked = conn.executemany(
        "INSERT OR REPLACE INTO in_flight (page_id, run_id, alone)"
        " SELECT p.id, ?, ? FROM pages p JOIN documents d ON d.id = p.document_id"
        " WHERE d.sha256 = ? AND p.page_index = ?",
        [(run_id, alone, sha256, page_index) for sha256, page_index in pages],
    )
    assert marked.rowcount == len(pages), "plan_pages comes before the marks of pages"


def unmark(conn: sqlite3.Connection, run_id: int, sha256: str, page_index: int) -> None:
    """Removes a run's mark of a page; those of earlier runs stay, as the page has not reached an end."""
    conn.execute(
        "DELETE FROM in_flight WHERE run_id = ? AND page_id = (SELECT p.id FROM pages p"
        " JOIN documents d ON d.id = p.document_id WHERE d.sha256 = ? AND p.page_index = ?)",
        (run_id, sha256, page_index),
    )


def end_page(conn: sqlite3.Connection, attempt_id: int) -> None:
    """Removes all marks of an attempt's page: it reached an end, so it does not kill processes."""
    conn.execute(
        "DELETE FROM in_flight WHERE page_id = (SELECT page_id FROM attempts WHERE id = ?)", (attempt_id,)
    )


def end_pages(conn: sqlite3.Connection, document: int, page_indices: Iterable[int]) -> None:
    """Removes all marks of pages that are not to be read: they are done, or their attempts tell enough."""
    conn.executemany(
        "DELETE FROM in_flight WHERE page_id = (SELECT id FROM pages WHERE document_id = ? AND page_index = ?)",
        [(document, index) for index in deaths(conn, document).keys() & set(page_indices)],
    )


def end_run(conn: sqlite3.Connection, run_id: int) -> None:
    """Removes the marks of a run that ended in order."""
    conn.execute("DELETE FROM in_flight WHERE run_id = ?", (run_id,))


def end_runs(conn: sqlite3.Connection) -> None:
    """Removes the marks of all runs that are still recorded as running."""
    conn.execute("DELETE FROM in_flight WHERE run_id IN (SELECT id FROM runs WHERE state = 'running')")


def deaths(conn: sqlite3.Connection, document: int) -> dict[int, int]:
    """Returns the marked pages of a document -> how many runs died with each. The current run does not count."""
    rows = conn.execute(
        "SELECT p.page_index, count(*) FROM in_flight f JOIN pages p ON p.id = f.page_id"
        " JOIN runs r ON r.id = f.run_id WHERE p.document_id = ? AND r.state = 'interrupted' GROUP BY p.id",
        (document,),
    )
    return {int(index): int(count) for index, count in rows}


def take_strikes(conn: sqlite3.Connection) -> list[tuple[int, PageRecord]]:
    """Removes the marks of pages that were alone when their run died; returns run id and attempt of each.

    Other marks of such a page stay: it has not reached an end, and they keep it behind those that died less often.
    """
    rows = conn.execute(
        "SELECT f.run_id, d.sha256, p.page_index, r.settings_hash FROM in_flight f JOIN pages p ON p.id = f.page_id"
        " JOIN documents d ON d.id = p.document_id JOIN runs r ON r.id = f.run_id"
        " WHERE f.alone AND r.state = 'interrupted' ORDER BY f.run_id, f.page_id"
    ).fetchall()
    conn.execute(
        "DELETE FROM in_flight WHERE alone AND run_id IN (SELECT id FROM runs WHERE state = 'interrupted')"
    )
    return [
        (
            run_id,
            PageRecord(
                sha256=sha256,
                page_index=page_index,
                settings_hash=settings_hash,
                status="failed",
                error=_died(run_id),
            ),
        )
        for run_id, sha256, page_index, settings_hash in rows
    ]


def _died(run_id: int) -> PageError:
    message = (
        f"the process ended while this page alone was being read (run {run_id}): "
        "killed, out of memory, or a fault in a library"
    )
    return PageError(stage="read", category=PROCESS_DIED, message=message)
