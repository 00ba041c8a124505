"""The command line as its users meet it: output, errors, exit codes, signals."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cli.main import cli, main
from pipeline.cli.reading_commands import FORMAT_NAMES
from pipeline.errors import ExitCode
from pipeline.export.searchable_export import all_formats
from storage.database import open_for_reading
from storage.errors import StorageError
from storage.queries.statistics import status
from storage.records.store import Store
from tests.pipeline.checkpoints import READS_TEXT, TEXT
from tests.pipeline.conftest import MakePdf

ROOT = Path(__file__).parents[3]
SETS = [argument for text in READS_TEXT for argument in ("--set", text)]
# What transformers' modeling code would bring along, seconds of a start.
OF_TRANSFORMERS = {
    "transformers", "sympy", "torch._dynamo", "torch._inductor", "torch.distributed.tensor", "torchvision",
}  # fmt: skip
# What only workers need to look into files and to draw pages: a third of a second of a start.
OF_WORKERS = {
    "pymupdf",
    "pipeline.ingest.workers.worker",
    "pipeline.documents.pdf",
    "pipeline.stages.render",
}
HEAVY = {
    "torch", "transformers", "pymupdf", "numpy", "pydantic", "yaml", "tqdm", "sqlite_utils", "PIL", "pebble",
}  # fmt: skip


@pytest.mark.parametrize("text", ["reader=page", "ladder.rungs=[{name: x, model: small}]"])
def test_a_page_model_that_does_not_ship_is_told_at_once(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, database = ROOT / "tests" / "samples" / "letter.png", tmp_path / "a.db"
    assert main(["run", str(page), "--db", str(database), "--set", text]) == ExitCode.USAGE
    assert "No page model ships with ocrbatch since 0.1.0; name one with --model" in capsys.readouterr().err
    assert not database.exists()


@pytest.mark.parametrize("closed", [pytest.param(">&-", marks=pytest.mark.slow), ">&- 2>&- <&-"])
def test_a_run_that_was_started_without_streams_ends_as_any_other(closed: str, tmp_path: Path) -> None:
    """As some supervisors start it. A file that is opened as number 1 would get what is printed."""
    summary = tmp_path / "summary.json"
    command = (
        f"{sys.executable} -m pipeline.cli run {ROOT}/tests/samples/report.pdf --summary-file {summary} --db"
    )
    shell = ["sh", "-c", f"{command} {tmp_path}/a.db {closed}"]
    done = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "")
    assert "rror" not in done.stderr
    assert json.loads(summary.read_text(encoding="utf-8"))["exit_code"] == 0


@pytest.fixture(scope="module")
def database(reader: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with two pages that read TEXT and a blank one."""
    import pymupdf

    folder = tmp_path_factory.mktemp("read")
    with pymupdf.open() as document:
        for text in ("one", "", "three"):
            document.new_page(width=300, height=300).insert_text((40, 60), text, fontsize=18)
        document.save(folder / "a.pdf")
    path = str(folder / "results.db")
    arguments = ["run", str(folder / "a.pdf"), "--db", path, "--model", str(reader), "--quiet", *SETS]
    assert main(arguments) == ExitCode.OK
    return path


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *arguments], cwd=ROOT, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def imported_by(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("started", ["import ocrbatch, pipeline.cli.main", "import pipeline.cli.__main__"])
def test_openblas_gets_one_thread_however_the_command_is_started(started: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", f"{started}; import os; print(os.environ['OPENBLAS_NUM_THREADS'])"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1\n"


@pytest.mark.parametrize("arguments", [["--help"], ["doctor", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    modules = imported_by(f"from pipeline.cli.main import main\nmain({arguments})")
    assert "click" in modules
    assert modules & HEAVY == set()


@pytest.mark.slow
def test_a_run_with_nothing_to_read_never_imports_torch(
    reader: Path, tmp_path: Path, make_pdf: MakePdf
) -> None:
    make_pdf(tmp_path / "read-before.pdf", ["one"])
    arguments = ["run", str(tmp_path), "--db", str(tmp_path / "a.db"), "--model", str(reader), *SETS]
    assert main(arguments) == ExitCode.OK
    modules = imported_by(f"from pipeline.cli.main import main\nmain({arguments!r})")
    assert "sqlite_utils" in modules
    assert modules & {"torch", "transformers"} == set()


@pytest.mark.slow
def test_a_run_imports_only_what_it_uses(reader: Path, tmp_path: Path, make_pdf: MakePdf) -> None:
    make_pdf(tmp_path / "new.pdf", ["one"])
    arguments = ["run", str(tmp_path), "--db", str(tmp_path / "a.db"), "--model", str(reader), *SETS]
    modules = imported_by(f"from pipeline.cli.main import main\nassert main({arguments!r}) == 0")
    assert {"torch", "ocr.model.deepseek_ocr", "pipeline.device.threads.decoder_thread"} <= modules
    assert modules & OF_WORKERS == set(), "a run's own process opens no file"
    lines = ["run", f"{ROOT}/tests/samples/letter.png", "--db", str(tmp_path / "b.db")]
    modules = imported_by(f"from pipeline.cli.main import main\nassert main({lines!r}) == 0")
    assert modules & {*OF_TRANSFORMERS, "huggingface_hub"} == set(), "lines are read without"


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == ExitCode.OK
    assert "Usage: ocrbatch" in capsys.readouterr().out


def test_run_prints_a_summary(
    reader: Path, tmp_path: Path, make_pdf: MakePdf, capsys: pytest.CaptureFixture[str]
) -> None:
    make_pdf(tmp_path / "a.pdf", ["one"])
    (tmp_path / "b.pdf").write_bytes(b"nonsense")
    arguments = ["run", str(tmp_path), "--db", str(tmp_path / "a.db"), "--model", str(reader), *SETS]
    assert main(arguments) == ExitCode.INCOMPLETE
    printed = capsys.readouterr()
    assert "pages: 1 ok" in printed.out
    assert "documents: 1 ok, 1 broken" in printed.out
    assert "bottleneck" not in printed.out
    assert "b.pdf: broken: " in printed.err
    assert "1 of 1 pages" in printed.err

    assert main([*arguments, "--quiet"]) == ExitCode.INCOMPLETE
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "ingest.paths"),
        (["run", "no-such-folder"], "no-such-folder"),
        (["run", ".", "--set", "decode.bach_size=4"], "decode.batch_size"),
        (["run", ".", "--pages", "3-1"], "--pages: ingest.pages: '3-1'"),
        (["run", ".", "--config", "nowhere.yaml"], "nowhere.yaml"),
        (["run", ".", "--device", "tpu"], "--device"),
        (["status", "--db", "nowhere.db"], "nowhere.db"),
        (["export", "--db", "nowhere.db", "--format", "md"], "nowhere.db"),
        (["search", "word", "--db", "nowhere.db"], "nowhere.db"),
        (["view", "--no-browser", "--db", "nowhere.db"], "nowhere.db: no such database"),
        (["eval", "--truth", "nowhere", "--db", "nowhere.db"], "nowhere"),
        (["no-such-command"], "no-such-command"),
        ([], "Usage"),
    ],
)
def test_usage_errors_name_what_is_wrong(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == ExitCode.USAGE
    printed = capsys.readouterr()
    assert says in printed.err
    assert "Traceback" not in printed.err
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_model_is_fatal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", str(tmp_path), "--model", str(tmp_path / "model"), "--db", str(tmp_path / "a.db")]
    assert main(arguments) == ExitCode.FATAL
    assert str(tmp_path / "model") in capsys.readouterr().err


def test_a_busy_database_has_its_own_exit_code(
    reader: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.db")
    with Store(path):
        assert main(["run", str(tmp_path), "--db", path, "--model", str(reader)]) == ExitCode.BUSY
    assert path in capsys.readouterr().err


@pytest.mark.parametrize("verbose", [False, True])
def test_tracebacks_only_when_asked_for(
    verbose: bool, database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bug(db: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("storage.queries.statistics.status", bug)
    assert main(["status", "--db", database, *(["-v"] if verbose else [])]) == ExitCode.FATAL
    printed = capsys.readouterr().err
    assert "KeyError('a bug')" in printed
    assert ("Traceback" in printed) == verbose


def test_status(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--db", database]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "pages: 2 ok, 1 blank" in text
    assert "decode_generate" in text
    assert "waiting for input" in text
    assert {"discover", "render", "encode", "decode", "store"} <= {
        line.split()[0] for line in text.splitlines() if line
    }
    assert f"{2 * len(TEXT.split())} tokens" in text
    assert main(["status", "--db", database, "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert found["pages"] == {"ok": 2, "blank": 1}
    assert {"mean_s", "median_s", "p99_s"} <= set(found["stages"][0])
    assert all(0 <= stage["busy"] <= 1 for stage in found["runs"][0]["flow"]["stages"])


def test_database_and_format_have_defaults(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--db", database, "--format", "jsonl"]) == ExitCode.OK
    explicit = capsys.readouterr().out
    monkeypatch.chdir(Path(database).parent)
    if Path(database).name != "ocrbatch.db":
        Path("ocrbatch.db").write_bytes(Path(database).read_bytes())
    assert main(["export"]) == ExitCode.OK
    assert capsys.readouterr().out == explicit


def test_what_was_written_is_said_in_a_line(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--db", database, "--format", "alto", "-o", str(tmp_path / "x")]) == ExitCode.OK
    assert capsys.readouterr() == ("", f"exported: 3 pages in 1 file, {tmp_path / 'x'}\n")
    for arguments, message in (
        (["--format", "hocr"], "hocr is a file for each document: name a folder with --out-dir"),
        (["--format", "parquet"], "parquet is no text: name a file with -o"),
        (["-o", "a", "--out-dir", "b"], "only one of them"),
        (["--format", "md", "-o", str(tmp_path)], "is a folder; name a file, or use --out-dir"),
    ):
        code = ExitCode.FATAL if "is a folder" in message else ExitCode.USAGE
        assert main(["export", "--db", database, *arguments]) == code
        assert message in capsys.readouterr().err


def test_every_format_can_be_named() -> None:
    with all_formats() as known:
        assert set(FORMAT_NAMES) == set(known)


def test_an_export_of_nothing_says_so(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--db", database, "--path", "b.pdf"]) == ExitCode.OK
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("no page to export: none matches (a --path without a slash")
    assert main(["export", "--db", database, "--max-confidence", "0"]) == ExitCode.OK
    assert capsys.readouterr().err == "no page to export: none matches\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
@pytest.mark.parametrize("command", ["export", "status"])
def test_a_full_device_is_no_internal_error(command: str, database: str) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pipeline.cli", command, "--db", database],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == ExitCode.FATAL
    assert done.stderr == "ocrbatch: standard output: cannot be written: No space left on device\n"


def test_a_search_says_how_many_hits_there_are(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--db", database, "--limit", "1", "very"]) == ExitCode.OK
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1
    assert "1 of 2 hits; --limit 2 shows all" in printed.err
    assert main(["search", "--db", database, "--json", "very"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["num_hits"], [hit["page"] for hit in found["hits"]]) == (2, [1, 3])


@pytest.mark.slow
def test_files_are_chosen_by_options(reader: Path, tmp_path: Path, make_pdf: MakePdf) -> None:
    for name in ("a.pdf", "b.pdf", "old.pdf"):
        make_pdf(tmp_path / name, ["one"])
    arguments = ["run", str(tmp_path), "--db", str(tmp_path / "a.db"), "--model", str(reader), *SETS]
    chosen = ["--include", "a*", "--include", "old*", "--exclude", "old*"]
    assert main([*arguments, "--quiet", *chosen]) == ExitCode.OK
    with open_for_reading(str(tmp_path / "a.db")) as db:
        assert [Path(path).name for (path,) in db.conn.execute("SELECT path FROM files")] == ["a.pdf"]


@pytest.mark.slow
def test_a_plan_fetches_no_model(
    tmp_path: Path, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    make_pdf(tmp_path / "a.pdf", ["one", "two"])
    asked = ["--plan", "--model", "nobody/nothing-here", "--db", str(tmp_path / "a.db")]
    assert main(["run", str(tmp_path / "a.pdf"), *asked]) == ExitCode.OK
    printed = capsys.readouterr().out
    assert "model: nobody/nothing-here is not on this machine; a run downloads it first" in printed
    assert "pages to read: 2" in printed


def test_a_reader_that_has_seen_enough_is_no_error(database: str) -> None:
    command = f"{sys.executable} -m pipeline.cli export --db {database} --format jsonl | true"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_eval(database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for page, text in ((1, TEXT), (3, "very very bad very")):
        path = tmp_path / "a.pdf" / f"{page}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert main(["eval", "--truth", str(tmp_path), "--db", database]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "pages without truth: " in text
    assert text.splitlines()[-1].startswith("2 pages: character error rate")
    assert main(["eval", "--truth", str(tmp_path), "--db", database, "--json"]) == ExitCode.OK
    report = json.loads(capsys.readouterr().out)
    assert report["wer"] == pytest.approx(1 / 8)


def num_pages_stored(database: str) -> int:
    try:
        return status(open_for_reading(database)).num_attempts
    except StorageError:  # not there yet, or not complete
        return 0


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, ExitCode.STOPPED)]
)
def test_an_ended_run_is_finished_by_the_next_and_nothing_is_read_twice(
    number: signal.Signals, code: int, reader: Path, tmp_path: Path, make_pdf: MakePdf
) -> None:
    make_pdf(tmp_path / "a.pdf", [f"page {index}" for index in range(24)])
    database = str(tmp_path / "a.db")
    arguments = ["run", str(tmp_path), "--db", database, "--model", str(reader), *SETS]
    process = start(*arguments, "--set", "decode.batch_size=1")
    wait_for(lambda: num_pages_stored(database) > 2, process)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == code
    done = num_pages_stored(database)
    assert 2 < done < 24

    assert main([*arguments, "--quiet"]) == ExitCode.OK
    found = status(open_for_reading(database))
    assert found.pages == {"ok": 24}
    assert found.num_attempts == 24


@pytest.mark.slow
def test_an_error_that_ends_the_run_has_its_exit_code_although_the_interpreter_cannot_be_taken_down(
    tmp_path: Path,
) -> None:
    """Ends like a run whose GPU was lost, where PyTorch's destructors abort the process."""
    arguments = ["run", str(tmp_path), "--model", str(tmp_path / "model"), "--db", str(tmp_path / "a.db")]
    program = (
        "import atexit, os, sys; from pipeline.cli import main as cli; atexit.register(os.abort);"
        f" sys.argv = ['ocrbatch', *{arguments}]; sys.exit(cli.main())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == ExitCode.FATAL
    assert str(tmp_path / "model") in ended.stderr
