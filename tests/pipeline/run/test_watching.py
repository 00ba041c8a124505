import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.config.schema import Config
from pipeline.errors import ConfigError, ExitCode
from pipeline.reports.summary import RunSummary
from pipeline.run.watching import Watched, watch
from pipeline.stop import Stop
from storage.database import open_for_reading
from storage.errors import DatabaseBusyError, StorageError

ROOT = Path(__file__).parents[3]
OLD, NEW = (1, 1, 0), (2, 2, 0)


def test_a_file_is_read_once_it_has_settled_and_again_when_it_has_changed() -> None:
    watched = Watched()
    assert watched.settled({"a": OLD}) == []
    assert watched.settled({"a": NEW}) == [], "it is still being written"
    assert watched.settled({"a": NEW}) == ["a"]
    watched.note_read(["a"])
    assert watched.settled({"a": NEW, "b": OLD}) == []
    assert watched.settled({"a": OLD, "b": OLD}) == ["b"]
    watched.note_read(["b"])
    assert watched.settled({}) == [], "the share is away"
    assert watched.settled({"a": OLD, "b": OLD}) == []
    assert watched.settled({"a": OLD, "b": OLD}) == ["a"]


def config_of(folder: Path) -> Config:
    config = Config()
    ingest = config.ingest.model_copy(update={"paths": [str(folder)], "exclude": ["*.part"]})
    return config.model_copy(update={"ingest": ingest})


def test_each_batch_is_a_run_of_its_own_and_a_busy_database_is_waited_for(tmp_path: Path) -> None:
    stop, seen = Stop(), list[list[str]]()
    (tmp_path / "a.pdf").write_bytes(b"%PDF-")
    (tmp_path / "b.part").write_bytes(b"%PDF-")

    def read(config: Config) -> RunSummary:
        seen.append([os.path.basename(path) for path in config.ingest.paths])
        summary = RunSummary(database="a.db")
        if len(seen) == 1:
            raise DatabaseBusyError("another run has it")
        if len(seen) == 2:
            (tmp_path / "b.part").rename(tmp_path / "b.pdf")
            summary.pages["failed"] = 1
        if len(seen) == 3:
            stop.request("enough")
        return summary

    assert watch(config_of(tmp_path), stop, read, every_s=0.01) == ExitCode.INCOMPLETE
    assert seen == [["a.pdf"], ["a.pdf"], ["b.pdf"]]


def test_a_run_that_was_cut_short_says_so_and_a_wait_that_was_does_not(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-")

    def cut(config: Config) -> RunSummary:
        return RunSummary(database="a.db", stopped="SIGINT")

    assert watch(config_of(tmp_path), Stop(), cut, every_s=0.01) == ExitCode.STOPPED
    stop = Stop()
    stop.request("SIGINT")
    with pytest.raises(ConfigError, match="no such file or folder"):
        watch(config_of(tmp_path / "nowhere"), Stop(), cut)


def test_the_command_reads_what_arrives_and_ends_in_order(tmp_path: Path) -> None:
    folder, database = tmp_path / "scans", tmp_path / "a.db"
    folder.mkdir()
    command = [sys.executable, "-m", "pipeline.cli", "run", "--watch", str(folder), "--db", str(database)]
    watching = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert watching.stderr is not None
    assert watching.stderr.readline().startswith("watching ")
    (folder / "report.pdf").write_bytes((ROOT / "tests" / "samples" / "report.pdf").read_bytes())
    end = time.monotonic() + 240
    while not ended_runs(database):
        assert time.monotonic() < end
        assert watching.poll() is None, watching.stderr.read()
        time.sleep(0.2)
    time.sleep(1)  # its summary is printed, and it waits again
    watching.send_signal(signal.SIGINT)
    _, told = watching.communicate(timeout=120)
    assert (watching.returncode, "Traceback" in told) == (0, False)


def ended_runs(database: Path) -> int:
    try:
        with closing(open_for_reading(str(database))) as db:
            (count,) = db.conn.execute("SELECT count(*) FROM runs WHERE state = 'finished'").fetchone()
    except StorageError:  # not there yet, or still empty
        return 0
    return int(count)
