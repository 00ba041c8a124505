"""Opens the database for writing or reading, or refuses it when it is not ours."""

import contextlib
import os
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

if is_without := "pandas" not in sys.modules:
    # sqlite-utils imports pandas where it is installed, a third of a second, for its timestamps, which no row here has.
    sys.modules["pandas"] = None  # type: ignore[assignment]
from sqlite_utils import Database

if is_without:
    del sys.modules["pandas"]

from storage import schema
from storage.errors import (
    DatabaseAccessError,
    DatabaseBusyError,
    DatabaseNotFoundError,
    DatabaseVersionError,
    NotADatabaseError,
    StorageError,
)
from storage.lock import RunLock
from storage.strings.search_lines import search_lines

BUSY_TIMEOUT_S = 30.0
# A row of a query: column -> value.
Row = dict[str, Any]
# What is bound to a statement, by names or by places.
Values = Sequence[object] | Mapping[str, object]
_MADE_ANEW = re.compile(r"CREATE (VIEW|TRIGGER) (\w+)")


def open_for_writing(path: str) -> Database:
    """Returns the database, created or brought up to date where needed. The caller holds the run lock.

    Raises: NotADatabaseError, DatabaseVersionError (both leave the file as it was), DatabaseAccessError.
    """
    # SQLite opens a file it may not write all the same, and says so only at the first write.
    if os.path.isfile(path) and not os.access(path, os.W_OK, effective_ids=True):
        raise _read_only(path, "no permission to write")
    with explained(path):
        # Made for its user alone; SQLite gives its side files the same mode, and says what is wrong where this fails.
        with contextlib.suppress(OSError):
            os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL, 0o600))
        db = _connect(path, "mode=rwc")
        try:
            if not _is_empty(db):
                _check_ours(db, path)
            db.conn.execute("PRAGMA journal_mode = WAL")
            db.conn.execute("PRAGMA synchronous = NORMAL")
            # A step may rebuild a table: dropping the old one must not delete the rows that refer to it.
            db.conn.execute("PRAGMA foreign_keys = OFF")
            _bring_up_to_date(db, path)
            db.conn.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            db.close()
            raise
        return db


def open_beside(path: str) -> Database:
    """Returns a second connection to a database that is open for writing: for small writes from another thread.

    It never checkpoints the log into the file, which waits for the disk; the first connection does, and others may
    write meanwhile. Raises: DatabaseAccessError.
    """
    with explained(path):
        db = _connect(path, "mode=rw")
        db.conn.execute("PRAGMA synchronous = NORMAL")
        db.conn.execute("PRAGMA foreign_keys = ON")
        db.conn.execute("PRAGMA wal_autocheckpoint = 0")
        return db


def open_for_reading(path: str) -> Database:
    """Returns the database, read-only; a run may be writing to it meanwhile. Never creates one.

    Raises: DatabaseNotFoundError, NotADatabaseError, DatabaseVersionError, DatabaseAccessError.
    """
    check_exists(path)
    with explained(path):
        db = _connect_reader(path)
        try:
            if _is_empty(db):
                raise NotADatabaseError(f"{path}: an empty file, not a database of ocrbatch; check --db")
            _check_ours(db, path)
            if (version := number_of(db, "PRAGMA user_version")) < schema.VERSION:
                raise DatabaseVersionError(
                    f"{path}: schema version {version} is older than this program's "
                    f"({schema.VERSION}); update it with `ocrbatch run PATH --db {path}`"
                )
            db.conn.execute("PRAGMA query_only = ON")
        except BaseException:
            db.close()
            raise
        return db


def check_exists(path: str) -> None:
    """Raises DatabaseNotFoundError if there is no file at the path."""
    if not os.path.exists(path):
        raise DatabaseNotFoundError(
            f"{path}: no such database; check --db, or make one with `ocrbatch run PATH --db {path}`"
        )


@contextlib.contextmanager
def held_for_upkeep(path: str) -> Iterator[Database]:
    """Yields the database for writing, under the run lock. Never creates one.

    Marks a run that died as interrupted, because the lock file that shows its death is gone for the next run.
    Raises: DatabaseNotFoundError, DatabaseBusyError while a run holds it, and what open_for_writing raises.
    """
    check_exists(path)
    with RunLock(path) as lock, contextlib.closing(open_for_writing(path)) as db, explained(path):
        if lock.died:
            with transaction(db, path) as conn:
                conn.execute("UPDATE runs SET state = 'interrupted' WHERE state = 'running'")
        yield db


@contextlib.contextmanager
def transaction(db: Database, path: str) -> Iterator[sqlite3.Connection]:
    """Runs one write transaction: commits all of it or, whatever is raised, nothing.

    It takes the write lock at once: a transaction that starts with a read cannot wait for another writer.
    """
    with explained(path), db.conn:
        db.conn.execute("BEGIN IMMEDIATE")
        yield db.conn


@contextlib.contextmanager
def snapshot(db: Database) -> Iterator[None]:
    """Has all that is read in the block come from one state of the database, while a run goes on writing.

    Nothing of what it writes, to temporary tables, stays. Within another such block it does nothing.
    """
    if db.conn.in_transaction:
        yield
        return
    with explained(database_path(db)):
        db.conn.execute("BEGIN")
        try:
            yield
        finally:
            db.conn.execute("ROLLBACK")


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
    """Turns SQLite's errors about the file into errors that say what to do; bugs stay as they are."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError):
        raise
    except sqlite3.DatabaseError as error:
        raise _explain(error, path) from error


def database_path(db: Database) -> str:
    """Returns the path of the file behind a connection."""
    return str(db.conn.execute("PRAGMA database_list").fetchone()[2])


def rows(db: Database, sql: str, values: Values = ()) -> list[Row]:
    """Returns the rows of a query. Raises: StorageError."""
    with explained(database_path(db)):
        return list(db.query(sql, values))


def pairs(db: Database, sql: str, values: Values = ()) -> dict[Any, Any]:
    """Returns the rows of a query as a dictionary: first column -> second. Raises: StorageError."""
    with explained(database_path(db)):
        return dict(db.conn.execute(sql, values).fetchall())


def number_of(db: Database, sql: str, values: Values = ()) -> int:
    """Returns a query's one whole number. Raises: StorageError."""
    with explained(database_path(db)):
        return int(db.conn.execute(sql, values).fetchone()[0])


