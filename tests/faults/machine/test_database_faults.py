"""A database that another program holds, and a full disk: a clear message, nothing lost, the next run continues."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import ExitCode, exit_code, is_explained
from pipeline.reports.progress import Silent
from pipeline.run.reported_run import reported_run
from pipeline.run.runner import run
from pipeline.stop import Stop
from pipeline.types import PageResult
from storage import database as storage_database
from storage.errors import DatabaseAccessError, DatabaseBusyError
from storage.records import store
from tests.faults.rig import tables
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import changed, read_slowly, rows, run_quietly

_HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def _held(database: str) -> Iterator[subprocess.Popen[bytes]]:
    """Lets another process hold the write lock, until it is killed."""
    command = [sys.executable, "-c", _HOLD, database]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield holder
        finally:
            holder.kill()


def _limit_pages(monkeypatch: pytest.MonkeyPatch, num_pages: int) -> None:
    """Limits the database to this many of SQLite's pages, as if the disk were full then."""
    real = storage_database.open_for_writing

    def open_limited(path: str) -> Any:
        db = real(path)
        db.conn.execute(f"PRAGMA max_page_count = {num_pages}")
        return db

    monkeypatch.setattr(store, "open_for_writing", open_limited)


def _num_sqlite_pages(database: str) -> int:
    with contextlib.closing(sqlite3.connect(database)) as db:
        return int(db.execute("PRAGMA page_count").fetchone()[0])


def test_a_database_that_is_busy_for_a_while_is_waited_for(batch: Batch) -> None:
    batch.run()
    batch.pdf("a.pdf", ["one", "two"])
    with _held(batch.database) as holder:
        timer = threading.Timer(1.0, holder.kill)
        timer.start()
        began = time.monotonic()
        assert batch.run().pages == {"ok": 2}
        assert time.monotonic() - began >= 0.9
        timer.join()


def test_a_database_that_stays_busy_ends_the_run_and_costs_no_page(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", [f"page {number}" for number in range(12)])
    wait_s = 0.3
    monkeypatch.setattr(storage_database, "BUSY_TIMEOUT_S", wait_s)
    read_slowly(monkeypatch, 0.02)
    with contextlib.ExitStack() as stack:

        class BusyAfterOne(Silent):
            num_done = 0

            def page_done(self, result: PageResult) -> None:
                self.num_done += 1
                if self.num_done == 1:
                    stack.enter_context(_held(batch.database))

        progress = BusyAfterOne()
        with pytest.raises(DatabaseBusyError, match=r"another program has held the database") as caught:
            run(batch.config, progress, Stop())  # while the database is still held
    assert exit_code(caught.value) == ExitCode.BUSY
    assert not tables.faults(Path(batch.database))
    stored = [row["text"] for row in rows(batch.database) if row["status"] == "ok"]
    assert len(stored) >= progress.num_done
    assert batch.run().pages == {"ok": 12 - len(stored)}
    assert [row["text"] for row in rows(batch.database)] == [TEXT] * 12


@pytest.mark.parametrize("room", [0, 3])
def test_a_full_disk_ends_the_run_and_costs_no_page(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    batch.run()
    batch.pdf("a.pdf", [f"page {number}" for number in range(20)])
    reported = changed(
        batch.config, decode={"batch_size": 1}, run={"summary_file": str(tmp_path / "run.json")}
    )
    with monkeypatch.context() as patch:
        _limit_pages(patch, _num_sqlite_pages(batch.database) + room)
        with pytest.raises(
            DatabaseAccessError, match=r"the disk is full; free space and run again"
        ) as caught:
            reported_run(reported, Silent(), Stop())
    assert exit_code(caught.value) == ExitCode.FATAL
    assert is_explained(caught.value)
    assert not tables.faults(Path(batch.database))
    num_done = tables.num_finished(Path(batch.database))
    assert num_done < 20
    found = json.loads((tmp_path / "run.json").read_text())
    assert (found["exit_code"], found["end"], found["pages"].get("ok", 0)) == (1, "failed", num_done)
    assert "disk is full" in found["reason"]
    assert batch.run().pages == {"ok": 20 - num_done}
    assert [row["text"] for row in rows(batch.database)] == [TEXT] * 20
    assert not tables.faults(Path(batch.database))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yields a file system of 12 MB, which only root may make."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("file systems are root's to mount")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("file systems may not be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_file_system_without_room_ends_the_run_and_costs_no_page(batch: Batch, small_disk: Path) -> None:
    database = small_disk / "results.db"
    on_it = changed(batch.config, store={"database": str(database)})
    run_quietly(on_it)
    batch.pdf("a.pdf", [f"page {number}" for number in range(20)])
    ballast = small_disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(DatabaseAccessError, match=r"results\.db: .*(disk|full)"):
        run_quietly(on_it)
    ballast.unlink()
    assert not tables.faults(database)
    num_done = tables.num_finished(database)
    assert run_quietly(on_it).pages == {"ok": 20 - num_done}
    assert [row["text"] for row in rows(str(database))] == [TEXT] * 20
