"""Lists of documents and pages for a reader, and one page with all that is shown of it.

Lists come in steps, each of which starts where the one before ended. A step is asked for by a key (a path, a page's id)
and not by how many rows to skip, so the last costs what the first does, however many there are. Only pages that a
listed file has, and that a run was asked for, are in the lists.

A file is a row with file_id, document_id, path, status, reason, num_pages (in the document, asked for or not) and pages
(page status -> number). A page in a list is one with page_id, path, page (1-based), status, confidence, doubt,
is_corrected, and start (how its text begins) or, of a hit, snippet (with MATCH_MARKS).
"""

import re
from collections.abc import Sequence

from sqlite_utils import Database

from storage.database import Row, database_path, explained, number_of, pairs, rows
from storage.queries.search import to_match
from storage.strings.search_lines import as_read
from storage.types import FINE_STATUSES, PAGE_STATUSES, by_status

# What somebody should look at.
LOOK_STATUSES = tuple(name for name in PAGE_STATUSES if name not in (*FINE_STATUSES, "pending"))
# More hits than these are not ranked but come in the order of the pages: ranking would have to score each.
MOST_RANKED = 500
# Around a match in a snippet; no text holds them in pairs.
MATCH_MARKS = ("\x02", "\x03")
_START_CHARS = 160
# A * after fewer letters would have to look at a large part of all words.
LETTERS_BEFORE_STAR = 3
_SHORT_STAR = re.compile(rf'(?<![^\s"])([^\s"*]{{1,{LETTERS_BEFORE_STAR - 1}}})\*')


def documents(db: Database, *, after: str | None = None, before: str | None = None, limit: int) -> list[Row]:
    """Returns listed files by path (bytewise): the first after a path, the last before one, or the first of all."""
    where, order = ("path < ?", "DESC") if before is not None else ("path > ?", "ASC")
    key = before if before is not None else after or ""
    found = _documents(db, f"WHERE {where} ORDER BY path {order} LIMIT ?", (key, limit))
    return found[::-1] if before is not None else found


def document(db: Database, file_id: int) -> Row | None:
    """Returns a file; None where no such file is listed."""
    return next(iter(_documents(db, "WHERE f.id = ?", (file_id,))), None)


def num_documents(db: Database) -> int:
    """Returns how many files there are."""
    return number_of(db, "SELECT count(*) FROM files")


def page_counts(db: Database) -> dict[str, int]:
    """Returns how many pages have each status, and under "corrected" how many are corrected."""
    found = by_status(pairs(db, "SELECT status, count(*) FROM pages WHERE asked GROUP BY status"))
    corrected = number_of(db, "SELECT count(correction_id) FROM pages WHERE asked")
    return {**found, "corrected": corrected} if corrected else found


def document_pages(db: Database, document_id: int, *, first: int, limit: int) -> list[Row]:
    """Returns pages of a document in order. first: 0-based index of the page to start at."""
    sql = f"{_ENTRY} WHERE p.document_id = ? AND p.page_index >= ? AND p.asked ORDER BY p.page_index LIMIT ?"
    return rows(db, sql, (document_id, first, limit))


def pages(
    db: Database, statuses: Sequence[str], *, after: int = 0, before: int | None = None, limit: int
) -> list[Row]:
    """Returns pages by id that have one of the statuses. "corrected" stands for those that are corrected."""
    marks = ", ".join("?" * len(statuses))
    chosen = f"(p.status IN ({marks}){' OR p.correction_id IS NOT NULL' if 'corrected' in statuses else ''})"
    where, order = ("p.id < ?", "DESC") if before is not None else ("p.id > ?", "ASC")
    # Chosen first, so that a page is only looked up in the other tables where it is shown.
    ids = (
        f"SELECT id FROM pages p WHERE p.asked AND {chosen} AND {where}"
        f" AND EXISTS (SELECT 1 FROM files f WHERE f.document_id = p.document_id) ORDER BY p.id {order} LIMIT ?"
    )
    sql = f"{_ENTRY} WHERE p.id IN ({ids}) ORDER BY p.id"
    return rows(db, sql, (*statuses, before if before is not None else after, limit))


def search_pages(db: Database, query: str, *, status: str | None = None, start: int = 0, limit: int) -> Row:
    """Returns a step of the pages that match what a person typed; best first where they are few. Any query is valid.

    start: 0, or next_start of the step before, which is None at the end. Returns entries; num_hits, None where there
    are more than MOST_RANKED, which are in the order of the pages; next_start; and is_without_stars, whether a * was
    ignored, as it stood behind fewer than LETTERS_BEFORE_STAR letters.
    """
    without_stars = _SHORT_STAR.sub(r"\1", query)
    match = to_match(without_stars)
    if not match:
        return {"entries": [], "num_hits": 0, "next_start": None, "is_without_stars": False}
    values = {"match": match, "status": status, "start": start, "limit": limit + 1, "most": MOST_RANKED + 1}
    number = number_of(db, _COUNT_HITS, values)
    is_ranked = number <= MOST_RANKED
    found = rows(db, _RANKED if is_ranked else _IN_ORDER, values)
    for row in found:
        row["snippet"] = as_read(row["snippet"])
    entries, is_last = found[:limit], len(found) <= limit
    following = start + limit if is_ranked else entries[-1]["page_id"] if entries else 0
    return {
        "entries": entries,
        "num_hits": number if is_ranked else None,
        "next_start": None if is_last else following,
        "is_without_stars": without_stars != query,
    }


