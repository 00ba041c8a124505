"""Lists the files in the database with their status and that of their pages: all, or those that need a look first."""

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sqlite_utils import Database

from storage.database import Row, database_path, explained, snapshot
from storage.types import FINE_STATUSES, by_status

_NOT_READ = {"failed", "quarantined"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """A file with its status: one of DOCUMENT_STATUSES, "failed" where all of its pages did, or "superseded".

    "superseded" is content that its path no longer holds. num_pages: in the document; pages: status -> number of those
    that were asked for. reason: why it is not "ok". older_pages: those whose current attempt has other settings than
    the last run that found the content. doubtful: page (1-based), status and doubt of each that failed, or whose text
    may be wrong or incomplete, in order; the doubt is None where no reason is known. low_confidence: page, status and
    confidence of others that were read with a confidence below store.low_confidence of the last run.
    """

    path: str
    status: str
    num_pages: int
    pages: dict[str, int]
    reason: str | None
    older_pages: int = 0
    doubtful: tuple[Row, ...] = ()
    low_confidence: tuple[Row, ...] = ()

    @property
    def urgency(self) -> int:
        """How much it needs a look: 3 where nothing of it was read, 2 and 1 for the pages listed here, 0 for none."""
        if self.status in ("failed", "broken", "encrypted"):
            return 3
        return 2 if self.doubtful else 1 if self.low_confidence else 0


def most_urgent(db: Database, most: int) -> tuple[list[FileStatus], int, int]:
    """Returns the files that need a look, the most urgent first and else by path: so many at most.

    Also how many need one, and how many do not.
    """
    counts = Counter[bool]()

    def urgent() -> Iterator[FileStatus]:
        for file in file_statuses(db):
            counts[file.urgency > 0] += 1
            if file.urgency:
                yield file

    found = heapq.nsmallest(most, urgent(), key=lambda file: -file.urgency)
    return found, counts[True], counts[False]


def urgent_first(db: Database) -> Iterator[FileStatus]:
    """Yields all files from one snapshot: by path those that need a look, then the others."""
    with snapshot(db):
        for wanted in (True, False):
            yield from (file for file in file_statuses(db) if bool(file.urgency) is wanted)


def file_statuses(db: Database) -> Iterator[FileStatus]:
    """Yields the files by path (bytewise), content that a path held earlier after its present content.

    One file is in memory at a time, and all come from one snapshot.
    """
    with explained(database_path(db)):
        # The confidence that counted as low in the last run.
        (below,) = db.conn.execute(_LOW_CONFIDENCE).fetchone() or (None,)
        current, former = (db.conn.execute(sql) for sql in (_FILES, _SUPERSEDED))
        for path, _, document, status, reason, num_pages, settings_hash in heapq.merge(
            current, former, key=lambda row: (row[0].encode(), row[1], row[2])
        ):
            pages = db.conn.execute(_PAGES, (document,)).fetchall()
            counts = Counter(page[1] for page in pages)
            if status == "ok" and counts and counts.keys() <= _NOT_READ:
                status, reason = "failed", "none of its pages could be read"
            yield FileStatus(
                path=path,
                status=status,
                num_pages=num_pages,
                pages=by_status(counts),
                reason=reason,
                older_pages=sum(
                    None not in (made, settings_hash) and made != settings_hash for *_, made in pages
                ),
                doubtful=tuple(
                    {"page": page, "status": its, "doubt": doubt}
                    for page, its, doubt, *_ in pages
                    if doubt is not None or its not in (*FINE_STATUSES, "pending")
                ),
                low_confidence=tuple(
                    {"page": page, "status": its, "confidence": confidence}
                    for page, its, doubt, confidence, _ in pages
                    if doubt is None
                    and its in FINE_STATUSES
                    and confidence is not None
                    and confidence < (below or 0.0)
                ),
            )


_LOW_CONFIDENCE = "SELECT json_extract(config, '$.store.low_confidence') FROM runs ORDER BY id DESC LIMIT 1"

# Paths are in the order of their index. Content that several files have counts as last found by the last of their runs.
_LAST_SETTINGS = """
(SELECT settings_hash FROM runs WHERE id = (SELECT max(last_run_id) FROM files WHERE document_id = d.id))
"""

_FILES = f"""
SELECT f.path, 0, d.id, f.status,
    iif(f.status = 'missing', coalesce(f.reason, 'last found by run ' || f.last_run_id), f.reason),
    d.num_pages, {_LAST_SETTINGS}
FROM files f CROSS JOIN documents d ON d.id = f.document_id ORDER BY f.path
"""

_SUPERSEDED = f"""
SELECT s.path, s.run_id, d.id, 'superseded', 'run ' || s.run_id || ' found other content there',
    d.num_pages, {_LAST_SETTINGS}
FROM superseded s CROSS JOIN documents d ON d.id = s.document_id ORDER BY s.path, s.run_id, d.id
"""

_PAGES = """
SELECT p.page_index + 1, p.status, coalesce(a.error_message, a.doubt), a.confidence, a.settings_hash
FROM pages p LEFT JOIN attempts a ON a.id = p.current_attempt_id
WHERE p.document_id = ? AND p.asked ORDER BY p.page_index
"""
