"""Selects the pages of an export."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlite_utils import Database

from storage.database import database_path, number_of
from storage.errors import SelectionError
from storage.lock import is_locked


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """Selects pages whose text comes from these runs (both ends included), or was stored at a time or later.

    time: UTC, ISO 8601.
    """

    first_run: int = 0
    last_run: int | None = None
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The pages to export; by default every page of every listed file.

    path: of one file, as stored. since: None for all. statuses: of pages; empty: all. wants_path: takes a file's path
    as stored, returns whether to include it. superseded: also include content that paths held before their present one.
    max_confidence: leaves out pages above it, and pages without a confidence. min_confidence: leaves out pages below
    it, unless somebody corrected them; pages without a confidence, such as those whose own text was taken, stay.
    """

    path: str | None = None
    since: Since | None = None
    statuses: tuple[str, ...] = ()
    wants_path: Callable[[str], bool] | None = None
    superseded: bool = False
    max_confidence: float | None = None
    min_confidence: float | None = None

    @property
    def is_narrow(self) -> bool:
        """Returns whether it leaves anything out."""
        narrow = (self.path, self.since, self.wants_path, self.max_confidence, self.min_confidence)
        return bool(self.statuses) or any(part is not None for part in narrow)


def parse_since(db: Database, text: str) -> Since:
    """Returns what "last", a run's number, or an ISO 8601 date or time (UTC unless it says otherwise) stands for.

    "last" is the last run that has ended, which may have read nothing; a number means that run and all later ones.
    Raises: SelectionError.
    """
    if text == "last":
        return _last_run(db)
    if text.isascii() and text.isdigit():
        number, last = int(text), number_of(db, "SELECT coalesce(max(id), 0) FROM runs")
        if not 1 <= number <= last:
            raise SelectionError(
                f"there is no run {number}; the last is {last}, `ocrbatch status` lists them"
            )
        return Since(first_run=number)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise SelectionError(
            f"{text!r} is neither last, nor the number of a run, nor a date such as 2026-01-31 or 2026-01-31T22:00"
        ) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return Since(time=moment.isoformat(timespec="milliseconds"))


def prepare(db: Database, selection: Selection) -> None:
    """Creates what `selected` needs; SQLite allows it only while no query is running."""
    if selection.wants_path is not None:
        db.conn.create_function("wants_path", 1, selection.wants_path)


def selected(db: Database, view: str, selection: Selection) -> Iterator[dict[str, Any]]:
    """Yields the rows of the view results or superseded_results, ordered by path, content and page, unsorted."""
    conditions, values = _conditions(selection)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    # The views' joins leave the order to SQLite; path and page are unique indices, so nothing has to be sorted.
    order = "path, page_index" if view == "results" else "path, document_id, page_index"
    rows: Iterator[dict[str, Any]] = db.query(f"SELECT * FROM {view}{where} ORDER BY {order}", values)
    return rows


def _conditions(selection: Selection) -> tuple[list[str], dict[str, Any]]:
    """Returns conditions and their values; the plus keeps SQLite from choosing another index and sorting."""
    since, statuses = selection.since or Since(), selection.statuses
    marks = [f"status_{number}" for number in range(len(statuses))]
    values = {
        "path": selection.path,
        "first_run": since.first_run,
        "last_run": since.last_run,
        "time": since.time,
        "max_confidence": selection.max_confidence,
        "min_confidence": selection.min_confidence,
        **dict(zip(marks, statuses, strict=True)),
    }
    conditions = {
        "path = :path": selection.path is not None,
        "+run_id >= :first_run AND +finished_at >= :time": selection.since is not None,
        "+run_id <= :last_run": since.last_run is not None,
        f"+status IN (:{', :'.join(marks)})": bool(statuses),
        "+confidence <= :max_confidence": selection.max_confidence is not None,
        "(+confidence IS NULL OR +confidence >= :min_confidence OR corrected_at IS NOT NULL)": (
            selection.min_confidence is not None
        ),
        "wants_path(path)": selection.wants_path is not None,
    }
    return [condition for condition, is_wanted in conditions.items() if is_wanted], values


def _last_run(db: Database) -> Since:
    alive = is_locked(database_path(db))
    number = number_of(
        db, "SELECT coalesce(max(id), 0) FROM runs WHERE state <> 'running' OR NOT ?", (alive,)
    )
    # A database without such a run has nothing new.
    return Since(first_run=number or 1, last_run=number)
