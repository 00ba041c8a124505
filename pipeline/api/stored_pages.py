"""Pages of a database as values of the Python API. Torch-free."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from sqlite_utils import Database

from pipeline.api.page_text import PageText, of_row
from pipeline.ingest.globs import stored_path_matcher
from storage.database import open_for_reading
from storage.errors import SelectionError
from storage.export.rows import export_rows
from storage.export.selection import Selection, parse_since
from storage.types import PAGE_STATUSES


def results(
    db: str | os.PathLike[str],
    *,
    path: str | Iterable[str] = (),
    status: str | Iterable[str] = (),
    since: str | int | None = None,
    min_confidence: float | None = None,
    max_confidence: float | None = None,
    words: bool = True,
) -> Iterator[PageText]:
    """Yields the pages of a database, ordered by path and number, as `ocrbatch export` does.

    A run may be writing to it meanwhile; one page is in memory at a time. path: globs of files or folders, such as
    "*.pdf" or "2026/*". status: of pages, such as "doubtful". since: only pages read since: "last" run, a run's number,
    or a date such as "2026-01-31" (UTC). min_confidence, max_confidence: 0 to 1, as the options of `ocrbatch export`.
    words: False leaves out the places of words, which is faster.

    Raises, when the first page is asked for: DatabaseNotFoundError and other kinds of StorageError where the database
    cannot be read, SelectionError where a value selects nothing that there could be.
    """
    with open_for_reading(os.fspath(db)) as database:
        chosen = selection(
            database,
            path=path,
            status=status,
            since=None if since is None else str(since),
            min_confidence=min_confidence,
            max_confidence=max_confidence,
        )
        yield from map(of_row, export_rows(database, chosen, with_words=words))


def selection(
    db: Database,
    *,
    path: str | Iterable[str] = (),
    status: str | Iterable[str] = (),
    since: str | None = None,
    **limits: Any,
) -> Selection:
    """Returns the selection of pages that all of these together leave; `results` says what each is.

    limits: further fields of the selection. Raises: SelectionError.
    """
    globs, statuses = ((some,) if isinstance(some, str) else tuple(some) for some in (path, status))
    for name in statuses:
        if name not in PAGE_STATUSES:
            raise SelectionError(f"{name!r} is not a page status; choose from {', '.join(PAGE_STATUSES)}")
    return Selection(
        since=None if since is None else parse_since(db, since),
        statuses=statuses,
        wants_path=stored_path_matcher(globs) if globs else None,
        **limits,
    )
