"""Lists every file in the database with its status and that of its pages."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby

from sqlite_utils import Database

from storage.database import explained
from storage.queries.statistics import LAST_SETTINGS, database_path
from storage.types import PAGE_STATUSES


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulPage:
    """A page whose text may be wrong or incomplete. page: 1-based. doubt: the reason, in words."""

    page: int
    status: str
    doubt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsurePage:
    """A page with a confidence below store.low_confidence of the last run. page: 1-based."""

    page: int
    status: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """A file with its status: one of DOCUMENT_STATUSES, or "superseded" for content that its path no longer holds.

    num_pages: in the document; pages: status -> number of those that were asked for. reason: why it is not "ok".
    older_pages: those whose current attempt has other settings than the last run that found the content.
    doubtful: its pages whose text is in doubt, in order. low_confidence: other pages read with a low confidence.
    """

    path: str
    status: str
    num_pages: int
    pages: dict[str, int]
    reason: str | None
    older_pages: int = 0
    doubtful: tuple[DoubtfulPage, ...] = ()
    low_confidence: tuple[UnsurePage, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Returns the same as values that json.dumps takes."""
        return asdict(self)


def file_statuses(db: Database) -> Iterator[FileStatus]:
    """Yields the files by path (bytewise), content that a path held earlier after its present content."""
    with explained(database_path(db)):
        below = _low_confidence(db)
        rows = db.conn.execute(_FILES)
        for (path, _, document, status, reason, num_pages), group in groupby(rows, key=lambda row: row[:6]):
            counts = [(name, number, older) for *_, name, number, older in group if name is not None]
            numbers = {name: number for name, number, _ in counts}
            yield FileStatus(
                path=path,
                status=status,
                num_pages=num_pages,
                pages={name: numbers[name] for name in PAGE_STATUSES if name in numbers},
                reason=reason,
                older_pages=sum(older for *_, older in counts),
                doubtful=_doubtful(db, document),
                low_confidence=_unsure(db, document, below),
            )


def _low_confidence(db: Database) -> float:
    """Returns the confidence that counted as low in the last run; 0 if there was no run."""
    sql = "SELECT json_extract(config, '$.store.low_confidence') FROM runs ORDER BY id DESC LIMIT 1"
    (found,) = db.conn.execute(sql).fetchone() or (None,)
    return 0.0 if found is None else float(found)


def _unsure(db: Database, document: int, below: float) -> tuple[UnsurePage, ...]:
    rows = db.conn.execute(
        "SELECT p.page_index + 1, p.status, a.confidence FROM pages p"
        " JOIN attempts a ON a.id = p.current_attempt_id WHERE p.document_id = ? AND p.asked"
        " AND a.doubt IS NULL AND a.confidence < ? ORDER BY p.page_index",
        (document, below),
    )
    return tuple(UnsurePage(page=page, status=status, confidence=value) for page, status, value in rows)


def _doubtful(db: Database, document: int) -> tuple[DoubtfulPage, ...]:
    rows = db.conn.execute(
        "SELECT p.page_index + 1, p.status, a.doubt FROM pages p JOIN attempts a ON a.id = p.current_attempt_id"
        " WHERE p.document_id = ? AND p.asked AND a.doubt IS NOT NULL ORDER BY p.page_index",
        (document,),
    )
    return tuple(DoubtfulPage(page=page, status=status, doubt=doubt) for page, status, doubt in rows)


_FILES = f"""
WITH every (path, former, status, reason, document_id) AS (
    SELECT path, 0, status,
        iif(status = 'missing', coalesce(reason, 'last found by run ' || last_run_id), reason), document_id
    FROM files
    UNION ALL SELECT path, run_id, 'superseded', 'run ' || run_id || ' found other content there', document_id
    FROM superseded)
SELECT e.path, e.former, e.document_id, e.status, e.reason, d.num_pages, p.status, count(p.id),
    count(CASE WHEN a.settings_hash <> l.settings_hash THEN 1 END)
FROM every e JOIN documents d ON d.id = e.document_id
LEFT JOIN pages p ON p.document_id = d.id AND p.asked
LEFT JOIN attempts a ON a.id = p.current_attempt_id
LEFT JOIN ({LAST_SETTINGS}) l ON l.document_id = d.id
GROUP BY e.path, e.former, e.document_id, p.status ORDER BY e.path, e.former, e.document_id
"""
