"""The speed of earlier runs, which a plan's estimate is based on."""

from dataclasses import dataclass

from sqlite_utils import Database

from storage.database import explained
from storage.queries.statistics import database_path

_RUNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The speed of the last runs together. seconds_per_page: includes loading the model. num_pages: that they read.

    Pages whose text layer was used instead are left out: they cost next to nothing, and their number differs by run.
    """

    seconds_per_page: float
    num_pages: int


def pace(db: Database, settings_hash: str, weights_sha256: str) -> Pace | None:
    """Returns the pace of the last ten runs that read pages with these settings, else with this model, else None."""
    with explained(database_path(db)):
        for column, value in (("settings_hash", settings_hash), ("weights_sha256", weights_sha256)):
            seconds, num_pages = db.conn.execute(_SQL.format(column=column), (value, _RUNS)).fetchone()
            if num_pages:
                return Pace(seconds_per_page=seconds / num_pages, num_pages=num_pages)
    return None


# Only integers of this module, and the two names above, are put into the text of the statement.
_SQL = """
SELECT coalesce(sum(seconds), 0.0), coalesce(sum(num_pages), 0) FROM (
    SELECT r.seconds, count(DISTINCT a.page_id) AS num_pages FROM runs r JOIN attempts a ON a.run_id = r.id
    WHERE a.source = 'ocr' AND r.{column} = ? AND r.state = 'finished' GROUP BY r.id ORDER BY r.id DESC LIMIT ?)
"""
