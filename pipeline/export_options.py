"""What the options of `ocrbatch export` select."""

import os
from collections.abc import Callable, Sequence

from sqlite_utils import Database

from pipeline.globs import matcher
from storage.errors import SelectionError
from storage.export.selection import Selection, parse_since
from storage.types import PAGE_STATUSES


def selection(
    db: Database, *, since: str | None, statuses: str | None, patterns: Sequence[str], superseded: bool
) -> Selection:
    """Returns the pages that all options together leave. statuses: by commas. Raises: SelectionError."""
    return Selection(
        since=None if since is None else parse_since(db, since),
        statuses=() if statuses is None else _statuses(statuses),
        wants_path=_wanted(patterns) if patterns else None,
        superseded=superseded,
    )


def _statuses(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in PAGE_STATUSES:
            raise SelectionError(
                f"--status: {name!r} is no status of a page; there are {', '.join(PAGE_STATUSES)}"
            )
    return names


def _wanted(patterns: Sequence[str]) -> Callable[[str], bool]:
    """The globs of `ingest.include` on the whole stored path, which they may begin with a slash or not."""
    matches = matcher([glob for pattern in patterns for glob in _globs(os.path.normpath(pattern))])
    return lambda path: matches(os.path.normpath(path).lstrip("/"))


def _globs(pattern: str) -> list[str]:
    """Stored paths are absolute: one that is not, and names folders, may stand for the end of one."""
    is_relative = "/" in pattern and not pattern.startswith(("/", "**"))
    return [pattern, f"**/{pattern}"] if is_relative else [pattern]
