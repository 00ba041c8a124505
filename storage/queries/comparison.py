"""Compares the pages of two databases, or of two runs in one: what changed, what is new, what is gone.

Pages are the same if their document's content and their number are; a document whose content only one side has is the
one at the same path on the other.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from heapq import nlargest
from statistics import median
from typing import Any

from rapidfuzz.distance import Levenshtein
from sqlite_utils import Database

from storage.database import explained
from storage.errors import SelectionError
from storage.queries.statistics import database_path

Key = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two. db: open for reading. run_id: the run whose attempts are meant; None for the current texts."""

    db: Database
    run_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChange:
    """A page whose text is another. page: 1-based. share: of its characters that differ, 0 to 1; 1 where one has none.

    before, after: its status on each side.
    """

    path: str
    page: int
    share: float
    before: str
    after: str


@dataclass(slots=True, kw_only=True)
class Comparison:
    """What two sides have in common, and what not. Mutable while it is made.

    same, changed: numbers of pages on both, with the same text and with another one. median_share: of the characters
    that differ, over changed pages. most_changed: the worst, worst first. statuses: (before, after) -> pages, where
    they differ. lost, new: (path, page) of those on the first side only, or the second, the first of them; num_lost,
    num_new: how many there are. stages: stage -> mean seconds a page on each side, None where it did not run.
    """

    same: int = 0
    changed: int = 0
    median_share: float = 0.0
    most_changed: list[PageChange] = field(default_factory=list)
    statuses: dict[tuple[str, str], int] = field(default_factory=dict)
    num_lost: int = 0
    num_new: int = 0
    lost: list[tuple[str, int]] = field(default_factory=list)
    new: list[tuple[str, int]] = field(default_factory=list)
    stages: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Returns the same as values that json.dumps takes."""
        statuses = [
            {"before": before, "after": after, "pages": n} for (before, after), n in self.statuses.items()
        ]
        return asdict(self) | {"statuses": statuses}


def compare(before: Side, after: Side, *, limit: int = 20) -> Comparison:
    """Returns the comparison; at most `limit` pages in each of its lists. Raises: SelectionError for an unknown run."""
    found = Comparison()
    pages = [_pages(side) for side in (before, after)]
    common = {key[0] for key in pages[0]} & {key[0] for key in pages[1]}
    first, second = (_keyed(side, common) for side in pages)
    shares: list[float] = []
    changes: list[PageChange] = []
    statuses: Counter[tuple[str, str]] = Counter()
    for key, (path, page, status, attempt) in first.items():
        other = second.get(key)
        if other is None:
            continue
        if status != other[2]:
            statuses[status, other[2]] += 1
        share = _share(_text(before, attempt), _text(after, other[3]))
        if share:
            shares.append(share)
            changes.append(PageChange(path=path, page=page, share=share, before=status, after=other[2]))
            changes = nlargest(limit, changes, key=lambda change: change.share)
        else:
            found.same += 1
    found.changed, found.median_share = len(shares), median(shares or [0.0])
    found.most_changed, found.statuses = changes, dict(statuses.most_common())
    lost = [page[:2] for key, page in first.items() if key not in second]
    new = [page[:2] for key, page in second.items() if key not in first]
    found.num_lost, found.num_new, found.lost, found.new = len(lost), len(new), lost[:limit], new[:limit]
    stages = [_stages(side) for side in (before, after)]
    found.stages = {name: (stages[0].get(name), stages[1].get(name)) for name in stages[0] | stages[1]}
    return found


_Page = tuple[str, int, str, int | None]  # path, page, status, attempt


def _pages(side: Side) -> dict[Key, _Page]:
    """Returns the pages of a side by content and number, in the order of their paths."""
    with explained(database_path(side.db)):
        return {
            (sha256, page): (path, page, status, attempt)
            for sha256, path, page, status, attempt in _rows(side)
        }


def _rows(side: Side) -> Iterator[tuple[str, str, int, str, int | None]]:
    conn: sqlite3.Connection = side.db.conn
    if side.run_id is None:
        return iter(
            conn.execute("SELECT sha256, path, page, status, attempt_id FROM results ORDER BY path, page")
        )
    if conn.execute("SELECT 1 FROM runs WHERE id = ?", (side.run_id,)).fetchone() is None:
        raise SelectionError(f"there is no run {side.run_id}; `ocrbatch status` lists them")
    # Of a run's attempts at a page the one that is the page's text, else its last.
    return iter(conn.execute(_OF_RUN, (side.run_id,)))


_OF_RUN = """
SELECT d.sha256, coalesce((SELECT min(path) FROM files f WHERE f.document_id = d.id), d.sha256) AS path,
    p.page_index + 1 AS page, a.status, a.id
FROM attempts a JOIN pages p ON p.id = a.page_id JOIN documents d ON d.id = p.document_id
WHERE a.run_id = ? ORDER BY path, page, a.id = p.current_attempt_id, a.id
"""


def _keyed(pages: dict[Key, _Page], common: set[str]) -> dict[Key, _Page]:
    """Returns the pages by their document's content if both sides have it, else by its path."""
    return {
        (sha256 if sha256 in common else page[0], number): page for (sha256, number), page in pages.items()
    }


def _text(side: Side, attempt: int | None) -> str | None:
    if attempt is None:
        return None
    sql = (
        "SELECT coalesce(c.text, a.text) FROM attempts a LEFT JOIN pages p ON p.current_attempt_id = a.id"
        " LEFT JOIN corrections c ON c.id = p.correction_id WHERE a.id = ?"
        if side.run_id is None
        else "SELECT text FROM attempts WHERE id = ?"
    )
    text: str | None = side.db.conn.execute(sql, (attempt,)).fetchone()[0]
    return text


def _share(before: str | None, after: str | None) -> float:
    """Returns the share of characters that differ, white space collapsed."""
    if before is None or after is None:
        return float(before is not after)
    return float(Levenshtein.normalized_distance(" ".join(before.split()), " ".join(after.split())))


def _stages(side: Side) -> dict[str, float]:
    """Returns the mean seconds a page of every stage, in the order in which stages come."""
    which = (
        "run_id = :run" if side.run_id is not None else "attempt_id IN (SELECT current_attempt_id FROM pages)"
    )
    with explained(database_path(side.db)):
        rows = side.db.conn.execute(
            f"SELECT stage, sum(share_s) / count(DISTINCT attempt_id) FROM timings WHERE {which}"
            " GROUP BY stage ORDER BY min(id)",
            {"run": side.run_id},
        )
        return dict(rows.fetchall())
