"""The rows of an export, one page at a time."""

from collections.abc import Iterator
from typing import TypedDict

from sqlite_utils import Database

from storage.database import explained
from storage.queries import database_path


class BlockRow(TypedDict):
    """box: [x0, y0, x1, y1] in page pixels, or None. confidence: 0..1, or None."""

    label: str
    box: list[int] | None
    text: str
    confidence: float | None


class ErrorRow(TypedDict):
    stage: str
    category: str
    message: str


class PageRow(TypedDict):
    """One page of one file. page: 1-based. timings: stage -> the page's share in seconds.

    text, markdown, confidence and error are None where there is none; a page not read yet is "pending".
    """

    path: str
    sha256: str
    page: int
    status: str
    text: str | None
    markdown: str | None
    confidence: float | None
    blocks: list[BlockRow]
    timings: dict[str, float]
    error: ErrorRow | None


def export_rows(db: Database) -> Iterator[PageRow]:
    """Yields every page of every listed file, ordered by path (bytewise) then page.

    One page is in memory at a time, and all are of the moment of the first. Two files of equal content
    are both there; a vanished file is, unless a present one has its content. Documents without pages
    (broken, encrypted, skipped) are not: `status` counts them.
    """
    with explained(database_path(db)):
        for row in db.query(_PAGES):
            attempt = row["attempt_id"]
            yield PageRow(
                path=row["path"],
                sha256=row["sha256"],
                page=row["page"],
                status=row["status"],
                text=row["text"],
                markdown=row["markdown"],
                confidence=row["confidence"],
                blocks=_blocks(db, attempt),
                timings=_timings(db, attempt),
                error=_error(row),
            )


def one_line(path: str) -> str:
    """Returns the path with control characters (a name may hold a newline) written as escapes."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in path)


def shortfall(row: PageRow) -> str | None:
    """Returns why the page has no text, or may have less than all of it; None for a page that is fine."""
    error = row["error"]
    if error is not None:
        return f"{row['status']}: {error['stage']}: {error['category']}: {' '.join(error['message'].split())}"
    return None if row["status"] in ("ok", "embedded") else row["status"]


def _blocks(db: Database, attempt: int | None) -> list[BlockRow]:
    rows = db.conn.execute(
        "SELECT label, text, confidence, x0_px, y0_px, x1_px, y1_px FROM blocks"
        " WHERE attempt_id = ? ORDER BY block_index",
        (attempt,),
    )
    return [
        BlockRow(label=label, box=None if box[0] is None else list(box), text=text, confidence=confidence)
        for label, text, confidence, *box in rows
    ]


def _timings(db: Database, attempt: int | None) -> dict[str, float]:
    rows = db.conn.execute(
        "SELECT stage, sum(share_s) FROM timings WHERE attempt_id = ? GROUP BY stage ORDER BY min(id)",
        (attempt,),
    )
    return dict(rows.fetchall())


def _error(row: dict[str, str | None]) -> ErrorRow | None:
    stage, category, message = row["error_stage"], row["error_category"], row["error_message"]
    if stage is None or category is None:
        return None
    return ErrorRow(stage=stage, category=category, message=message or "")


# The view's joins leave the order to SQLite; path and page are unique indices, so that nothing is sorted.
_PAGES = """
SELECT path, sha256, page, status, text, markdown, confidence, error_stage, error_category, error_message,
    attempt_id
FROM results ORDER BY path, page_index
"""
