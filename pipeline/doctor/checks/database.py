"""Checks the database: reachable, writable, undamaged, of this program's version, on a suitable disk."""

import contextlib
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing

from pipeline.config.schema import Config
from pipeline.doctor.finding import Finding, fail, note, ok, size
from pipeline.doctor.mounts import is_remote, mount_of
from storage import schema
from storage.database import open_for_reading
from storage.errors import DatabaseVersionError, NotADatabaseError, StorageError
from storage.lock import owner

_WHAT = "database"


def check(config: Config) -> Iterator[Finding]:
    """Checks the configured database without writing a row to it."""
    path = config.store.database
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        yield fail(_WHAT, f"{path}: there is no folder {folder}", "create it, or choose another --db")
        return
    yield _disk_kind(folder)
    trouble = _write_error(folder)
    if trouble:
        yield fail(
            _WHAT,
            f"{folder} cannot be written to: {trouble}",
            "change its permissions, or choose another --db",
        )
    elif not os.path.lexists(path):
        yield ok(_WHAT, f"{path} does not exist yet; the first run creates it")
    if os.path.lexists(path):
        yield from _existing(path)


def _existing(path: str) -> Iterator[Finding]:
    holder = owner(path)
    if holder is not None:
        yield note("run lock", f"held by {holder}", "a second run ends at once with exit code 4")
    else:
        yield ok("run lock", "no process holds the database")
    if not os.access(path, os.W_OK):
        yield fail(
            _WHAT, f"{path} is read-only for this user", "change its permissions, or choose another --db"
        )
    try:
        with closing(open_for_reading(path)) as db:
            yield ok("schema", f"version {db.conn.execute('PRAGMA user_version').fetchone()[0]}")
            yield _integrity(db.conn, path)
    except DatabaseVersionError as error:
        yield _version(error)
    except NotADatabaseError as error:
        if os.path.getsize(path) == 0:
            yield ok(_WHAT, f"{path} is empty; the first run fills it")
        else:
            yield _storage(error)
    except StorageError as error:
        yield _storage(error)


def _integrity(conn: sqlite3.Connection, path: str) -> Finding:
    start = time.monotonic()
    faults = [str(row[0]) for row in conn.execute("PRAGMA quick_check(3)")]
    if faults != ["ok"]:
        found = f"{path} is damaged: {'; '.join(faults)}"
        return fail(_WHAT, found, "restore a copy, or save what is left with sqlite3's .recover")
    (num_attempts,) = conn.execute("SELECT count(*) FROM attempts").fetchone()
    seconds = time.monotonic() - start
    return ok(
        _WHAT, f"{path}: {size(os.path.getsize(path))}, {num_attempts} readings, whole ({seconds:.1f} s)"
    )


def _version(error: DatabaseVersionError) -> Finding:
    if "older" in str(error):
        return note(
            "schema", f"older than this program's ({schema.VERSION})", "the next run brings it up to date"
        )
    return _storage(error)


def _storage(error: StorageError) -> Finding:
    """Returns a storage error as a finding: the part of its message after the last semicolon is the remedy."""
    found, _, remedy = str(error).rpartition("; ")
    return fail(_WHAT, found or str(error), remedy if found else "choose another --db")


def _disk_kind(folder: str) -> Finding:
    """Checks that the disk is local: SQLite's write-ahead log uses shared memory and does not work between hosts."""
    mount = mount_of(folder)
    if mount is None:
        return note("database's disk", "the system does not report its kind")
    point, kind = mount
    if is_remote(kind):
        found = f"{folder} is on {kind} ({point}), where SQLite's write-ahead log does not work safely"
        return fail("database's disk", found, "put the database on a local disk and copy it afterwards")
    return ok("database's disk", f"{kind} ({point}), local")


def _write_error(folder: str) -> str | None:
    """Returns why no file can be written in a folder, None if it can; tries an unnamed file where possible."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 65536)
            file.flush()
            with contextlib.suppress(OSError):
                os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return None
