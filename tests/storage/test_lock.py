"""One run at a time; the lock dies with its holder and leaves nothing behind."""

import os
from pathlib import Path

import pytest

from storage.errors import DatabaseAccessError, DatabaseBusyError
from storage.lock import is_locked, lock_path, run_lock
from storage.store import Store


def test_a_second_run_is_refused_until_the_first_ends(path: Path) -> None:
    with Store(path):
        assert is_locked(str(path))
        with pytest.raises(DatabaseBusyError, match=rf"test\.db: in use .*process {os.getpid()} .*--db"):
            Store(path)
    assert not is_locked(str(path))
    with Store(path):
        pass


def test_a_link_leads_to_the_same_lock(path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    with Store(path), pytest.raises(DatabaseBusyError):
        Store(link)


def test_a_lock_file_left_behind_locks_nothing(path: Path) -> None:
    Path(lock_path(str(path))).write_text("process 1 on a machine long gone\n")
    assert not is_locked(str(path))
    with Store(path):
        pass
    assert not os.path.exists(lock_path(str(path)))


def test_asking_does_not_disturb_a_run(path: Path) -> None:
    with run_lock(str(path)):
        assert is_locked(str(path))
        assert is_locked(str(path))
        with pytest.raises(DatabaseBusyError), run_lock(str(path)):
            pass


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseAccessError, match=r"no/test\.db: .*No such file.*existing"):
        Store(tmp_path / "no" / "test.db")


def test_the_lock_is_released_when_opening_fails(path: Path) -> None:
    path.write_bytes(b"not a database at all")
    with pytest.raises(Exception, match="not a database"):
        Store(path)
    assert os.listdir(path.parent) == [path.name]
