"""Where the time of one run went, for its report: pages over time, and seconds a stage."""

from dataclasses import dataclass

from sqlite_utils import Database

from storage.database import explained
from storage.queries.run_pages import OUTCOMES
from storage.queries.statistics import STAGES, StageStatus, database_path
from storage.types import FINE_STATUSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The pages that a run finished in a part of its time. start_s: after the run's start.

    num_read: read well; num_embedded: whose text layer was taken; num_unfine: which need a look.
    """

    start_s: float
    num_read: int
    num_embedded: int
    num_unfine: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PathUse:
    """How a stage's batches were computed. path_use: "hit", "miss" or "eager"; num_timings: timings of pages."""

    stage: str
    path_use: str
    num_timings: int


def throughput(db: Database, run_id: int, interval_s: float) -> list[Interval]:
    """Returns the run's pages by intervals of its time, from its start to its last page, empty ones included."""
    with explained(database_path(db)):
        rows = db.conn.execute(_THROUGHPUT, {"run": run_id, "seconds": interval_s}).fetchall()
    found = {number: counts for number, *counts in rows}
    intervals = []
    for number in range(max(found, default=-1) + 1):
        read, embedded, unfine = found.get(number, (0, 0, 0))
        intervals.append(
            Interval(start_s=number * interval_s, num_read=read, num_embedded=embedded, num_unfine=unfine)
        )
    return intervals


def span_s(db: Database, run_id: int) -> float:
    """Returns the seconds from a run's start to its last page, by the clock that dates pages; 0 without pages.

    It may differ from the run's own seconds, which do not change when that clock is set.
    """
    with explained(database_path(db)):
        (seconds,) = db.conn.execute(_SPAN, {"run": run_id}).fetchone()
    return max(0.0, float(seconds or 0.0))


def stages_of(db: Database, run_id: int) -> list[StageStatus]:
    """Returns the stages of a run by total time, longest first. A page that was read twice counts twice."""
    with explained(database_path(db)):
        where = "WHERE run_id = :run"
        return [StageStatus(**row) for row in db.query(STAGES.format(where=where), {"run": run_id})]


def path_uses(db: Database, run_id: int) -> list[PathUse]:
    """Returns how often the encoder's graphs were replayed for pages of a run, and how often not."""
    with explained(database_path(db)):
        return [PathUse(**row) for row in db.query(_PATH_USES, {"run": run_id})]


# A page may be stored in the millisecond before the start that is recorded with less precision.
_THROUGHPUT = f"""{OUTCOMES}
SELECT max(0, CAST((julianday(o.finished_at) - julianday(r.started_at)) * 86400.0 / :seconds AS INTEGER)) AS number,
    sum(o.status IN {FINE_STATUSES} AND o.status <> 'embedded'), sum(o.status = 'embedded'),
    sum(o.status NOT IN {FINE_STATUSES})
FROM outcomes o JOIN runs r ON r.id = :run GROUP BY number
"""

_SPAN = """
SELECT (julianday((SELECT max(finished_at) FROM attempts WHERE run_id = r.id)) - julianday(r.started_at)) * 86400.0
FROM runs r WHERE r.id = :run
"""

_PATH_USES = """
SELECT stage, path_use, count(*) AS num_timings FROM timings
WHERE run_id = :run AND path_use IS NOT NULL GROUP BY stage, path_use ORDER BY stage, path_use
"""
