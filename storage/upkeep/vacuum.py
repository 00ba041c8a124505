"""Shrinks the database file to its contents, rebuilds its search index, and updates SQLite's statistics."""

import os
import shutil
import sqlite3
import tempfile

from storage.database import held_for_upkeep
from storage.errors import DatabaseAccessError


def vacuum(path: str) -> tuple[int, int, bool]:
    """Rewrites the database in place. Needs its size again for a time, next to it and in the temporary folder.

    Returns the bytes of the database and its log, before and after, and whether a reader still needs the log, which
    shrinks later.

    Raises: DatabaseAccessError if there is no such room; DatabaseBusyError, and other kinds of StorageError.
    """
    with held_for_upkeep(path) as db:
        before = _size(path)
        _check_room(db.conn, path)
        db.conn.execute("INSERT INTO page_search (page_search) VALUES ('rebuild')")
        db.conn.execute("ANALYZE")
        db.conn.execute("VACUUM")
        db.conn.execute("PRAGMA optimize")
        (busy, _, _) = db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return before, _size(path), bool(busy)


def room_needed(conn: sqlite3.Connection, path: str) -> dict[str, int]:
    """Returns folder -> bytes that vacuum needs there for a time: the log, and a temporary copy."""
    pages, free, size = (
        int(conn.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    content = (pages - free) * size
    folder, temporary = os.path.dirname(os.path.realpath(path)), _temporary_folder()
    if os.stat(folder).st_dev == os.stat(temporary).st_dev:
        return {folder: 2 * content}
    return {folder: content, temporary: content}


def _check_room(conn: sqlite3.Connection, path: str) -> None:
    for folder, needed in room_needed(conn, path).items():
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise DatabaseAccessError(
                f"{path}: there is no room to rewrite it: {folder} has {free / 1e6:,.0f} MB free, "
                f"{needed / 1e6:,.0f} MB are needed; free some, or set SQLITE_TMPDIR to a folder with room for its copy"
            )


def _temporary_folder() -> str:
    """Returns the folder of SQLite's temporary files: the first of its candidates that can be written to."""
    places = (os.environ.get("SQLITE_TMPDIR"), os.environ.get("TMPDIR"), "/var/tmp", "/usr/tmp", "/tmp")
    for place in places:
        if place and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
            return place
    return tempfile.gettempdir()


def _size(path: str) -> int:
    real = os.path.realpath(path)
    return sum(os.path.getsize(name) for name in (real, real + "-wal") if os.path.exists(name))
