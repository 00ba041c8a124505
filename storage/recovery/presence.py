"""Checks that the path of a run's database still leads to it, and saves a copy if it does not.

An open file outlives its name: SQLite would write on, and when the process ends all would be lost. Only names are
checked, as no descriptor of a database may be closed while SQLite has it open (storage.lock). On Linux /proc tells
where the file is now; elsewhere device and inode have to do.
"""

import contextlib
import os
import shlex
import sqlite3
import tempfile
import time
from collections.abc import Iterator

from storage.errors import DatabaseAccessError, DatabaseGoneError
from storage.lock import RunLock

_SIDE_FILES = ("-wal", "-shm")
_DESCRIPTORS = "/proc/self/fd"
_DELETED = " (deleted)"

_Key = tuple[int, int]


class Presence:
    """Watches a database open for writing. lock: the run's, taken again if its file was removed."""

    def __init__(self, path: str, lock: RunLock) -> None:
        self.path = path
        self._real_path = os.path.realpath(path)
        self._lock = lock
        self._seen: dict[str, _Key] = {}

    def look(self) -> None:
        """Checks that database and lock are in place.

        Raises: DatabaseGoneError if the database or one of its side files is gone or replaced; DatabaseBusyError if the
        lock's file was removed and another run has the lock by now.
        """
        for suffix in ("", *_SIDE_FILES):
            self._look_at(suffix)
        self._lock.renew()

    def _look_at(self, suffix: str) -> None:
        path = self._real_path + suffix
        found = _key(path)
        if found is None:  # it cannot be determined now
            return
        before = self._seen.setdefault(suffix, found) if found != (0, 0) else self._seen.get(suffix)
        # Some file systems change inode numbers of a file that is open by this exact name.
        if before in (None, found) or any(target == path for _, target in _open_files()):
            return
        happened = (
            "was deleted or renamed"
            if found == (0, 0)
            else "was deleted or renamed, and another put in its place"
        )
        if suffix:
            what = f"its side file {os.path.basename(path)} {happened}"
        else:
            now = _name_now(before)
            what = f"it {happened}" if now is None else f"it was renamed to {now}"
        raise DatabaseGoneError(f"{self.path}: {what} while the run wrote to it", is_side_file=bool(suffix))

    def where(self) -> str | None:
        """Returns the database's present path, None if it has no known name."""
        return _name_now(self._seen.get("", (0, 0)))


def save_copy(conn: sqlite3.Connection, path: str) -> str:
    """Returns the path of a new database with all that the open one holds: next to it, or wherever there is room.

    Raises: DatabaseAccessError.
    """
    name = f"{os.path.basename(path)}.rescued-{time.strftime('%Y%m%d-%H%M%S')}"
    failures = []
    for folder in dict.fromkeys(
        (os.path.dirname(os.path.realpath(path)), os.getcwd(), tempfile.gettempdir())
    ):
        copy = os.path.join(folder, name)
        if os.path.lexists(copy):
            copy += f"-{os.getpid()}"
        try:
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL, 0o600))
            with contextlib.closing(sqlite3.connect(copy)) as saved:
                conn.backup(saved)
            return copy
        except (sqlite3.Error, OSError) as error:
            failures.append(f"{copy}: {error}")
            with contextlib.suppress(OSError):
                os.unlink(copy)
    raise DatabaseAccessError(f"{path}: what was read could not be saved ({'; '.join(failures)})")


def remedy(path: str, kept_in: str) -> str:
    """Returns what to do about a database that has moved."""
    move = shlex.join(["mv", kept_in, path])
    return f"what was read is in {kept_in}: bring it back with `{move}`, or use it with --db, and run again to go on"


def _key(path: str) -> _Key | None:
    """Returns device and inode; (0, 0) if nothing is there, None if that cannot be determined."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return 0, 0
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _name_now(key: _Key) -> str | None:
    for descriptor, target in _open_files():
        with contextlib.suppress(OSError):
            if (
                _key(f"{_DESCRIPTORS}/{descriptor}") == key
                and not target.endswith(_DELETED)
                and _key(target) == key
            ):
                return target
    return None


def _open_files() -> Iterator[tuple[str, str]]:
    """Yields descriptor and path of this process's open files; nothing if the system does not list them."""
    with contextlib.suppress(OSError):
        for descriptor in os.listdir(_DESCRIPTORS):
            with contextlib.suppress(OSError):
                yield descriptor, os.readlink(f"{_DESCRIPTORS}/{descriptor}")
