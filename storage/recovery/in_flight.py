"""Marks of the pages in the model, which tell which pages were there when the process died.

A process that is killed, by the system for lack of memory or by a fault in a library, leaves no attempt at the page
that caused it: every later run would come to the same page and die with it. So a page is marked before it goes to the
model. The mark is removed when the page reaches any end, and with a run that ends in order, which blames no page; the
lock file tells runs that could not even record their end from those that died. The marks left are those of runs that
died: each is one death with that page in the model.

A page that was there once is read after the others, together; one that was there more often, alone, so that only the
one that causes it gets a failed attempt. A page that was alone when the process died has had its try: its mark becomes
a failed attempt. The other marks do not, because other pages were in the model too, and somebody may simply have ended
the process.
"""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from storage.database import open_beside, transaction
from storage.types import LOST_CATEGORIES, PROCESS_DIED, PageError, PagePlan, PageRecord

_DIED = (
    "the process ended while this page alone was being read (run {}): "
    "killed, out of memory, or a fault in a library"
)


class Marker:
    """Marks pages through a connection of its own: the model waits for each mark, not for all results.

    For a database that a Store has open, which is closed after this; for use in the thread that opened it.
    """

    def __init__(self, path: str | Path) -> None:
        """Opens the connection. Raises: DatabaseAccessError."""
        self._path = os.fspath(path)
        self._db = open_beside(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. Closing twice is fine."""
        self._db.close()

    def begin_pages(self, run_id: int, pages: Sequence[tuple[str, int]], *, alone: bool = False) -> None:
        """Marks pages (sha256, page_index) as being read, in one transaction.

        alone: no other page is in the model. The marks outlive this process from here on, which is their purpose. A
        power cut may lose the last of them: with synchronous=NORMAL a commit does not wait for the disk, except the
        first into a log that starts again.
        """
        with transaction(self._db, self._path) as conn:
            mark(conn, run_id, pages, alone=alone)

    def end_run(self, run_id: int) -> None:
        """Removes the marks of a run that is ending in order: if it dies doing so, no page is the cause."""
        with transaction(self._db, self._path) as conn:
            end_run(conn, run_id)


def mark(conn: sqlite3.Connection, run_id: int, pages: Sequence[tuple[str, int]], *, alone: bool) -> None:
    """Marks pages inside the caller's transaction; see Marker.begin_pages."""
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


def set_apart(conn: sqlite3.Connection, document: int, plan: PagePlan) -> PagePlan:
    """Returns the plan with pages to be read last, and pages to be read alone, set apart from the others to read."""
    lost, died = _lost(conn, document), deaths(conn, document)
    alone = {
        index: lost.get(index, 0) + died.get(index, 0)
        for index in plan.to_read
        if index in lost or died.get(index, 0) > 1
    }
    last = tuple(index for index in plan.to_read if index in died and index not in alone)
    return replace(plan, last=last, alone=alone)


def _lost(conn: sqlite3.Connection, document: int) -> dict[int, int]:
    """Returns the pages whose latest attempt lost the model or the process -> how many of their attempts did."""
    rows = conn.execute(
        "SELECT p.page_index, count(*), max(a.id) = (SELECT max(id) FROM attempts WHERE page_id = p.id)"
        " FROM pages p JOIN attempts a ON a.page_id = p.id"
        " WHERE p.document_id = ? AND a.error_category IN (?, ?, ?) GROUP BY p.id",
        (document, *LOST_CATEGORIES, PROCESS_DIED),
    )
    return {int(index): int(count) for index, count, is_latest in rows if is_latest}


def lose_worker(conn: sqlite3.Connection, run_id: int, pages: Sequence[tuple[str, int]], now: str) -> None:
    """Gives the marks of pages (sha256, page_index) that a lost worker was reading to a run of their own.

    That run counts as interrupted, so that they are treated like those of a run that died.
    """
    if not pages:
        return
    lost = conn.execute(
        "INSERT INTO runs (started_at, state, settings_hash, model, weights_sha256, config, versions)"
        " SELECT ?, 'interrupted', settings_hash, model, weights_sha256, config, versions FROM runs WHERE id = ?",
        (now, run_id),
    ).lastrowid
    conn.executemany(
        "UPDATE in_flight SET run_id = ? WHERE run_id = ? AND page_id = (SELECT p.id FROM pages p"
        " JOIN documents d ON d.id = p.document_id WHERE d.sha256 = ? AND p.page_index = ?)",
        [(lost, run_id, sha256, page_index) for sha256, page_index in pages],
    )


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
                page_index=index,
                settings_hash=settings,
                status="failed",
                error=PageError(stage="read", category=PROCESS_DIED, message=_DIED.format(run_id)),
            ),
        )
        for run_id, sha256, index, settings in rows
    ]
