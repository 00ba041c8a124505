"""One run per database, held by an advisory lock that dies with its process.

The lock is flock(2) on a file beside the database, never on the database itself: SQLite keeps POSIX locks
there, which any close() of the same file in this process would drop. The kernel releases it however the
process ends, kill -9 included; a lock file left behind is harmless, whoever owns it. On NFS flock works between
hosts only if the server's lock daemon does; SQLite's WAL does not work on a network file system at all, so
the database belongs on a local disk.
"""

import contextlib
import fcntl
import os
import shlex
import socket
import sys
import time
from datetime import UTC, datetime
from typing import Self

from storage.errors import DatabaseAccessError, DatabaseBusyError
from storage.strings.printable import mask_secrets, one_line

# A reader that checks for a run holds the lock for an instant, so try again before giving up.
TRIES = 5
PAUSE_S = 0.1
_OWNER_CHARACTERS = 400


def lock_path(database: str) -> str:
    """Returns the lock file's path: next to the file that a symbolic link points to."""
    return os.path.realpath(database) + ".lock"


class RunLock:
    """Holds the database for one run; a context manager. Raises: DatabaseBusyError, DatabaseAccessError.

    died: whether its last holder died; a holder that ends in order, even with an error, removes the lock file.
    """

    def __init__(self, database: str) -> None:
        self._database = database
        self._path = lock_path(database)
        self._descriptor = _acquire(self._path, database)
        self.died = os.fstat(self._descriptor).st_size > 0
        self._sign()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def renew(self) -> None:
        """Takes the lock again if somebody removed its file, as another run could start.

        Raises: DatabaseBusyError if one has started; DatabaseAccessError if the file cannot be created.
        """
        if not _still_there(self._descriptor, self._path):
            renewed = _acquire(self._path, self._database)
            os.close(self._descriptor)
            self._descriptor = renewed
            self._sign()

    def release(self) -> None:
        # Removed while held, so that no process can hold a lock on a file that no longer exists: see _acquire.
        with contextlib.suppress(OSError):
            if _still_there(self._descriptor, self._path):
                os.unlink(self._path)
        os.close(self._descriptor)

    def _sign(self) -> None:
        with contextlib.suppress(OSError):  # a full disk, or another user's file; the lock holds all the same
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{_identity()}\n".encode(errors="backslashreplace"))


def owner(database: str) -> str | None:
    """Returns who holds the database ("process 12 on host since ...: command"), None if no process does."""
    return (_written(lock_path(database)) or "unknown") if is_locked(database) else None


def is_locked(database: str) -> bool:
    """Returns whether a run holds the database; True if that cannot be determined."""
    try:
        descriptor = os.open(lock_path(database), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _acquire(path: str, database: str) -> int:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S)
        descriptor = _open(path, database)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        except OSError as error:
            os.close(descriptor)
            raise _cannot_lock(path, database, error) from error
        if _still_there(descriptor, path) and not _replaceable(descriptor, path):
            return descriptor
        os.close(descriptor)  # its last holder removed it between open and flock, or we did
    line = _written(path)
    holder = f"another run ({line})" if line else "another run"
    raise DatabaseBusyError(f"{database}: in use by {holder}; wait until it ends, or use another --db")


def _open(path: str, database: str) -> int:
    # No link is followed: its target would be truncated.
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644)
    except PermissionError as error:  # another user's file can be locked by anyone who may read it
        with contextlib.suppress(OSError):
            return os.open(path, os.O_RDONLY | flags)
        raise _cannot_lock(path, database, error) from error
    except OSError as error:
        raise _cannot_lock(path, database, error) from error


def _replaceable(descriptor: int, path: str) -> bool:
    """Returns whether a file that another user left behind, in which we cannot write our identity, was removed."""
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
        return False
    with contextlib.suppress(OSError):
        os.unlink(path)
        return True
    return False


def _cannot_lock(path: str, database: str, error: OSError) -> DatabaseAccessError:
    if isinstance(error, PermissionError) and os.path.lexists(path):
        return DatabaseAccessError(
            f"{database}: cannot lock {path}: it belongs to another user; if none of their runs is under way, "
            "remove it, or use another --db"
        )
    return DatabaseAccessError(
        f"{database}: cannot lock {path}: {error.strerror}; "
        "choose a --db in an existing, writable folder on a local disk"
    )


def _still_there(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return False


def _identity() -> str:
    """Returns one line: process, host, start and command, without secrets."""
    masked = []
    for argument in sys.argv:
        key, equals, value = argument.partition("=")
        masked.append(f"{key}={mask_secrets(value, key)}" if equals else str(mask_secrets(argument)))
    started = datetime.now(UTC).isoformat(timespec="seconds")
    line = f"process {os.getpid()} on {socket.gethostname()} since {started}: {shlex.join(masked)}"
    return one_line(line)[:_OWNER_CHARACTERS]


def _written(path: str) -> str:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, encoding="utf-8", errors="replace") as file:
            return one_line(file.read(_OWNER_CHARACTERS).strip())
    return ""
