"""One run at a time; the lock dies with its holder and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from storage import lock
from storage.errors import DatabaseAccessError, DatabaseBusyError
from storage.lock import RunLock, is_locked, lock_path, owner
from storage.records.store import Store


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


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatabaseAccessError, match=r"no/test\.db: .*No such file.*existing"):
        Store(tmp_path / "no" / "test.db")


def test_the_lock_is_released_when_opening_fails(path: Path) -> None:
    path.write_bytes(b"not a database at all")
    with pytest.raises(Exception, match="not a database"):
        Store(path)
    assert os.listdir(path.parent) == [path.name]


def test_the_owner_says_who_it_is_without_secrets(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["ocrbatch", "run", "a\nb", "--set", "hub.token=abc", "x" * 500])
    assert owner(str(path)) is None
    with RunLock(str(path)):
        said = owner(str(path))
        assert said is not None
        assert said.startswith(f"process {os.getpid()} on {socket.gethostname()} since 20")
        assert "ocrbatch run 'a\\nb' --set 'hub.token=***' xxx" in said
        assert len(said) <= 400
    assert owner(str(path)) is None


HOLDS = """
import sys, time
from storage.lock import RunLock
with RunLock(sys.argv[1]):
    print(1, flush=True)
    time.sleep(60)
"""


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDS, str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_killed_owner_holds_nothing_and_its_file_is_taken_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(lock, "time", SimpleNamespace(sleep=slept.append))
    with held_elsewhere(path) as process:
        with (
            pytest.raises(DatabaseBusyError, match=f"process {process.pid} on .* since "),
            RunLock(str(path)),
        ):
            pass
        assert 0 < sum(slept) < 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert Path(lock_path(str(path))).read_text().startswith(f"process {process.pid} ")
        assert owner(str(path)) is None
        with RunLock(str(path)) as held:
            assert held.died
            assert str(owner(str(path))).startswith(f"process {os.getpid()} ")
    with RunLock(str(path)) as held:
        assert not held.died, "the one before ended in order"
    assert not os.path.exists(lock_path(str(path)))


def test_a_file_that_its_last_holder_removes_meanwhile_is_not_taken_for_the_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening it and locking it: a lock on a file that is gone would keep nobody out."""
    real, left = lock.fcntl.flock, Path(lock_path(str(path)))
    removed = []

    def flock(descriptor: int, operation: int) -> None:
        if not removed:
            left.unlink()
            removed.append(descriptor)
        real(descriptor, operation)

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    with RunLock(str(path)):
        assert removed
        assert is_locked(str(path))
        with pytest.raises(DatabaseBusyError), RunLock(str(path)):
            pass


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Runs as the folder's owner, whom permissions bind."""
    if os.geteuid():
        pytest.skip("only the superuser can become another user")
    modes = [(parent, parent.stat().st_mode) for parent in folder.parents if len(parent.parts) > 2]
    for parent, mode in modes:
        parent.chmod(mode & 0o7777 | 0o055)
    os.chown(folder, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for parent, mode in modes:
            parent.chmod(mode & 0o7777)


def test_a_file_that_another_user_left_behind_is_replaced(path: Path) -> None:
    left = Path(lock_path(str(path)))
    left.write_text("process 1 on a machine long gone\n")
    left.chmod(0o644)
    with as_nobody(path.parent), RunLock(str(path)):
        assert str(owner(str(path))).startswith(f"process {os.getpid()} ")
        assert left.stat().st_uid == 65534


def test_a_file_of_another_user_who_holds_it_is_respected(path: Path) -> None:
    with (
        held_elsewhere(path) as process,
        as_nobody(path.parent),
        pytest.raises(DatabaseBusyError, match=f"process {process.pid} "),
        RunLock(str(path)),
    ):
        pass


def test_a_file_of_another_user_that_cannot_be_opened_is_named(path: Path) -> None:
    left = Path(lock_path(str(path)))
    left.touch()
    left.chmod(0o600)
    with (
        as_nobody(path.parent),
        pytest.raises(DatabaseAccessError, match=r"another user; if none of their runs .* remove it"),
        RunLock(str(path)),
    ):
        pass


def test_no_link_is_followed(path: Path) -> None:
    precious = path.with_name("precious")
    precious.write_text("mine")
    Path(lock_path(str(path))).symlink_to(precious)
    with pytest.raises(DatabaseAccessError, match="cannot lock"), RunLock(str(path)):
        pass
    assert precious.read_text() == "mine"


def test_a_full_disk_locks_all_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lock.os, "write", full)
    with RunLock(str(path)):
        assert owner(str(path)) == "unknown"
