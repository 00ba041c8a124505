"""One file's text on standard output."""

from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from tests.pipeline.conftest import MakePdf


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
