"""Databases that are opened, those that are refused, and that refusing changes nothing."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlite_utils import Database

from storage.database import open_beside, open_for_reading, open_for_writing, transaction
from storage.errors import (
    DatabaseAccessError,
    DatabaseBusyError,
    DatabaseNotFoundError,
    DatabaseVersionError,
    NotADatabaseError,
)
from storage.records.store import Store
from storage.upkeep.audit import audit
from tests.storage.sample_records import a_page, new_run, rows

Opener = Callable[[str], Database]


@contextmanager
def permissions_bind(folder: Path, mode: int) -> Iterator[None]:
    """The folder has that mode, for somebody who is not the superuser."""
    folders = [folder, *folder.parents[:3]]
    modes = [(each, each.stat().st_mode) for each in folders if each.stat().st_uid == os.geteuid()]
    superuser = os.geteuid() == 0
    for each, before in modes:
        each.chmod(before & 0o7777 | 0o055)
    folder.chmod(mode)
    if superuser:
        os.seteuid(65534)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)
        for each, before in modes:
            each.chmod(before & 0o7777)


def make_foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE mine (x)")
        conn.commit()


@pytest.mark.parametrize(
    "content", [b"hello\n", b"%PDF-1.7\n" + b"x" * 5000, b"SQLite format 3\0" + b"x" * 2000]
)
@pytest.mark.parametrize("opener", [open_for_writing, open_for_reading])
def test_a_file_that_is_no_database_is_refused_untouched(path: Path, content: bytes, opener: Opener) -> None:
    path.write_bytes(content)
    with pytest.raises(NotADatabaseError, match=r"test\.db: not a database.*--db"):
        opener(str(path))
    assert path.read_bytes() == content


@pytest.mark.parametrize("opener", [open_for_writing, open_for_reading])
def test_another_programs_database_is_refused_untouched(path: Path, opener: Opener) -> None:
    make_foreign(path)
    content = path.read_bytes()
    with pytest.raises(NotADatabaseError, match=r"test\.db: a database of another program.*--db"):
        opener(str(path))
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_an_empty_file_becomes_a_database_only_for_a_writer(path: Path) -> None:
    path.touch()
    with pytest.raises(NotADatabaseError, match="empty file"):
        open_for_reading(str(path))
    assert path.read_bytes() == b""
    open_for_writing(str(path)).close()
    open_for_reading(str(path)).close()


def test_a_missing_database_is_never_made_by_reading(path: Path) -> None:
    with pytest.raises(DatabaseNotFoundError, match=r"test\.db: no such database.*ocrbatch run"):
        open_for_reading(str(path))
    assert not path.exists()


@pytest.mark.parametrize("opener", [open_for_writing, open_for_reading])
def test_a_folder_is_refused(tmp_path: Path, opener: Opener) -> None:
    with pytest.raises(DatabaseAccessError, match="unable to open"):
        opener(str(tmp_path))


@pytest.mark.parametrize("opener", [open_for_writing, open_for_reading])
def test_a_newer_schema_is_refused(path: Path, opener: Opener) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA user_version = 999")
        conn.commit()
    content = path.read_bytes()
    with pytest.raises(DatabaseVersionError, match=r"test\.db: .*999 is newer.*, 11; upgrade ocrbatch"):
        opener(str(path))
    assert path.read_bytes() == content


def test_a_new_database_is_its_user_s_alone_and_an_old_one_stays_as_it_is(path: Path) -> None:
    before = os.umask(0)  # as generous as can be
    try:
        with Store(path) as store:
            store.record_page(new_run(store), a_page())
            beside = {name: path.with_name(path.name + name) for name in ("", "-wal", "-shm")}
            assert {name: file.stat().st_mode & 0o777 for name, file in beside.items()} == {
                "": 0o600, "-wal": 0o600, "-shm": 0o600,
            }  # fmt: skip
        path.chmod(0o640)
        with Store(path) as store:
            new_run(store)
            assert path.with_name(f"{path.name}-wal").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_any_name_can_be_opened(tmp_path: Path) -> None:
    for name in ("a b.db", "what?.db", "50%#1.db", "naïve.db", "-x.db"):
        Store(tmp_path / name).close()
        open_for_reading(str(tmp_path / name)).close()
    assert len(os.listdir(tmp_path)) == 5


def test_a_reader_sees_a_run_go_on_and_cannot_write(store: Store, path: Path) -> None:
    run_id = new_run(store)
    with open_for_reading(str(path)) as db:
        for expected in (1, 2, 3):
            store.record_page(run_id, a_page(page_index=expected))
            assert db.conn.execute("SELECT count(*) FROM attempts").fetchone() == (expected,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.conn.execute("DELETE FROM pages")


def test_a_reader_never_blocks_the_writer(store: Store, path: Path) -> None:
    run_id = new_run(store)
    for index in range(3):
        store.record_page(run_id, a_page(page_index=index))
    with open_for_reading(str(path)) as db:
        half_read = db.conn.execute("SELECT id FROM attempts")
        half_read.fetchone()
        store.record_page(run_id, a_page(page_index=3))
        assert len(half_read.fetchall()) == 2  # a snapshot: the new page is not in it


def test_a_database_in_a_folder_without_write_permission_can_be_read(path: Path) -> None:
    with Store(path) as store:
        store.record_page(new_run(store), a_page("archived"))
    path.chmod(0o644)  # for whoever the test becomes
    with permissions_bind(path.parent, 0o555), open_for_reading(str(path)) as db:
        assert [text for (text,) in db.conn.execute("SELECT text FROM results")] == ["archived"]
        assert audit(db).problems == []


def test_what_a_killed_run_left_in_the_log_is_not_passed_over(path: Path) -> None:
    with Store(path) as store:
        store.record_page(new_run(store), a_page("only in the log"))
        left = {name: path.with_name(name).read_bytes() for name in (path.name, f"{path.name}-wal")}
    for name, content in left.items():
        path.with_name(name).write_bytes(content)
    with (
        permissions_bind(path.parent, 0o555),
        pytest.raises(DatabaseAccessError, match=r"run was killed.*test\.db-wal; copy both"),
    ):
        open_for_reading(str(path))
    with open_for_reading(str(path)) as db:
        assert [text for (text,) in db.conn.execute("SELECT text FROM results")] == ["only in the log"]


@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_a_database_that_may_not_be_written_is_refused_and_said_to_be(path: Path, folder_mode: int) -> None:
    Store(path).close()
    content = path.read_bytes()
    path.chmod(0o444)
    with permissions_bind(path.parent, folder_mode):
        says = "cannot lock .*writable folder" if folder_mode == 0o555 else "cannot be written .*read-only"
        with pytest.raises(DatabaseAccessError, match=says):
            Store(path)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


LIMITED = """
import resource, sys
from storage.errors import DatabaseAccessError
from storage.records.store import Store
from tests.storage.sample_records import a_page, new_run
with Store(sys.argv[1]) as store:
    run_id = new_run(store)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    try:
        for index in range(100):
            store.record_page(run_id, a_page("x" * 20_000, index % 3))
            print(index, flush=True)
    except DatabaseAccessError as error:
        print(error)
