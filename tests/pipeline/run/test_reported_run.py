"""The log and the summary file of runs that end in every way."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.main import main
from pipeline.config.schema import Config
from pipeline.errors import ConfigError, ExitCode
from pipeline.ingest.walk import walk
from pipeline.reports.progress import Silent
from pipeline.run.reported_run import reported_run
from pipeline.stop import Stop
from pipeline.types import PageResult
from storage.errors import DatabaseAccessError, DatabaseBusyError
from storage.records.store import Store
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import changed, read_slowly


@pytest.fixture
def reported(config: Config, tmp_path: Path) -> Config:
    files = {"log_file": str(tmp_path / "run.log"), "summary_file": str(tmp_path / "run.json")}
    return changed(config, run=files)


def summary_of(config: Config) -> dict[str, Any]:
    assert config.run.summary_file is not None
    found: dict[str, Any] = json.loads(Path(config.run.summary_file).read_text(encoding="ascii"))
    return found


def events(config: Config) -> list[dict[str, Any]]:
    assert config.run.log_file is not None
    return [json.loads(line) for line in Path(config.run.log_file).read_text(encoding="ascii").splitlines()]


@pytest.mark.slow
def test_a_run_that_ends_well(batch: Batch, reported: Config) -> None:
    batch.pdf("a.pdf", ["one", ""])
    (batch.docs / "b.pdf").write_bytes(b"nonsense")
    summary = reported_run(reported, Silent(), Stop())
    found = summary_of(reported)
    assert (found["exit_code"], found["end"], found["reason"]) == (ExitCode.INCOMPLETE, "finished", None)
    assert (found["run_id"], found["pages"], found["documents"]) == (
        1,
        {"ok": 1, "blank": 1},
        {"ok": 1, "broken": 1},
    )
    assert found["left"] == {"pages": 0, "documents": 0, "all_documents_known": True}
    assert found["pages_per_s"] == pytest.approx(2 / summary.wall_s, rel=0.01)
    assert found["versions"]["ocrbatch"]
    told = events(reported)
    assert [event["event"] for event in told if event["event"] != "log"] in (
        ["start", "document", "page", "page", "end"],
        ["start", "page", "document", "page", "end"],
        ["start", "page", "page", "document", "end"],
    )
    assert told[-1]["exit_code"] == ExitCode.INCOMPLETE


@pytest.mark.slow
def test_a_run_that_is_stopped_says_what_is_left(
    batch: Batch, reported: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.pdf("a.pdf", ["one", "two", "three"])
    read_slowly(monkeypatch, 0.3)
    stop = Stop()

    class StopsAfterOne(Silent):
        def page_done(self, result: PageResult) -> None:
            stop.request("time limit")

    summary = reported_run(changed(reported, decode={"batch_size": 1}), StopsAfterOne(), stop)
    found = summary_of(reported)
    assert (found["exit_code"], found["end"], found["reason"]) == (ExitCode.STOPPED, "stopped", "time limit")
    assert found["left"] == {"pages": 2, "documents": 0, "all_documents_known": True}
    assert "left to read: 2 pages, and 0 documents not inspected yet" in summary.lines()


def test_files_that_nobody_looked_into_are_counted(batch: Batch, reported: Config) -> None:
    for number in range(5):
        batch.pdf(f"{number}.pdf", [f"{number}"])
    stop = Stop()

    def stops_first(*arguments: Any) -> Any:
        stop.request("SIGTERM")
        return walk(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.run.runner.walk", stops_first)
        patch.setattr(Stop, "while_doing", lambda self, task: task())
        reported_run(reported, Silent(), stop)
    found = summary_of(reported)
    assert found["left"]["pages"] + found["left"]["documents"] + found["documents"].get("ok", 0) >= 5
    assert found["left"]["all_documents_known"]


@pytest.mark.parametrize(
    ("error", "reason", "code"),
    [
        (DatabaseAccessError("a.db: the disk is full"), "a.db: the disk is full", ExitCode.FATAL),
        (KeyError("what stands on a page"), "internal error: KeyError", ExitCode.FATAL),
        (KeyboardInterrupt(), "stopped", ExitCode.STOPPED),
    ],
)
def test_any_error_is_reported_and_raised(
    error: BaseException,
    reason: str,
    code: ExitCode,
    batch: Batch,
    reported: Config,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch.pdf("a.pdf", ["one"])

    def fails(self: Any, inputs: Any) -> None:
        raise error

    monkeypatch.setattr("pipeline.run.batch_reading.Reading.read", fails)
    with pytest.raises(type(error)):
        reported_run(reported, Silent(), Stop())
    found = summary_of(reported)
    assert (found["exit_code"], found["reason"], found["run_id"]) == (code, reason, 1)
    assert found["left"]["documents"] == 1
    assert "what stands" not in Path(str(reported.run.log_file)).read_text()


def test_a_busy_database_is_reported(reported: Config, docs: Path) -> None:
    with Store(reported.store.database), pytest.raises(DatabaseBusyError):
        reported_run(reported, Silent(), Stop())
    found = summary_of(reported)
    assert (found["exit_code"], found["end"], found["run_id"]) == (ExitCode.BUSY, "failed", None)
    assert not found["left"]["all_documents_known"]


@pytest.mark.parametrize("make", [lambda folder: folder / "none" / "run.json", lambda folder: folder])
def test_a_summary_that_could_not_be_written_is_refused_before_the_run(
    make: Callable[[Path], Path], reported: Config, tmp_path: Path, database: str
) -> None:
    with pytest.raises(ConfigError, match="--summary-file"):
        reported_run(changed(reported, run={"summary_file": str(make(tmp_path))}), Silent(), Stop())
    assert not Path(database).exists()


def test_a_wrong_option_is_reported_where_a_summary_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert main(["run", ".", "--max-time", "soon", "--summary-file", str(path)]) == ExitCode.USAGE
    found = json.loads(path.read_text())
    assert (found["exit_code"], found["database"]) == (ExitCode.USAGE, None)
    assert "--max-time soon" in found["reason"]


def test_workers_that_cannot_be_had_are_reported_where_a_summary_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    summary, database = tmp_path / "run.json", tmp_path / "a.db"
    asked = ["--cluster", "here:1", "--summary-file", str(summary), "--db", str(database), "--quiet"]
    assert main(["run", str(tmp_path), *asked]) == ExitCode.USAGE
    found = json.loads(summary.read_text())
    assert (found["exit_code"], found["end"], found["run_id"]) == (ExitCode.USAGE, "failed", None)
    assert "pip install ray" in found["reason"]
    assert not database.exists()
