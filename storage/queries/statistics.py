"""Runs, counts, times and pace in the database, for `status`, a run's summary and a plan's estimate."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlite_utils import Database

from storage.database import Row, database_path, explained, number_of, pairs, rows, snapshot
from storage.lock import is_locked
from storage.types import by_status

# Attempts whose times `status` tells: those of ten million pages would be sorted for minutes.
NEWEST = 100_000
_LAST_RUNS = 10  # whose pace counts


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """One run. state: "running", "finished" or "interrupted" (it was killed).

    num_pages: pages it stored attempts at. seconds: until its end, until now or, if it was killed, until its last page.
    pages_per_s: num_pages / seconds, including loading the model; None without pages.
    counts: what the run itself counted, empty until it finished. encoder: statistics of each path of the
    vision encoder; None until the run finished, and if it needed no encoder. flow: how busy the stages were, what
    the language model wrote, and how busy the GPU was; None until the run finished.
    """

    id: int
    state: str
    started_at: str
    finished_at: str | None
    seconds: float | None
    exit_code: int | None
    model: str
    settings_hash: str
    num_pages: int
    pages_per_s: float | None
    counts: dict[str, int]
    encoder: dict[str, dict[str, Any]] | None = None
    flow: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The speed of the last runs together. seconds_per_page: includes loading the model. num_pages: that they read.

    Pages whose text layer was used instead are left out: they cost next to nothing, and their number differs by run.
    """

    seconds_per_page: float
    num_pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Counts of the whole database.

    pages: by status, of every distinct content that a file has. documents: distinct contents by status, "missing" when
    every file with it is gone. files: paths by status. left_out_pages: pages of readable documents that nobody has
    asked for yet (page selection, maximum per document). num_attempts: readings so far, retries included. superseded:
    contents that a path held before its present one. stages: of the newest attempts, NEWEST at most. older_pages: pages
    whose current attempt has other settings than the last run that found their file: that run did not ask for them, did
    not reach them, or read them worse.
    """

    database: str
    runs: list[RunStatus]
    pages: dict[str, int]
    documents: dict[str, int]
    files: dict[str, int]
    left_out_pages: int
    num_attempts: int
    stages: list[Row]
    superseded: int = 0
    older_pages: int = 0


def status(db: Database) -> Status:
    """Returns everything `ocrbatch status` shows, from one snapshot."""
    path = database_path(db)
    with snapshot(db):
        return Status(
            database=path,
            runs=runs(db),
            pages=pages_by_status(db),
            documents=_documents_by_status(db),
            files=pairs(db, "SELECT status, count(*) FROM files GROUP BY status ORDER BY status"),
            left_out_pages=number_of(db, _LEFT_OUT),
            num_attempts=number_of(db, "SELECT count(*) FROM attempts"),
            stages=stages(db),
            superseded=number_of(db, "SELECT count(*) FROM superseded"),
            older_pages=number_of(db, _OLDER),
        )


def runs(db: Database) -> list[RunStatus]:
    """Returns all runs, oldest first."""
    alive = is_locked(database_path(db))
    return [_run_status(row, alive) for row in rows(db, _RUNS)]


def pages_by_status(db: Database) -> dict[str, int]:
    """Returns status -> number of distinct pages, in the order of PAGE_STATUSES, without statuses that do not occur."""
    sql = (
        "SELECT p.status, count(*) FROM pages p"
        " WHERE p.asked AND EXISTS (SELECT 1 FROM files f WHERE f.document_id = p.document_id) GROUP BY p.status"
    )
    return by_status(pairs(db, sql))


def stages(db: Database) -> list[Row]:
    """Returns the stages of all runs' newest attempts by total time, longest first: the pages' shares, in seconds.

    p99_s: 99% of the pages took at most this.
    """
    where = "WHERE attempt_id > (SELECT max(id) FROM attempts) - :newest"
    return rows(db, STAGES.format(where=where), {"newest": NEWEST})


def pace(db: Database, settings_hash: str, weights_sha256: str) -> Pace | None:
    """Returns the pace of the last ten runs that read pages with these settings, else with this model, else None."""
    with explained(database_path(db)):
        for column, value in (("settings_hash", settings_hash), ("weights_sha256", weights_sha256)):
            seconds, num_pages = db.conn.execute(_PACE.format(column=column), (value, _LAST_RUNS)).fetchone()
            if num_pages:
                return Pace(seconds_per_page=seconds / num_pages, num_pages=num_pages)
    return None


def _run_status(row: Row, alive: bool) -> RunStatus:
    last_page_at = row.pop("last_page_at")
    counts, encoder, flow = (json.loads(row.pop(name) or "null") for name in ("counts", "encoder", "flow"))
    if row["state"] == "running" and not alive:
        row["state"] = "interrupted"  # killed, and no run has started since to record it
    if row["seconds"] is None:
        end = datetime.now(UTC).isoformat() if row["state"] == "running" else last_page_at
        if end is not None:
            span = datetime.fromisoformat(end) - datetime.fromisoformat(row["started_at"])
            row["seconds"] = max(span.total_seconds(), 0.0)
    rate = row["num_pages"] / row["seconds"] if row["num_pages"] and row["seconds"] else None
    return RunStatus(**row, pages_per_s=rate, counts=counts or {}, encoder=encoder, flow=flow)


def _documents_by_status(db: Database) -> dict[str, int]:
    return pairs(
        db,
        "SELECT CASE WHEN present THEN status ELSE 'missing' END AS shown, count(*) FROM ("
        "  SELECT d.status, max(f.status <> 'missing') AS present"
        "  FROM documents d JOIN files f ON f.document_id = d.id GROUP BY d.id)"
        " GROUP BY shown ORDER BY shown",
    )


_RUNS = """
SELECT r.id, r.state, r.started_at, r.finished_at, r.seconds, r.exit_code, r.model, r.settings_hash,
    r.counts, r.encoder, r.flow, count(DISTINCT a.page_id) AS num_pages, max(a.finished_at) AS last_page_at
