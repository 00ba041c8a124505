"""A database that is deleted, renamed or replaced while a run writes to it: noticed, reported, and nothing is lost."""

import contextlib
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.errors import ExitCode
from storage.database import open_for_reading
from storage.lock import lock_path
from storage.records.store import Store
from tests.faults.rig import corpus, tables
from tests.faults.rig.launcher import Running, Starter
from tests.faults.rig.model import READS_WORDS, save_words

_SIDES = ("-wal", "-shm")
# Enough that no machine has read them before the database is touched.
_PAGES = 800
_WAIT_S = 240.0
_ONE_BY_ONE = ("--set", "run.inflight_mb=16", "--set", "decode.max_tokens=20")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forks")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_words(tmp_path_factory.mktemp("model") / "words")


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    corpus.write_pdf(folder / "many.pdf", [f"harbour {number} garden" for number in range(_PAGES)])
    return folder


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    with Starter(tmp_path_factory.mktemp("runs"), fork=True) as started:
        yield started


@pytest.fixture
def started(starter: Starter, model: Path, documents: Path, tmp_path: Path) -> Iterator[tuple[Running, Path]]:
    """Yields a run that has stored some pages, and its database."""
    database = tmp_path / "out" / "results.db"
    database.parent.mkdir()
    settings = [part for setting in READS_WORDS for part in ("--set", setting)]
    run = starter.start(
        [
            "run",
            str(documents),
            "--db",
            str(database),
            "--model",
            str(model),
            "--quiet",
            *settings,
            *_ONE_BY_ONE,
        ]
    )
    try:
        _until(lambda: _num_read(database) >= 5 or run.wait(0))
        yield run, database
    finally:
        if not run.wait(0):
            run.kill(group=True)


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _WAIT_S
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def _num_read(database: Path) -> int:
    if not database.exists():
        return 0
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(database, timeout=5)) as db:
        return int(db.execute("SELECT count(*) FROM attempts").fetchone()[0])
    return 0


def _ended(run: Running, code: int = ExitCode.FATAL) -> str:
    """Returns the output of a run that ended with this code."""
    assert run.wait(_WAIT_S), "the run goes on"
    said = run.log.read_text()
    assert run.exit_code == code, said
    assert "internal error" not in said
    return said


def _holds_a_run(database: Path, least: int) -> None:
    """Asserts that the database is sound, has the pages, and records how its run ended."""
    assert not tables.faults(database)
    assert _num_read(database) >= least
    with contextlib.closing(open_for_reading(str(database))) as db:
        assert db.conn.execute("SELECT state, exit_code FROM runs").fetchall() == [
            ("finished", ExitCode.FATAL)
        ]


@pytest.mark.parametrize("with_sides", [False, True], ids=["alone", "with-side-files"])
def test_a_deleted_database_is_saved_as_a_copy(started: tuple[Running, Path], with_sides: bool) -> None:
    run, database = started
    read = _num_read(database)
    for suffix in ("", *_SIDES) if with_sides else ("",):
        Path(f"{database}{suffix}").unlink()
    said = _ended(run)
    copies = list(database.parent.glob("results.db.rescued-*"))
    assert len(copies) == 1, said
    assert (
        f"{database}: it was deleted or renamed while the run wrote to it; what was read is in {copies[0]}: "
        in said
    )
    assert f"`mv {copies[0]} {database}`" in said
    _holds_a_run(copies[0], read)
    assert not database.exists()
    assert not Path(lock_path(str(database))).exists()


def test_a_deleted_folder_takes_no_results_with_it(started: tuple[Running, Path], starter: Starter) -> None:
    run, database = started
    read = _num_read(database)
    shutil.rmtree(database.parent)
    found = re.search(r"what was read is in (\S+\.rescued-\S+): ", _ended(run))
    assert found is not None
    copy = Path(found[1])
    _holds_a_run(copy, read)
    copy.unlink()


@pytest.mark.parametrize("with_sides", [False, True], ids=["alone", "with-side-files"])
def test_a_renamed_database_keeps_all_under_its_new_name(
    started: tuple[Running, Path], with_sides: bool
) -> None:
    run, database = started
    read = _num_read(database)
    other = database.with_name("yesterday.db")
    for suffix in ("", *_SIDES) if with_sides else ("",):
        Path(f"{database}{suffix}").rename(f"{other}{suffix}")
    said = _ended(run)
    assert (
        f"{database}: it was renamed to {other} while the run wrote to it; what was read is in {other}: "
        in said
    )
    for suffix in _SIDES:  # what lies there belongs to a database of another name, and is not needed
        Path(f"{other}{suffix}").unlink(missing_ok=True)
    _holds_a_run(other, read)


def test_another_file_in_its_place_is_noticed_and_left_alone(started: tuple[Running, Path]) -> None:
    run, database = started
    read = _num_read(database)
    other = database.with_name("other.db")
    other.write_bytes(b"something else")
    other.rename(database)
    said = _ended(run)
    (copy,) = database.parent.glob("results.db.rescued-*")
    assert "another put in its place while the run wrote to it" in said
    _holds_a_run(copy, read)
    assert database.read_bytes() == b"something else"


@pytest.mark.parametrize("suffix", _SIDES)
def test_a_side_file_deleted_alone_ends_the_run_and_loses_nothing(
    started: tuple[Running, Path], suffix: str
) -> None:
    run, database = started
    read = _num_read(database)
    Path(f"{database}{suffix}").unlink()
    said = _ended(run)
    assert (
        f"its side file results.db{suffix} was deleted or renamed while the run wrote to it; nothing is lost"
        in said
    )
    _holds_a_run(database, read)


def test_a_lock_file_deleted_alone_is_made_anew(started: tuple[Running, Path]) -> None:
    run, database = started
    lock = Path(lock_path(str(database)))
    lock.unlink()
    _until(lock.exists)
    with pytest.raises(Exception, match="in use by another run"):
        Store(database)
    os.kill(run.pid, 15)
    _ended(run, ExitCode.STOPPED)
    assert not lock.exists()
