"""The command says how to open the reader, and ends with a reason where it cannot be."""

import re
import signal
import socket
import stat
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from pipeline.viewer import serving
from storage.records.store import Store
from tests.pipeline.conftest import MakePdf

NAME = "a\x1b[2J.db"


@pytest.mark.parametrize("can_write", [True, False])
def test_only_its_user_gets_the_token_and_it_listens_on_this_machine_alone(
    can_write: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    bound: list[str] = []
    doors: list[tuple[Path, int, str]] = []
    opened: list[str] = []

    def run(self: object, sockets: list[socket.socket]) -> None:
        bound.append(sockets[0].getsockname()[0])
        path = Path(unquote(opened[0].removeprefix("file://")))
        doors.append((path, stat.S_IMODE(path.stat().st_mode), path.read_text()))

    monkeypatch.setattr(uvicorn.Server, "run", run)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    Store(str(tmp_path / NAME)).close()
    if not can_write:  # as in a folder that belongs to somebody else
        monkeypatch.setattr(serving, "_private", refusing(serving._private, tmp_path))
    assert main(["view", "--db", str(tmp_path / NAME)]) == ExitCode.OK
    (line,) = capsys.readouterr().out.splitlines()
    assert "\x1b" not in line
    assert bound == ["127.0.0.1"]
    ((path, mode, html),) = doors
    assert (mode, path.parent == tmp_path) == (0o600, can_write)
    (token,) = re.findall('name="token" value="([^"]+)"', html)
    assert token not in line + opened[0]
    assert not path.exists()
    assert path.parent.exists() == can_write


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_file_with_the_token_goes_however_the_reader_is_ended(
    ending: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: signal.raise_signal(ending))
    Store(str(tmp_path / "a.db")).close()
    assert main(["view", "--db", str(tmp_path / "a.db"), "--no-browser"]) == ExitCode.STOPPED
    assert not list(tmp_path.glob("*.html"))


def refusing(write: Callable[[str], int], folder: Path) -> Callable[[str], int]:
    def refused(path: str) -> int:
        if Path(path).parent == folder:
            raise PermissionError(13, "Permission denied")
        return write(path)

    return refused


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


def test_the_text_is_printed_and_no_database_stays(
    tmp_path: Path, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_pdf(tmp_path / "a.pdf", ["this page is the first one", "and this one is the second"])
    assert main(["text", "a.pdf"]) == ExitCode.OK
    assert capsys.readouterr().out == "this page is the first one\n\fand this one is the second\n"
    assert main(["text", "a.pdf", "--pages", "2", "--format", "md"]) == ExitCode.OK
    assert capsys.readouterr().out == "and this one is the second\n"
    assert main(["text", "a.pdf", "--pages", "7-9"]) == ExitCode.INCOMPLETE
    assert "a.pdf: has none of the pages that were asked for: 2 in all" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.pdf"]


def test_what_could_not_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7 nothing else")
    assert main(["text", str(tmp_path / "b.pdf")]) == ExitCode.INCOMPLETE
    printed = capsys.readouterr()
    assert printed.out.strip() == ""
    assert "b.pdf: broken: " in printed.err
    assert main(["text", str(tmp_path / "none.pdf")]) == ExitCode.USAGE
