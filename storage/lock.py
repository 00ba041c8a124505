"""One run per database, held by an advisory lock that dies with its process.

The lock is flock(2) on a file beside the database, never on the database itself: SQLite keeps POSIX locks
there, which any close() of the same file in this process would drop. The kernel releases it however the
process ends, kill -9 included; a lock file left behind is harmless. On NFS flock works between hosts only
where the server's lock daemon does; SQLite's WAL does not work over a network file system at all, so the
database belongs on a local disk.
"""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator

from storage.errors import DatabaseAccessError, DatabaseBusyError

# A reader that asks whether a run is under way holds the lock for an instant: try again before giving up.
TRIES = 5
PAUSE_S = 0.1


def lock_path(database: str) -> str:
    """Returns the lock file's path: beside the file that a symbolic link leads to."""
    return os.path.realpath(database) + ".lock"


@contextlib.contextmanager
def run_lock(database: str) -> Iterator[None]:
    """Holds the database for one run. Raises: DatabaseBusyError, DatabaseAccessError."""
    path = lock_path(database)
    descriptor = _acquire(path, database)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield
    finally:
        # Removed while held, so that nobody can hold a lock on a file that is no longer there: see _acquire.
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.close(descriptor)


def is_locked(database: str) -> bool:
    """Returns whether a run holds the database; True where that cannot be found out."""
    try:
        descriptor = os.open(lock_path(database), os.O_RDONLY)
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
        if _still_there(descriptor, path):
            return descriptor
        os.close(descriptor)  # its last holder removed it between open and flock
    raise DatabaseBusyError(
        f"{database}: in use by another run{_holder(path)}; wait until it ends, or use another --db"
    )


def _open(path: str, database: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise _cannot_lock(path, database, error) from error


def _cannot_lock(path: str, database: str, error: OSError) -> DatabaseAccessError:
    return DatabaseAccessError(
        f"{database}: cannot lock {path}: {error.strerror}; "
        "choose a --db in an existing, writable folder on a local disk"
    )


def _still_there(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _holder(path: str) -> str:
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        line = file.read(200).strip()
        if line:
            return f" ({line})"
    return ""
