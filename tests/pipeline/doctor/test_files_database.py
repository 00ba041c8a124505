import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.config.schema import Config
from pipeline.doctor import file_checks as files
from pipeline.doctor.examination import Finding
from storage.records.store import Store
from tests.storage.sample_records import a_file, a_page, new_run


def found(path: Path | str) -> dict[str, Finding]:
    config = Config.model_validate({"store": {"database": str(path)}})
    return {finding.what: finding for finding in files.check_database(config)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Store(tmp_path / "a.db") as store:
        run_id = new_run(store, a_file())
        for index in range(200):
            store.record_page(run_id, a_page(f"text {index} " * 50, index))
    return tmp_path / "a.db"


def test_a_sound_one(path: Path) -> None:
    findings = found(path)
    assert {finding.state for finding in findings.values()} == {"ok"}
    assert "200 readings, whole" in findings["database"].found
    assert findings["run lock"].found == "no process holds the database"
    assert os.listdir(path.parent) == ["a.db"]


def test_one_that_is_to_be_made_is_not_made(tmp_path: Path) -> None:
    assert found(tmp_path / "a.db")["database"].state == "ok"
    assert os.listdir(tmp_path) == []
    missing = found(tmp_path / "none" / "a.db")["database"]
    assert missing.state == "FAIL"
    assert "no folder" in missing.found


def test_one_that_a_run_holds(path: Path) -> None:
    with Store(path):
        finding = found(path)["run lock"]
    assert finding.state == "note"
    assert f"process {os.getpid()}" in finding.found


def test_a_damaged_one(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for offset in range(4096 * 3, len(content), 4096):
        content[offset : offset + 200] = b"\xff" * 200
    path.write_bytes(content)
    findings = found(path)
    assert "FAIL" in {finding.state for finding in findings.values()}
    assert any("damaged" in finding.found for finding in findings.values())


def test_one_of_another_program_and_no_database_at_all(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as conn:
        conn.execute("CREATE TABLE t (x)")
    assert found(tmp_path / "other.db")["database"].state == "FAIL"
    (tmp_path / "text.db").write_text("no database " * 1000)
    assert found(tmp_path / "text.db")["database"].state == "FAIL"
    (tmp_path / "empty.db").touch()
    assert found(tmp_path / "empty.db")["database"].state == "ok"


@pytest.mark.parametrize(
    ("version", "check", "says"),
    [
        (999, "database", "newer than this program's, 11"),
        (6, "schema", r"older than this program's \(11\)"),
        (5, "database", "too old for this program.* left untouched$"),
    ],
)
def test_versions(path: Path, version: int, check: str, says: str) -> None:
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(f"PRAGMA user_version = {version}")
    finding = found(path)[check]
    assert (finding.state == "FAIL") == (version != 6)
    assert re.search(says, finding.found)


def test_one_on_another_host(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "mount_of", lambda folder: ("/srv", "nfs4"))
    finding = found(path)["database's disk"]
    assert finding.state == "FAIL"
    assert "nfs4" in finding.found


def test_a_folder_that_cannot_be_written_to(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(dir: str) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(files.tempfile, "TemporaryFile", refuse)
    config = Config.model_validate({"store": {"database": str(path)}})
    findings = list(files.check_database(config))
    assert any(f.state == "FAIL" and "Read-only file system" in f.found for f in findings)
