"""The pages of one run as it left them, and where its time went: for its report.

A page that was read several times in the run counts once, by one of the run's attempts: the page's current one, or else
the best of them, of equals the first (storage.records.merit). It is a row with page_id, that attempt's status, stage
and category of its error, reason (its error or doubt, None where it has none), confidence, num_tokens, source and
rotation_deg, and of all the run's attempts at it seconds, num_attempts and finished_at (of the last).
"""

from collections.abc import Iterable, Iterator

from sqlite_utils import Database

from storage.database import Row, database_path, explained, pairs, rows
from storage.queries.statistics import STAGES
from storage.types import FINE_STATUSES

# Most values that are bound to one statement.
_BOUND = 500


def figures(db: Database, run_id: int, *, most: int, num_bins: int) -> Row:
    """Returns a run's figures by name. most: pages in each list.

    statuses: status -> number of its pages, most first. slowest: the pages that took longest, these first. unsure: of
    those that were read, and have a confidence, the pages with the lowest, these first. confidences: how many of these
    have one in each of num_bins equal parts of 0 to 1. refused: path, status ("broken" or "encrypted") and reason of
    files that the run found and could not read, by path; the reason is that of the last run to find them. stages: by
    total time, longest first; a page that was read twice counts twice. span_s: the seconds from its start to its last
    page, by the clock that dates pages, 0 without pages; the run's own do not change when that clock is set.
    """
    values = {"run": run_id, "most": most, "bins": num_bins}
    bins, (span,) = pairs(db, _CONFIDENCES, values), rows(db, _SPAN, values) or [{"seconds": 0.0}]
    return {
        "statuses": pairs(db, _STATUSES, values),
        "slowest": rows(db, _SLOWEST, values),
        "unsure": rows(db, _UNSURE, values),
        "confidences": [bins.get(number, 0) for number in range(num_bins)],
        "refused": rows(db, _REFUSED, values),
        "stages": rows(db, STAGES.format(where="WHERE run_id = :run"), values),
        "span_s": max(0.0, span["seconds"] or 0.0),
    }


def unfine(db: Database, run_id: int) -> Iterator[Row]:
    """Yields the run's pages that need a look: with another status than "ok", "blank" or "embedded", as found."""
    with explained(database_path(db)):
        yield from db.query(_UNFINE, {"run": run_id})


def places(db: Database, page_ids: Iterable[int]) -> dict[int, Row]:
    """Returns where pages are, by id: path, sha256, kind and page_index (0-based).

    path: of a file that has its content, or had it; of several, the first that is there. state: "there", "missing" (no
    file has the content any more) or "superseded" (its path has other content now).
    """
    wanted = list(dict.fromkeys(page_ids))
    found: list[Row] = []
    for start in range(0, len(wanted), _BOUND):
        some = wanted[start : start + _BOUND]
        found += rows(db, _PLACES.format(ids=", ".join("?" * len(some))), some)
    return {row["page_id"]: row for row in found}


def throughput(db: Database, run_id: int, interval_s: float) -> list[tuple[int, int, int]]:
    """Returns the run's pages by intervals of its time, from its start to its last page, empty ones included.

    Of each how many were read well, how many text layers were taken, and how many pages need a look.
    """
    with explained(database_path(db)):
        found = db.conn.execute(_THROUGHPUT, {"run": run_id, "seconds": interval_s}).fetchall()
    counts = {number: tuple(numbers) for number, *numbers in found}
    return [counts.get(number, (0, 0, 0)) for number in range(max(counts, default=-1) + 1)]


# Only statuses of this package and clauses of this module are put into the text of a statement.
OUTCOMES = f"""
WITH ranked AS (
    SELECT a.page_id, a.status, a.error_stage AS stage, a.error_category AS category,
        coalesce(a.error_message, a.doubt) AS reason, sum(a.seconds) OVER whole AS seconds,
        count(*) OVER whole AS num_attempts, a.confidence, a.num_tokens, a.source, a.rotation_deg,
        max(a.finished_at) OVER whole AS finished_at,
        row_number() OVER (PARTITION BY a.page_id ORDER BY a.id = p.current_attempt_id DESC,
            a.settings_hash LIKE '%+first',
            CASE WHEN a.status IN {FINE_STATUSES} THEN 2 WHEN a.status = 'failed' THEN 0 ELSE 1 END DESC,
            a.confidence DESC, a.id) AS rank
    FROM attempts a JOIN pages p ON p.id = a.page_id WHERE a.run_id = :run
    WINDOW whole AS (PARTITION BY a.page_id)),
outcomes AS (
    SELECT page_id, status, stage, category, reason, seconds, num_attempts, confidence, num_tokens, source,
        rotation_deg, finished_at FROM ranked WHERE rank = 1)
"""

_READ = "source = 'ocr' AND confidence IS NOT NULL"
_STATUSES = f"{OUTCOMES} SELECT status, count(*) AS n FROM outcomes GROUP BY status ORDER BY n DESC, status"
_UNFINE = f"{OUTCOMES} SELECT * FROM outcomes WHERE status NOT IN {FINE_STATUSES} ORDER BY page_id"
_SLOWEST = f"{OUTCOMES} SELECT * FROM outcomes ORDER BY seconds DESC, page_id LIMIT :most"
_UNSURE = f"{OUTCOMES} SELECT * FROM outcomes WHERE {_READ} ORDER BY confidence, page_id LIMIT :most"
_CONFIDENCES = f"""{OUTCOMES}
SELECT min(CAST(confidence * :bins AS INTEGER), :bins - 1) AS bin, count(*) FROM outcomes WHERE {_READ} GROUP BY bin
"""

_PLACES = """
SELECT p.id AS page_id,
    coalesce(min(CASE WHEN f.status <> 'missing' THEN f.path END), min(f.path),
        (SELECT min(path) FROM superseded WHERE document_id = d.id)) AS path,
    d.sha256, coalesce(d.kind, '') AS kind, p.page_index,
    CASE WHEN max(f.status <> 'missing') THEN 'there' WHEN count(f.id) THEN 'missing' ELSE 'superseded' END AS state
FROM pages p JOIN documents d ON d.id = p.document_id LEFT JOIN files f ON f.document_id = d.id
WHERE p.id IN ({ids}) GROUP BY p.id
"""

_REFUSED = """
SELECT f.path, f.status, coalesce(f.reason, d.reason) AS reason
FROM listed_files f JOIN documents d ON d.id = f.document_id
WHERE f.status IN ('broken', 'encrypted') AND :run BETWEEN f.first_run_id AND f.last_run_id ORDER BY f.path
"""

# A page may be stored in the millisecond before the start that is recorded with less precision.
_THROUGHPUT = f"""{OUTCOMES}
SELECT max(0, CAST((julianday(o.finished_at) - julianday(r.started_at)) * 86400.0 / :seconds AS INTEGER)) AS number,
    sum(o.status IN {FINE_STATUSES} AND o.status <> 'embedded'), sum(o.status = 'embedded'),
    sum(o.status NOT IN {FINE_STATUSES})
FROM outcomes o JOIN runs r ON r.id = :run GROUP BY number
"""

_SPAN = """
SELECT (julianday((SELECT max(finished_at) FROM attempts WHERE run_id = r.id)) - julianday(r.started_at)) * 86400.0
    AS seconds
FROM runs r WHERE r.id = :run
"""
