"""The command: a line a check, as it goes, and an exit code that says whether all is well."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.config.schema import Config
from pipeline.doctor import examination
from pipeline.doctor import run_checks as run
from pipeline.doctor.examination import Finding, examine, fail, note, ok, size
from pipeline.doctor.run_checks import TEXT, sample_pdf
from pipeline.errors import ExitCode
from tests.pipeline.checkpoints import READS_TEXT
from tests.pipeline.cli.test_main import ROOT

STATES = {"ok  ", "FAIL", "note"}


def states(findings: list[Finding]) -> dict[str, str]:
    return {finding.what: finding.state for finding in findings}


def test_a_finding_is_a_line() -> None:
    assert ok("disk", "big").line() == "ok   disk: big"
    assert fail("disk", "full", "free some").line() == "FAIL disk: full; free some"
    assert note("disk", "slow").line() == "note disk: slow"
    assert [size(number) for number in (0, 5 << 20, 3 << 29)] == ["0 MiB", "5 MiB", "1.5 GiB"]


def test_a_healthy_machine(
    reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "nightly.yaml"
    config.write_text(
        f"device: cpu\ningest: {{paths: [{tmp_path}]}}\ntile: {{mode: tiny}}\n", encoding="utf-8"
    )
    arguments = ["doctor", "--config", str(config), "--model", str(reader), "--db", str(tmp_path / "a.db")]
    assert main(arguments) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert {line[:4] for line in lines} <= STATES - {"FAIL"}
    found = {line[5:].partition(":")[0] for line in lines}
    assert found >= {
        *("Python", "packages", "SQLite", "model", "offline", "weights", "model hash", "tokenizer"),
        *("PyTorch", "device", "worker", "fonts", "memory", "shared memory", "open files"),
        *("database", "database's disk", "disk of the database", "disk of temporary files", "input"),
    }
    assert [path.name for path in tmp_path.iterdir()] == ["nightly.yaml"], "nothing is left behind"


def test_json_and_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def checks(read: bool) -> Iterator[tuple[str, examination.Check]]:
        yield "model", lambda config: iter([ok("model", config.model), fail("x", "is torn", "mend it")])

    monkeypatch.setattr(examination, "_checks", checks)
    assert main(["doctor", "--json"]) == ExitCode.FAULTY
    found = json.loads(capsys.readouterr().out)
    assert found["faults"] == 1
    assert found["findings"][1] == {"state": "FAIL", "what": "x", "found": "is torn", "remedy": "mend it"}
    assert main(["doctor"]) == ExitCode.FAULTY
    assert capsys.readouterr().out == "ok   model: small\nFAIL x: is torn; mend it\n"


def test_a_check_that_breaks_is_a_finding_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(config: Config) -> Iterator[Finding]:
        yield ok("first", "fine")
        raise KeyError("a bug")

    checks = [("bad", broken), ("good", lambda config: iter([ok("good", "fine")]))]
    monkeypatch.setattr(examination, "_checks", lambda read: iter(checks))
    findings = list(examine(Config()))
    assert states(findings) == {"first": "ok", "bad": "FAIL", "good": "ok"}
    assert "KeyError" in findings[1].found


@pytest.mark.slow
def test_lines_are_printed_as_they_are_found() -> None:
    """The first line comes through a pipe while later checks have not begun."""
    command = [sys.executable, "-m", "pipeline.cli", "doctor", "--model", "./nowhere"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ok   Python: ")
        assert process.poll() is None
        rest = process.communicate(timeout=120)[0]
    assert "FAIL model: model './nowhere' is not a directory; use 'small'" in rest
    assert process.returncode == ExitCode.FAULTY


@pytest.mark.slow
@pytest.mark.parametrize(("text", "state"), [(TEXT, "ok"), ("very very good very", "FAIL")])
def test_reading_compares_with_what_the_page_says(
    text: str, state: str, reader: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    if state == "ok":
        monkeypatch.setattr(run, "_result", lambda database: ("ok", text, None))
    (finding,) = run.check_reading(config)
    assert (finding.what, finding.state) == ("reading", state)
    assert repr(" ".join(text.split())) in finding.found
    assert not Path(config.store.database).exists(), "it has a database of its own"
    assert READS_TEXT


def test_a_model_that_is_not_here_is_not_fetched_for_a_reading() -> None:
    (finding,) = run.check_reading(Config(model="nobody/nothing"))
    assert finding.state == "FAIL"


def test_the_sample_is_a_sound_pdf() -> None:
    import pymupdf

    with pymupdf.open(stream=sample_pdf("a (b) \\ c\nd"), filetype="pdf") as document:
        assert not document.is_repaired
        assert document.page_count == 1
        assert document[0].get_text() == "a (b) \\ c\nd\n"
        (font,) = document.get_page_fonts(0)
    assert font[1] == "n/a", "its typeface is not in the file"
