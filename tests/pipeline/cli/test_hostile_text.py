"""No command lets a document, or its name, command the terminal, the log or whoever renders the export."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ocr.types import ParsedText
from pipeline.cli.main import cli, main
from pipeline.doctor import examination
from pipeline.doctor import file_checks as files
from pipeline.errors import ConfigError, ExitCode
from pipeline.reports import progress
from pipeline.stages.store import store_page
from pipeline.types import Page, PageResult
from storage.records.store import Store
from storage.types import FileRecord, PageError
from tests.pipeline.checkpoints import READS_TEXT
from tests.pipeline.conftest import MakePdf
from tests.storage.sample_records import FAILURE, SETTINGS, SHA_A, SHA_B, a_file, a_page, a_run

ROOT = Path(__file__).parents[3]
TITLE = "\x1b]0;owned\x07"
HOSTILE = f"{TITLE}\x1b[2J\x9b31m\x7f\u202etxt\u2066\r\u2028<script>alert(1)</script>{{0}}%s%n$(id)`id`"
NAME = f"a\n{TITLE}\u202efdp <b>%s{{0}};$(id).pdf"
SETS = [argument for text in READS_TEXT for argument in ("--set", text)]


def dangerous(text: str) -> set[str]:
    return {letter for letter in text if not (letter.isprintable() or letter in "\n\t\u00a0")}


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """A database in which everything that comes from outside is hostile; its own name, too."""
    path = str(tmp_path / f"{TITLE}.db")
    folder = str(tmp_path / "docs")
    with Store(path) as store:
        run_id = store.start_run(a_run(model=HOSTILE))
        store.record_file(run_id, a_file(f"{folder}/{NAME}"))
        store.record_file(run_id, a_file(f"{folder}/b{NAME}", None, status="broken", reason=HOSTILE))
        store.record_file(run_id, FileRecord(path="c\udcff", sha256=SHA_B, status="ok", size_bytes=1, kind="pdf",
                                             num_pages=1))  # fmt: skip
        store.record_page(
            run_id, a_page(f"word {HOSTILE}", markdown=f"<table><tr><td>{HOSTILE}</td></tr></table>")
        )
        error = PageError(stage=FAILURE.stage, category=FAILURE.category, message=HOSTILE)
        store.record_page(run_id, a_page(None, 1, error=error))
        store.record_page(run_id, a_page("word", 0, sha256=SHA_B, status="truncated"))
    return path


def commands_on_a_database() -> list[str]:
    """Every command that can be given nothing but --db."""
    return sorted(
        name
        for name, command in cli.commands.items()
        if any("--db" in option.opts for option in command.params)
        and not any(option.required for option in command.params)
        and name not in ("run", "doctor", "view")
    )


@pytest.mark.parametrize("name", commands_on_a_database())
def test_no_command_prints_a_control_character_to_a_terminal(
    name: str, hostile: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    main([name, "--db", hostile])
    printed = capsys.readouterr()
    assert printed.out or printed.err
    assert dangerous(printed.out + printed.err) == set()
    assert "Traceback" not in printed.err


def test_there_are_commands_to_test() -> None:
    assert {"export", "status"} <= set(commands_on_a_database())


@pytest.mark.parametrize("format_name", ["jsonl", "md", "txt"])
def test_an_export_is_escaped_on_a_terminal_and_exact_in_a_file(
    format_name: str,
    hostile: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ["export", "--db", hostile, "--format", format_name]
    with monkeypatch.context() as patch:
        patch.setattr(sys.stdout, "isatty", lambda: True)
        assert main(command) == ExitCode.OK
    screen = capsys.readouterr().out
    assert dangerous(screen) == set()
    target = tmp_path / "out"
    assert main([*command, "-o", str(target)]) == ExitCode.OK
    exact = target.read_bytes().decode()
    if format_name == "txt":
        assert f"word {HOSTILE}" in exact
    elif format_name == "md":
        assert "<script" not in re.sub("<!--.*?-->", "", exact, flags=re.DOTALL)
        assert "&lt;script>alert(1)&lt;/script>" in exact
        assert f"<td>{TITLE}" in exact
        assert "# " in exact
        assert "<b>" not in exact
    else:
        lines = [json.loads(line) for line in exact.split("\n") if line]
        assert [json.loads(line) for line in screen.split("\n") if line] == lines
        assert f"word {HOSTILE}" in {line["text"] for line in lines}


@pytest.mark.parametrize("query", ["word", HOSTILE, '"' + TITLE, "'; DROP TABLE pages; --"])
def test_search_shows_one_harmless_line_a_hit(
    query: str, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "--db", hostile, "--", query]) == ExitCode.OK
    printed = capsys.readouterr()
    assert dangerous(printed.out + printed.err) == set()
    if query == "word":
        assert len(printed.out.splitlines()) == 2
        assert "\\n\\x1b]0;owned" in printed.out


def test_eval_of_hostile_names(hostile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = tmp_path / "truth" / NAME
    truth.mkdir(parents=True)
    (truth / "1.txt").write_text(HOSTILE, encoding="utf-8")
    assert main(["eval", "--truth", str(tmp_path / "truth"), "--db", hostile]) in (
        ExitCode.OK,
        ExitCode.USAGE,
    )
    printed = capsys.readouterr()
    assert dangerous(printed.out + printed.err) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", f"nowhere/{NAME}"],
        ["run", f"-{TITLE}"],
        ["run", ".", "--set", f"{TITLE}=1"],
        ["run", ".", "--set", f"tile.mode={NAME}"],
        ["run", ".", "--config", NAME],
        ["run", ".", "--model", NAME],
        ["status", "--db", NAME],
        ["status", "--db", "a\udcff"],
        [f"{TITLE}"],
        ["doctor", "--config", NAME],
    ],
)
def test_errors_repeat_names_harmlessly(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) != ExitCode.OK
    printed = capsys.readouterr()
    assert printed.err
    assert dangerous(printed.out + printed.err) == set()


def test_doctor_of_a_hostile_name(
    hostile: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [("database", files.check_database), ("model", files.check_model)]
    monkeypatch.setattr(examination, "_checks", lambda read: iter(checks))
    assert main(["doctor", "--db", hostile, "--model", NAME]) == ExitCode.FAULTY
    printed = capsys.readouterr()
    assert dangerous(printed.out + printed.err) == set()
    assert "\\x1b]0;owned" in printed.out


def test_a_locale_without_the_letters_ends_no_command(tmp_path: Path) -> None:
    path = str(tmp_path / "é漢.db")
    with Store(path):
        pass
    command = [sys.executable, "-m", "pipeline.cli", "status", "--db", path]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="latin-1")
    assert (done.returncode, done.stderr) == (ExitCode.OK, "")
    assert "é\\u6f22.db" in done.stdout


@pytest.mark.parametrize("verbose", [False, True])
def test_log_lines_stay_lines(
    verbose: bool, hostile: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(db: object) -> None:
        progress.LOGGER.warning("reading %s", NAME)
        raise KeyError(HOSTILE) if verbose else ConfigError(f"{NAME}: no; try again")

    monkeypatch.setattr("storage.queries.statistics.status", broken)
    main(["status", "--db", hostile, *(["-v"] if verbose else [])])
    printed = capsys.readouterr().err
    assert dangerous(printed) == set()
    assert "WARNING ocrbatch: reading a\\n\\x1b]0;owned\\x07" in printed
    assert ("Traceback" in printed) == verbose


def test_progress_names_pages_harmlessly(capsys: pytest.CaptureFixture[str]) -> None:
    page = Page(path=NAME, sha256="0", kind="pdf", page_index=0)
    error = PageError(stage="render", category="broken", message=HOSTILE)
    progress.Lines().page_done(PageResult(page=page, status="failed", parsed=None, error=error))
    printed = capsys.readouterr().err
    assert dangerous(printed) == set()
    assert len(printed.splitlines()) == 1


def test_nothing_that_is_stored_is_taken_for_sql(tmp_path: Path) -> None:
    attack = "'); DROP TABLE pages; --"
    with Store(str(tmp_path / "a.db")) as store:
        run_id = store.start_run(a_run(model=attack))
        store.record_file(run_id, a_file(attack, SHA_A, reason=attack))
        page = Page(path=attack, sha256=SHA_A, kind="pdf", page_index=0)
        parsed = ParsedText(text=attack, markdown=attack)
        store_page(store, run_id, SETTINGS, PageResult(page=page, status="ok", parsed=parsed, error=None))
    assert main(["status", "--db", str(tmp_path / "a.db")]) == ExitCode.OK


@pytest.mark.slow
def test_a_run_on_a_terminal(reader: Path, tmp_path: Path, make_pdf: MakePdf) -> None:
    """Bar, failures and summary as a terminal gets them."""
    folder = tmp_path / "docs"
    folder.mkdir()
    make_pdf(folder / NAME.replace("/", ""), ["one"])
    (folder / f"{TITLE}.pdf").write_bytes(b"nonsense \x1b[2J")
    (folder / f"{TITLE}.txt").write_bytes(b"a text")
    arguments = ["run", str(folder), "--db", str(tmp_path / f"{TITLE}.db"), "--model", str(reader), *SETS]
    screen = b""
    control, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *arguments, "-v"], cwd=ROOT, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        try:
            while piece := os.read(control, 65536):
                screen += piece
        except OSError:  # the terminal's other end is closed
            pass
    os.close(control)
    assert process.returncode == ExitCode.INCOMPLETE, screen
    text = screen.decode()
    assert "pages: 1 ok" in text
    assert "\\x1b]0;owned\\x07.pdf: broken: " in text
    assert dangerous(text) <= {"\r"}, "what the bar itself needs"