def next_to_look_at(db: Database, page_id: int | None) -> int | None:
    """Returns the page after this one, in the order of documents and pages, that somebody should look at.

    page_id: None starts at the first page. After the last it starts over; None where there is none. Corrected pages
    have been looked at.
    """
    with explained(database_path(db)):
        at = db.conn.execute("SELECT document_id, page_index FROM pages WHERE id = ?", (page_id,)).fetchone()
        for key in (at, (0, -1)) if at else ((0, -1),):
            row = db.conn.execute(_NEXT, (*LOOK_STATUSES, *key)).fetchone()
            if row is not None:
                return int(row[0])
    return None


def one_page(db: Database, page_id: int) -> Row | None:
    """Returns a page with all that is shown of it; None where there is no such page, or no file is listed with it.

    page_index: 0-based. file_id, paths: of the files that have it, those that are there first. text, markdown: those
    that count, which are a correction's where it has one; read_text, read_markdown: as read. attempt_id: of what was
    read, None where nothing was yet. words: packed (storage.words), of read_text. width_px, height_px: of the upright
    page that boxes refer to. blocks: those of read_text with a place. error: why there is no text. previous_id,
    next_id: the document's pages before and after this one. Other columns: see storage.types.PageRecord.
    """
    for page in rows(db, _PAGE, (page_id,)):
        if files := pairs(db, _FILES, (page["document_id"],)):
            blocks = rows(db, _BLOCKS, (page["attempt_id"],))
            return {**page, "file_id": next(iter(files)), "paths": tuple(files.values()), "blocks": blocks}
    return None


def _documents(db: Database, clauses: str, values: Sequence[object]) -> list[Row]:
    found = rows(db, f"{_DOCUMENT} {clauses}", values)
    for row in found:
        row["pages"] = by_status(pairs(db, _STATUSES, (row["document_id"],)))
    return found


_DOCUMENT = """
SELECT f.id AS file_id, f.document_id, f.path, f.status, coalesce(f.reason, d.reason) AS reason, d.num_pages
FROM listed_files f JOIN documents d ON d.id = f.document_id
"""
_STATUSES = "SELECT status, count(*) FROM pages WHERE document_id = ? AND asked GROUP BY status"
_PATH = "(SELECT min(path) FROM listed_files f WHERE f.document_id = p.document_id)"
_COLUMNS = (
    f"p.id AS page_id, {_PATH} AS path, p.page_index + 1 AS page, p.status, a.confidence,"
    " coalesce(a.error_message, a.doubt) AS doubt, p.correction_id IS NOT NULL AS is_corrected"
)
_JOINS = (
    "LEFT JOIN attempts a ON a.id = p.current_attempt_id LEFT JOIN corrections c ON c.id = p.correction_id"
)
_ENTRY = (
    f"SELECT {_COLUMNS}, substr(coalesce(c.text, a.text), 1, {_START_CHARS}) AS start FROM pages p {_JOINS}"
)

_HITS = """
FROM page_search CROSS JOIN pages p ON p.id = page_search.rowid
WHERE page_search MATCH :match AND p.asked AND (:status IS NULL OR p.status = :status)
    AND EXISTS (SELECT 1 FROM files f WHERE f.document_id = p.document_id)
"""
_COUNT_HITS = f"SELECT count(*) FROM (SELECT 1 {_HITS} LIMIT :most)"
# FTS5 makes snippets of the rows that it hands out: the innermost query chooses them, the outer one looks them up.
_SNIPPET = "snippet(page_search, -1, char(2), char(3), '…', 24)"
_RANKED = f"""
WITH hit AS (
    SELECT p.id AS page_id, bm25(page_search) AS score, {_SNIPPET} AS snippet {_HITS}
    ORDER BY score, page_id LIMIT :limit OFFSET :start)
SELECT {_COLUMNS}, hit.snippet FROM hit JOIN pages p ON p.id = hit.page_id {_JOINS} ORDER BY hit.score, p.id
"""
_IN_ORDER = f"""
WITH hit AS (
    SELECT p.id AS page_id, {_SNIPPET} AS snippet {_HITS} AND page_search.rowid > :start
    ORDER BY page_search.rowid LIMIT :limit)
SELECT {_COLUMNS}, hit.snippet FROM hit JOIN pages p ON p.id = hit.page_id {_JOINS} ORDER BY p.id
"""
_NEXT = f"""
SELECT p.id FROM pages p
WHERE p.status IN ({", ".join("?" * len(LOOK_STATUSES))}) AND p.asked AND p.correction_id IS NULL
    AND (p.document_id, p.page_index) > (?, ?)
    AND EXISTS (SELECT 1 FROM files f WHERE f.document_id = p.document_id)
ORDER BY p.document_id, p.page_index LIMIT 1
"""
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
_BLOCKS = "SELECT * FROM blocks WHERE attempt_id = ? AND x0_px IS NOT NULL ORDER BY block_index"
_FILES = "SELECT id, path FROM listed_files WHERE document_id = ? ORDER BY status = 'missing', path LIMIT 20"
