"""What a worker that was lost in the middle of a run leaves in the database."""

import sqlite3
from collections.abc import Sequence

_COPY = (
    "INSERT INTO runs (started_at, state, settings_hash, model, weights_sha256, config, versions)"
    " SELECT ?, 'interrupted', settings_hash, model, weights_sha256, config, versions FROM runs WHERE id = ?"
)


def lose(conn: sqlite3.Connection, run_id: int, pages: Sequence[tuple[str, int]], now: str) -> int | None:
    """Gives the marks of pages (sha256, page_index) that a lost worker was reading to a run of their own.

    That run counts as interrupted: its pages are treated like those of a run that died (storage.recovery.in_flight).
    Inside the caller's transaction. Returns its id, None where the worker was reading nothing.
    """
    if not pages:
        return None
    lost = int(conn.execute(_COPY, (now, run_id)).lastrowid or 0)
    conn.executemany(
        "UPDATE in_flight SET run_id = ? WHERE run_id = ? AND page_id = (SELECT p.id FROM pages p"
        " JOIN documents d ON d.id = p.document_id WHERE d.sha256 = ? AND p.page_index = ?)",
        [(lost, run_id, sha256, page_index) for sha256, page_index in pages],
    )
    return lost
