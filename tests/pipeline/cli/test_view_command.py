"""The command says where the reader is, and ends with a reason where it cannot be."""

import socket
from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from storage.records.store import Store

NAME = "a\x1b[2J.db"


def test_the_address_is_said_in_one_harmless_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    Store(str(tmp_path / NAME)).close()
    assert main(["view", "--db", str(tmp_path / NAME), "--no-browser"]) == ExitCode.OK
    (line,) = capsys.readouterr().out.splitlines()
    assert "\x1b" not in line
    assert "http://127.0.0.1:" in line


def test_a_port_that_is_taken_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("uvicorn")
    Store(str(tmp_path / "a.db")).close()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        arguments = ["view", "--db", str(tmp_path / "a.db"), "--no-browser", "--port", port]
        assert main(arguments) == ExitCode.USAGE
    assert "name another" in capsys.readouterr().err


def test_a_missing_database_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["view", "--db", str(tmp_path / "none.db"), "--no-browser"]
    assert main(arguments) == ExitCode.USAGE
    assert "no such database" in capsys.readouterr().err
