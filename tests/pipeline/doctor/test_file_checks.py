from pathlib import Path

import pytest

from pipeline.config.schema import Config
from pipeline.doctor import file_checks as files
from pipeline.doctor.examination import Finding


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
