"""Compares the pages of two databases, or of two runs in one: what changed, what is new, what is gone.

Pages are the same if their document's content and their number are; a document whose content only one side has is the
one at the same path on the other.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from heapq import nlargest, nsmallest
from statistics import mean
from typing import Any

from rapidfuzz.distance import Levenshtein

from storage.database import database_path, explained
from storage.errors import SelectionError
from storage.queries.matching import Matched, Side, SidePage, matching, pages_of

__all__ = ("Comparison", "PageChange", "Side", "compare")

# Changed pages that are kept until the worst of them are chosen.
_BEFORE_SORTED = 1000


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
    """Returns the comparison; at most `limit` pages in each of its lists. Raises: SelectionError for an unknown run.

    One document's pages are in memory at a time, and the lists.
    """
    for side in (before, after):
        _check_run(side)
    made = _Made(before, after, limit)
    with matching(before, after) as documents, closing(made):
        for first, second in documents.pairs():
            made.add(first, second)
        for second in documents.only_second():
            made.add_new(second, pages_of(after, second.id))
        stages = [_stages(side) for side in (before, after)]
        found = made.found()
    found.stages = {name: (stages[0].get(name), stages[1].get(name)) for name in stages[0] | stages[1]}
    return found


class _Made:
    """A comparison while it is made. The shares of pages that differ are on disk, for their median."""

    def __init__(self, before: Side, after: Side, limit: int) -> None:
        self._before, self._after, self._limit = before, after, limit
        self._found = Comparison()
        self._statuses: Counter[tuple[str, str]] = Counter()
        self._changes: list[PageChange] = []
        self._new: list[tuple[int, int, str]] = []  # place of the document, page, path
        self._shares = sqlite3.connect("")
        self._shares.execute("CREATE TABLE shares (share REAL NOT NULL)")

    def add(self, first: Matched, second: Matched | None) -> None:
        """Adds a document of the first side, and what it is on the second."""
        pages = pages_of(self._before, first.id)
        others = {} if second is None else pages_of(self._after, second.id)
        for number, page in pages.items():
            other = others.pop(number, None)
            if other is not None:
                self._add_page(first.path, number, page, other)
                continue
            self._found.num_lost += 1
            if len(self._found.lost) < self._limit:
                self._found.lost.append((first.path, number))
        if second is not None:
            self.add_new(second, others)

    def add_new(self, document: Matched, pages: Iterable[int]) -> None:
        """Adds pages that only the second side has; documents come in any order."""
        places = [(document.place, number, document.path) for number in pages]
        self._found.num_new += len(places)
        self._new = nsmallest(self._limit, [*self._new, *places]) if places else self._new

    def found(self) -> Comparison:
        """Returns the comparison, without stages."""
        found, number = self._found, self._found.changed
        if number:
            middle = "SELECT share FROM shares ORDER BY share LIMIT ? OFFSET ?"
            found.median_share = mean(
                share for (share,) in self._shares.execute(middle, (2 - number % 2, (number - 1) // 2))
            )
        found.most_changed = self._worst()
        found.statuses = dict(self._statuses.most_common())
        found.new = [(path, page) for _, page, path in self._new]
        return found

    def close(self) -> None:
        self._shares.close()

    def _add_page(self, path: str, number: int, page: SidePage, other: SidePage) -> None:
        if page.status != other.status:
            self._statuses[page.status, other.status] += 1
        share = 0.0
        if page.text_sha256 is None or page.text_sha256 != other.text_sha256:
            share = _share(_text(self._before, page.attempt), _text(self._after, other.attempt))
        if not share:
            self._found.same += 1
            return
        self._found.changed += 1
        self._shares.execute("INSERT INTO shares VALUES (?)", (share,))
        self._changes.append(
            PageChange(path=path, page=number, share=share, before=page.status, after=other.status)
        )
        if len(self._changes) > self._limit + _BEFORE_SORTED:
            self._changes = self._worst()

    def _worst(self) -> list[PageChange]:
        return nlargest(self._limit, self._changes, key=lambda change: change.share)


def _check_run(side: Side) -> None:
    if side.run_id is None:
        return
    with explained(database_path(side.db)):
        row = side.db.conn.execute("SELECT 1 FROM runs WHERE id = ?", (side.run_id,)).fetchone()
    if row is None:
        raise SelectionError(f"there is no run {side.run_id}; `ocrbatch status` lists them")


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
