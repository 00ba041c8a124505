"""How fast earlier runs were: what a plan's estimate is made of."""

from dataclasses import dataclass

from sqlite_utils import Database

from storage.database import explained
from storage.queries.statistics import database_path

_RUNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """seconds_per_page: of the last runs together, loading the model included. num_pages: that they read.

    Pages whose text layer was taken instead are left out: they take next to nothing, and other runs have more or fewer.
    """

    seconds_per_page: float
    num_pages: int


def pace(db: Database, settings_hash: str, weights_sha256: str) -> Pace | None:
    """Returns the pace of the last ten runs that read pages with these settings, or else with this model; else None."""
    with explained(database_path(db)):
        for column, value in (("settings_hash", settings_hash), ("weights_sha256", weights_sha256)):
            seconds, num_pages = db.conn.execute(_SQL.format(column=column), (value, _RUNS)).fetchone()
            if num_pages:
                return Pace(seconds_per_page=seconds / num_pages, num_pages=num_pages)
    return None


# Only whole numbers of this module's reach the text of the statement, and the two names above.
_SQL = """
SELECT coalesce(sum(seconds), 0.0), coalesce(sum(num_pages), 0) FROM (
    SELECT r.seconds, count(DISTINCT a.page_id) AS num_pages FROM runs r JOIN attempts a ON a.run_id = r.id
    WHERE a.source = 'ocr' AND r.{column} = ? AND r.state = 'finished' GROUP BY r.id ORDER BY r.id DESC LIMIT ?)
"""
