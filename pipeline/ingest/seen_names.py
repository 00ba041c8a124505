"""Remembers which of millions of names came before, in little memory."""

import hashlib
import sqlite3
import weakref

from storage.errors import DatabaseAccessError

# 128 bits: two of ten million names share a hash, so that one is lost, once in 10^24 such runs.
_DIGEST_BYTES = 16
# Kept in memory; the rest lies in a temporary file, which the system keeps in memory while there is room.
_CACHE_KIB = 32 << 10


class SeenNames:
    """Names, each with the owner that added it first. For one thread at a time; its file goes with it.

    Hashes are kept in a temporary table of SQLite, on disk but for its cache: ten million paths would
    take gigabytes as strings.
    """

    def __init__(self) -> None:
        # An empty name: a file that has none, made once the cache is full.
        self._names = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._names.close)
        self._names.execute("PRAGMA journal_mode = OFF")
        self._names.execute("PRAGMA synchronous = OFF")
        self._names.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._names.execute("CREATE TABLE seen (name BLOB PRIMARY KEY, owner BLOB) WITHOUT ROWID")
        self._names.execute("BEGIN")

    def add(self, name: str, owner: str | None = None) -> bool:
        """Adds a name, for an owner; returns whether it is new. Raises: DatabaseAccessError."""
        row = _digest(name), None if owner is None else _digest(owner)
        return self._run("INSERT OR IGNORE INTO seen VALUES (?, ?)", row).rowcount == 1

    def is_owner(self, name: str, owner: str) -> bool:
        """Returns whether a name was first added for this owner. Raises: DatabaseAccessError."""
        row = _digest(name), _digest(owner)
        return self._run("SELECT 1 FROM seen WHERE name = ? AND owner = ?", row).fetchone() is not None

    def _run(self, statement: str, values: tuple[bytes | None, ...]) -> sqlite3.Cursor:
        try:
            return self._names.execute(statement, values)
        except sqlite3.Error as error:
            raise DatabaseAccessError(
                f"the names of the files that were found cannot be kept in the temporary folder ({error}); "
                "make room there, or name another folder in TMPDIR"
            ) from error


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES).digest()
