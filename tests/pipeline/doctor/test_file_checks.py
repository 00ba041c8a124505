"""Findings about files: inputs, the database and its disk, the model's; nothing is written, and nothing fetched."""

import hashlib
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from huggingface_hub import constants

from ocr.model_files.locate import find_directory
from pipeline.config.schema import Config
from pipeline.doctor import file_checks as files
from pipeline.doctor.examination import Finding
from storage.records.store import Store
from tests.ocr.families.unlimited_ocr import tiny_unlimited
from tests.storage.sample_records import a_file, a_page, new_run

SHIPPED_LINES = find_directory("small") / "lines"


def states(findings: list[Finding]) -> dict[str, str]:
    return {finding.what: finding.state for finding in findings}


def test_inputs(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.pdf").write_bytes(b"x")
    paths = [str(tmp_path), str(tmp_path / "empty"), str(tmp_path / "a.pdf"), str(tmp_path / "none")]
    config = Config.model_validate({"ingest": {"paths": paths}})
    assert [finding.state for finding in files.check_inputs(config)] == ["ok", "note", "ok", "FAIL"]
    assert [finding.state for finding in files.check_inputs(Config())] == ["note"]


def test_passwords_are_counted_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config.model_validate({"ingest": {"password_env": "OCRBATCH_TEST"}})
    monkeypatch.delenv("OCRBATCH_TEST", raising=False)
    assert states(list(files.check_inputs(config)))["passwords"] == "FAIL"
    monkeypatch.setenv("OCRBATCH_TEST", "hush")
    (finding,) = [finding for finding in files.check_inputs(config) if finding.what == "passwords"]
    assert finding.line() == "ok   passwords: 1 to try on encrypted PDFs"


def test_files_that_a_run_writes(tmp_path: Path) -> None:
    keys = {"log_file": str(tmp_path / "a.log"), "summary_file": str(tmp_path / "none" / "a.json")}
    findings = states(list(files.check_inputs(Config.model_validate({"run": keys}))))
    assert (findings["run.log_file"], findings["run.summary_file"]) == ("ok", "FAIL")
    assert list(tmp_path.iterdir()) == []


def of_database(path: Path | str) -> dict[str, Finding]:
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
    findings = of_database(path)
    assert {finding.state for finding in findings.values()} == {"ok"}
    assert "200 readings, whole" in findings["database"].found
    assert findings["run lock"].found == "no process holds the database"
    assert os.listdir(path.parent) == ["a.db"]


def test_one_that_is_to_be_made_is_not_made(tmp_path: Path) -> None:
    assert of_database(tmp_path / "a.db")["database"].state == "ok"
    assert os.listdir(tmp_path) == []
    missing = of_database(tmp_path / "none" / "a.db")["database"]
    assert missing.state == "FAIL"
    assert "no folder" in missing.found


def test_one_that_a_run_holds(path: Path) -> None:
    with Store(path):
        finding = of_database(path)["run lock"]
    assert finding.state == "note"
    assert f"process {os.getpid()}" in finding.found


def test_a_damaged_one(path: Path) -> None:
    content = bytearray(path.read_bytes())
    for offset in range(4096 * 3, len(content), 4096):
        content[offset : offset + 200] = b"\xff" * 200
    path.write_bytes(content)
    findings = of_database(path)
    assert "FAIL" in {finding.state for finding in findings.values()}
    assert any("damaged" in finding.found for finding in findings.values())


def test_one_of_another_program_and_no_database_at_all(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as conn:
        conn.execute("CREATE TABLE t (x)")
    assert of_database(tmp_path / "other.db")["database"].state == "FAIL"
    (tmp_path / "text.db").write_text("no database " * 1000)
    assert of_database(tmp_path / "text.db")["database"].state == "FAIL"
    (tmp_path / "empty.db").touch()
    assert of_database(tmp_path / "empty.db")["database"].state == "ok"


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
    finding = of_database(path)[check]
    assert (finding.state == "FAIL") == (version != 6)
    assert re.search(says, finding.found)


def test_one_on_another_host(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "mount_of", lambda folder: ("/srv", "nfs4"))
    finding = of_database(path)["database's disk"]
    assert finding.state == "FAIL"
    assert "nfs4" in finding.found


def test_a_folder_that_cannot_be_written_to(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(dir: str) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(files.tempfile, "TemporaryFile", refuse)
    config = Config.model_validate({"store": {"database": str(path)}})
    findings = list(files.check_database(config))
    assert any(f.state == "FAIL" and "Read-only file system" in f.found for f in findings)


def of_model(name: Path | str) -> dict[str, Finding]:
    return {finding.what: finding for finding in files.check_model(Config(model=str(name)))}


@pytest.fixture
def copy(reader: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(reader, tmp_path / "model"))


def test_the_shipped_model() -> None:
    findings = of_model("small")
    assert {finding.state for finding in findings.values()} <= {"ok", "note"}
    assert findings["model hash"].found == "4 of 4 files are as published"
    assert findings["weights"].state == findings["offline"].state == "ok"
    assert not {"family", "model entry", "tokenizer", "words"} & {*findings}, "it is a line reader alone"


def test_what_the_table_of_models_takes_a_model_for(tmp_path: Path) -> None:
    tiny_unlimited.save(tmp_path / "some")
    findings = of_model(tmp_path / "some")
    assert findings["family"].found == "Unlimited-OCR"
    assert findings["model entry"].found == "Unlimited-OCR, by its type, unlimited-ocr"
    assert "by the line reader" in findings["words"].found
    config = Config(model=str(tmp_path / "some"), model_entry="olmOCR 2")
    (refused,) = [finding for finding in files.check_model(config) if finding.state == "FAIL"]
    assert "olmOCR 2 is of type qwen2_5_vl" in refused.found
    assert refused.remedy == "choose 'Unlimited-OCR'"


def test_a_file_that_is_cut_short_or_missing(copy: Path) -> None:
    weights = copy / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1])
    assert of_model(copy)["weights"].state == "FAIL"
    weights.write_bytes(b"")
    assert of_model(copy)["weights"].state == "FAIL"
    weights.unlink()
    assert "lacks model.safetensors" in of_model(copy)["model"].found
    weights.write_bytes(whole)
    (copy / "tokenizer.json").write_text("{}")
    assert of_model(copy)["model"].state == "FAIL"


def test_a_hash_is_compared_where_one_is_recorded(copy: Path) -> None:
    weights = copy / "model.safetensors"
    assert of_model(copy)["model hash"].state == "note"
    blob = copy / hashlib.sha256(weights.read_bytes()).hexdigest()
    weights.rename(blob)
    weights.symlink_to(blob)
    assert of_model(copy)["model hash"].state == "ok"
    content = bytearray(blob.read_bytes())
    content[-1] ^= 1
    blob.write_bytes(content)
    finding = of_model(copy)["model hash"]
    assert finding.state == "FAIL"
    assert "model.safetensors" in finding.found


def test_sums_beside_the_files(copy: Path) -> None:
    names = ("model.safetensors", "config.json", "tokenizer.json")
    sums = {name: hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in names}
    (copy / files.SUMS).write_text("".join(f"{value}  {name}\n" for name, value in sums.items()))
    assert of_model(copy)["model hash"].line() == "ok   model hash: 3 of 3 files are as published"
    (copy / files.SUMS).write_text(f"{sums['config.json']} *model.safetensors\n")
    assert of_model(copy)["model hash"].state == "FAIL"


def test_a_line_reader_of_one_s_own_is_checked(tmp_path: Path) -> None:
    copy = tmp_path / "own"
    shutil.copytree(SHIPPED_LINES, copy / "lines")
    names = ("lines/finder.safetensors", "lines/reader.safetensors", "lines/reader.json")
    sums = {name: hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in names}
    (copy / files.SUMS).write_text("".join(f"{value}  {name}\n" for name, value in sums.items()))
    assert of_model(copy)["model hash"].line() == "ok   model hash: 3 of 4 files are as published"
    (copy / "lines" / "reader.json").write_text("{}")
    assert "reader.json" in of_model(copy)["model hash"].found
    (copy / "lines" / "reader.safetensors").write_bytes(b"")
    assert of_model(copy)["weights"].state == "FAIL"


def test_one_of_the_hub_that_is_not_here_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert of_model("nobody/nothing")["model"].state == "note"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    finding = of_model("nobody/nothing")["model"]
    assert finding.state == "FAIL"
    assert "HF_HUB_OFFLINE" in finding.found


def test_one_of_the_hub_that_is_here(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "snapshot_download", lambda name, local_files_only: str(copy))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert of_model("some/model")["offline"].state == "ok"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert of_model("some/model")["offline"].state == "note"
