from pathlib import Path

import pytest

from pipeline.config.schema import Config
from pipeline.doctor.checks import input_files
from pipeline.doctor.finding import Finding


def states(findings: list[Finding]) -> dict[str, str]:
    return {finding.what: finding.state for finding in findings}


def test_inputs(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.pdf").write_bytes(b"x")
    paths = [str(tmp_path), str(tmp_path / "empty"), str(tmp_path / "a.pdf"), str(tmp_path / "none")]
    config = Config.model_validate({"ingest": {"paths": paths}})
    assert [finding.state for finding in input_files.check(config)] == ["ok", "note", "ok", "FAIL"]
    assert [finding.state for finding in input_files.check(Config())] == ["note"]


def test_passwords_are_counted_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config.model_validate({"ingest": {"password_env": "OCRBATCH_TEST"}})
    monkeypatch.delenv("OCRBATCH_TEST", raising=False)
    assert states(list(input_files.check(config)))["passwords"] == "FAIL"
    monkeypatch.setenv("OCRBATCH_TEST", "hush")
    (finding,) = [finding for finding in input_files.check(config) if finding.what == "passwords"]
    assert finding.line() == "ok   passwords: 1 to try on encrypted PDFs"


def test_files_that_a_run_writes(tmp_path: Path) -> None:
    keys = {"log_file": str(tmp_path / "a.log"), "summary_file": str(tmp_path / "none" / "a.json")}
    findings = states(list(input_files.check(Config.model_validate({"run": keys}))))
    assert (findings["run.log_file"], findings["run.summary_file"]) == ("ok", "FAIL")
    assert list(tmp_path.iterdir()) == []