def _explain(error: sqlite3.DatabaseError, path: str) -> StorageError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return DatabaseBusyError(
            f"{path}: another program has held the database for {BUSY_TIMEOUT_S:g} s ({error}); "
            "close it and run again, finished pages are kept; or use another --db"
        )
    if name == "SQLITE_NOTADB":
        return NotADatabaseError(f"{path}: not a database; it was left untouched; choose another --db")
    if name.startswith("SQLITE_CORRUPT"):
        return DatabaseAccessError(
            f"{path}: the database is damaged ({error}); "
            f"restore a copy, or save what is left with `sqlite3 {path} .recover`"
        )
    if name == "SQLITE_FULL":
        return DatabaseAccessError(
            f"{path}: the disk is full; free space and run again, finished pages are kept"
        )
    if name.startswith("SQLITE_READONLY"):
        return _read_only(path, error)
    if name.startswith(("SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_SHM")):
        return DatabaseAccessError(
            f"{path}: nothing more can be written to the disk ({error}): it is full or failing, or a quota or a limit "
            "on the size of files is reached; fix that and run again, finished pages are kept"
        )
    return DatabaseAccessError(
        f"{path}: {error}; check that the file and its folder exist, can be read and written, "
        "and lie on a local disk"
    )


def _read_only(path: str, reason: object) -> StorageError:
    return DatabaseAccessError(
        f"{path}: cannot be written ({reason}): the file, its folder or the whole disk is read-only for this user; "
        "change that, or use another --db; finished pages are kept"
    )


def _connect(path: str, mode: str) -> Database:
    uri = f"{Path(os.path.realpath(path)).as_uri()}?{mode}"
    conn = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    try:
        conn.execute("SELECT count(*) FROM sqlite_master").fetchone()  # SQLite first reads the file here
        return Database(conn, execute_plugins=False)
    except BaseException:
        conn.close()
        raise


def _connect_reader(path: str) -> Database:
    # Not mode=ro: such a connection cannot remove the -wal and -shm files that it creates, and leaves them behind.
    # SQLite opens the file read-only by itself where it may not write; query_only does the rest.
    try:
        return _connect(path, "mode=rw")
    except sqlite3.OperationalError as error:
        # A database in WAL mode needs those files even to be read. In a folder where they cannot be created
        # (read-only media, a full disk) no other process is writing either, unless a WAL is there.
        name = getattr(error, "sqlite_errorname", "")
        no_access = name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_IOERR_SHM"))
        if not no_access or not os.path.isfile(path):
            raise
        log = os.path.realpath(path) + "-wal"
        if os.path.exists(log) and os.path.getsize(log):
            raise DatabaseAccessError(
                f"{path}: cannot be read here ({error}): its last run was killed, and what that wrote is still in "
                f"{path}-wal; copy both to a folder that can be written to, and name the copy with --db"
            ) from error
        return _connect(path, "mode=ro&immutable=1")


def _is_empty(db: Database) -> bool:
    asked = "SELECT count(*) FROM sqlite_master", "PRAGMA application_id", "PRAGMA user_version"
    return not any(number_of(db, sql) for sql in asked)


def _check_ours(db: Database, path: str) -> None:
    if number_of(db, "PRAGMA application_id") != schema.APPLICATION_ID:
        raise NotADatabaseError(
            f"{path}: a database of another program; it was left untouched; choose another --db"
        )
    version = number_of(db, "PRAGMA user_version")
    if version < schema.OLDEST:
        raise DatabaseVersionError(
            f"{path}: schema version {version} is too old for this program, which updates {schema.OLDEST} and "
            "later; the file was left untouched; keep it, and start a new database with another --db"
        )
    if version > schema.VERSION:
        raise DatabaseVersionError(
            f"{path}: schema version {version} is newer than this program's, {schema.VERSION}; upgrade ocrbatch, or "
            "use another --db"
        )


def _bring_up_to_date(db: Database, path: str) -> None:
    """Creates the schema, or takes the steps to it. One transaction: a file is ours and complete, or as it was."""
    version = number_of(db, "PRAGMA user_version")
    if version == schema.VERSION:
        return
    steps = [schema.STEPS[number] for number in range(version, schema.VERSION)] if version else []
    db.conn.create_function(
        "search_lines", 1, lambda text: None if text is None else search_lines(text), deterministic=True
    )
    with transaction(db, path) as conn:
        for kind, name in _MADE_ANEW.findall(schema.VIEWS + schema.TRIGGERS):
            conn.execute(f"DROP {kind} IF EXISTS {name}")
        _execute(conn, *(steps or [schema.TABLES]), schema.VIEWS)
        if not db["page_search"].exists():
            _execute(conn, schema.INDEX)
        numbers = f"PRAGMA application_id = {schema.APPLICATION_ID}; PRAGMA user_version = {schema.VERSION}"
        _execute(conn, schema.TRIGGERS, numbers)


def _execute(conn: sqlite3.Connection, *scripts: str) -> None:
    """Runs scripts within a transaction. sqlite-utils would join each of their characters to all before it: 50 ms."""
    statement = ""
    for part in "".join(scripts).split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            conn.execute(statement)
            statement = ""