FROM runs r LEFT JOIN attempts a ON a.run_id = r.id GROUP BY r.id ORDER BY r.id
"""

_LEFT_OUT = """
SELECT count(*) FROM documents d JOIN pages p ON p.document_id = d.id
WHERE NOT p.asked AND d.status = 'ok' AND EXISTS (SELECT 1 FROM files f WHERE f.document_id = d.id)
"""

# Content that several files have counts as last found by the last of their runs.
LAST_SETTINGS = """
SELECT f.document_id, r.settings_hash FROM (
    SELECT document_id, max(last_run_id) AS run_id FROM files GROUP BY document_id) f
JOIN runs r ON r.id = f.run_id
"""

_OLDER = f"""
SELECT count(*) FROM ({LAST_SETTINGS}) l JOIN pages p ON p.document_id = l.document_id
JOIN attempts a ON a.id = p.current_attempt_id WHERE a.settings_hash <> l.settings_hash
"""

# A page's shares of a stage are summed first: a stage may have several timings on a page (paths, retries
# within the attempt). The median is the middle value or the mean of the two middle ones, p99 the nearest rank.
# where: a clause that selects timings, or "".
STAGES = """
WITH shares AS (
    SELECT stage, attempt_id, sum(share_s) AS share_s FROM timings {where} GROUP BY stage, attempt_id),
ranked AS (
    SELECT stage, share_s, count(*) OVER (PARTITION BY stage) AS n,
        row_number() OVER (PARTITION BY stage ORDER BY share_s) AS rank FROM shares)
SELECT stage, n AS num_pages, sum(share_s) AS total_s, avg(share_s) AS mean_s,
    avg(CASE WHEN rank IN ((n + 1) / 2, (n + 2) / 2) THEN share_s END) AS median_s,
    max(CASE WHEN rank = (99 * n + 99) / 100 THEN share_s END) AS p99_s
FROM ranked GROUP BY stage ORDER BY total_s DESC, stage
"""

# Only integers of this module, and the two names in `pace`, are put into the text of the statement.
_PACE = """
SELECT coalesce(sum(seconds), 0.0), coalesce(sum(num_pages), 0) FROM (
    SELECT r.seconds, count(DISTINCT a.page_id) AS num_pages FROM runs r JOIN attempts a ON a.run_id = r.id
    WHERE a.source = 'ocr' AND r.{column} = ? AND r.state = 'finished' GROUP BY r.id ORDER BY r.id DESC LIMIT ?)
"""