"""


def test_a_disk_that_takes_no_more_costs_no_stored_page(path: Path) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True, cwd=root
    )
    *stored, said = done.stdout.splitlines()
    assert "nothing more can be written to the disk" in said
    assert "run again, finished pages are kept" in said
    assert 0 < len(stored) < 100
    assert rows(path, "SELECT count(*) FROM attempts") == [(len(stored),)]
    with open_for_reading(str(path)) as db:
        assert audit(db).problems == []


def test_a_power_cut_damages_nothing(path: Path) -> None:
    """NORMAL (1) or more: the disk is waited for before and after the log is brought into the file.

    With OFF (0) a power cut in between could leave a database that cannot be read.
    """
    with closing(open_for_writing(str(path))) as writing, closing(open_beside(str(path))) as beside:
        for db in (writing, beside):
            assert db.conn.execute("PRAGMA synchronous").fetchone()[0] >= 1


def test_another_programs_lock_is_explained(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = new_run(store)
    assert rows(path, "PRAGMA busy_timeout") != [(30_000,)]
    assert store._db.conn.execute("PRAGMA busy_timeout").fetchone() == (30_000,)
    store._db.conn.execute("PRAGMA busy_timeout = 10")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            DatabaseBusyError, match=r"another program has held the database for 30 s .*; close it"
        ):
            store.record_page(run_id, a_page())
        other.execute("ROLLBACK")
    store.record_page(run_id, a_page())


def test_a_damaged_database_is_explained(path: Path) -> None:
    with Store(path) as store:
        new_run(store)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(DatabaseAccessError, match=r"damaged.*\.recover"):
        open_for_writing(str(path))


def test_bugs_stay_as_they_are(path: Path) -> None:
    db = open_for_writing(str(path))
    with db, pytest.raises(sqlite3.IntegrityError), transaction(db, str(path)) as conn:
        conn.execute("INSERT INTO files (path) VALUES ('x')")
    assert rows(path, "SELECT count(*) FROM files") == [(0,)]
