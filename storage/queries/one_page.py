"""One page with all that a reader shows of it."""

from dataclasses import dataclass

from sqlite_utils import Database

from storage.database import explained
from storage.queries.statistics import database_path


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePage:
    """A page. page_index: 0-based. paths: of the files that have it, those that are there first.

    text, markdown: those that count, which are a correction's where it has one; read_text, read_markdown: as read.
    attempt_id: of what was read, None where nothing was yet. words: packed (storage.words), of read_text.
    width_px, height_px: of the upright page that boxes refer to. error: why there is no text. previous_id, next_id: the
    document's pages before and after this one. Other fields: see storage.types.PageRecord.
    """

    page_id: int
    document_id: int
    file_id: int
    paths: tuple[str, ...]
    sha256: str | None
    kind: str | None
    page_index: int
    num_pages: int
    status: str
    attempt_id: int | None
    text: str | None
    markdown: str | None
    read_text: str | None
    read_markdown: str | None
    words: bytes | None
    confidence: float | None
    width_px: int | None
    height_px: int | None
    rotation_deg: int
    source: str | None
    rung: str | None
    script: str | None
    doubt: str | None
    error: str | None
    seconds: float | None
    finished_at: str | None
    corrected_by: str | None
    corrected_at: str | None
    previous_id: int | None
    next_id: int | None


def one_page(db: Database, page_id: int) -> OnePage | None:
    """Returns a page; None where there is no such page, or no file is listed that has it."""
    with explained(database_path(db)):
        cursor = db.conn.execute(_PAGE, (page_id,))
        row = cursor.fetchone()
        if row is None:
            return None
        files = db.conn.execute(_FILES, (row[1],)).fetchall()
    if not files:
        return None
    names = [column[0] for column in cursor.description]
    return OnePage(
        **dict(zip(names, row, strict=True)), file_id=files[0][0], paths=tuple(path for _, path in files)
    )


_NEIGHBOUR = (
    "(SELECT id FROM pages n WHERE n.document_id = p.document_id AND n.asked AND n.page_index {} LIMIT 1)"
)
_PAGE = f"""
SELECT p.id AS page_id, p.document_id, d.sha256, d.kind, p.page_index, d.num_pages, p.status, a.id AS attempt_id,
    coalesce(c.text, a.text) AS text, coalesce(c.markdown, a.markdown) AS markdown,
    a.text AS read_text, a.markdown AS read_markdown, a.words, a.confidence, a.width_px, a.height_px,
    coalesce(a.rotation_deg, 0) AS rotation_deg, a.source, a.rung, a.script, a.doubt,
    CASE WHEN a.error_category IS NOT NULL
        THEN a.error_stage || ': ' || a.error_category || ': ' || coalesce(a.error_message, '') END AS error,
    a.seconds, a.finished_at, c.made_by AS corrected_by, c.made_at AS corrected_at,
    {_NEIGHBOUR.format("< p.page_index ORDER BY n.page_index DESC")} AS previous_id,
    {_NEIGHBOUR.format("> p.page_index ORDER BY n.page_index")} AS next_id
FROM pages p JOIN documents d ON d.id = p.document_id
LEFT JOIN attempts a ON a.id = p.current_attempt_id LEFT JOIN corrections c ON c.id = p.correction_id
WHERE p.id = ? AND p.asked
"""
_FILES = "SELECT id, path FROM listed_files WHERE document_id = ? ORDER BY status = 'missing', path LIMIT 20"
