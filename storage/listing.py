"""Every file the database knows, one after the other: what became of it and of its pages."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby

from sqlite_utils import Database

from storage.database import explained
from storage.queries import database_path
from storage.types import PAGE_STATUSES


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """status: one of DOCUMENT_STATUSES, or "superseded" for content that a path held before it got other content.

    num_pages: in the document; pages: status -> those of them that were asked for. reason: why it is not "ok".
    """

    path: str
    status: str
    num_pages: int
    pages: dict[str, int]
    reason: str | None

    def to_json(self) -> dict[str, object]:
        """Returns the same as values that json.dumps takes."""
        return asdict(self)


def file_statuses(db: Database) -> Iterator[FileStatus]:
    """Yields them by path (bytewise), what a path held before after what it holds."""
    with explained(database_path(db)):
        rows = db.conn.execute(_FILES)
        for (path, _, _, status, reason, num_pages), group in groupby(rows, key=lambda row: row[:6]):
            counts = {name: number for *_, name, number in group if name is not None}
            pages = {name: counts[name] for name in PAGE_STATUSES if name in counts}
            yield FileStatus(path=path, status=status, num_pages=num_pages, pages=pages, reason=reason)


_FILES = """
WITH every (path, former, status, reason, document_id) AS (
    SELECT path, 0, status,
        iif(status = 'missing', coalesce(reason, 'last found by run ' || last_run_id), reason), document_id
    FROM files
    UNION ALL SELECT path, run_id, 'superseded', 'run ' || run_id || ' found other content there', document_id
    FROM superseded)
SELECT e.path, e.former, e.document_id, e.status, e.reason, d.num_pages, p.status, count(p.id)
FROM every e JOIN documents d ON d.id = e.document_id
LEFT JOIN pages p ON p.document_id = d.id AND p.asked
GROUP BY e.path, e.former, e.document_id, p.status ORDER BY e.path, e.former, e.document_id
"""
