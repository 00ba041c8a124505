import json
import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ocr.types import ParsedText
from pipeline.cli.console import start_logging
from pipeline.errors import ConfigError
from pipeline.reports.logs import LoggedProgress, run_log, without_quotes
from pipeline.reports.progress import Counting, Silent
from pipeline.reports.summary import RunSummary
from pipeline.types import InputFile, Page, PageResult
from storage.types import PageError

SECRET = "what stands on the page"
NASTY = "a\nb\x1b[31m\u2028\udcff.pdf"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def result(status: Any = "ok", error: PageError | None = None) -> PageResult:
    page = Page(path=NASTY, sha256="0" * 64, kind="pdf", page_index=6)
    parsed = None if error else ParsedText(text=SECRET, markdown=SECRET)
    return PageResult(page=page, status=status, parsed=parsed, error=error, confidence=0.5)


def test_every_event_is_one_line_with_its_keys_and_no_text(tmp_path: Path) -> None:
    summary, told = RunSummary(database="a.db"), Counting()
    with run_log(str(tmp_path / "run.log"), 1, summary) as log:
        log.event("start", "the run starts", database="a.db")
        summary.run_id = 7
        progress = LoggedProgress(told, log)
        progress.pages_found(2)
        progress.page_done(result())
        progress.page_done(
            result("failed", PageError(stage="decode", category="internal", message=f"KeyError: {SECRET}"))
        )
        progress.document_refused(
            InputFile(
                path="b.pdf",
                status="broken",
                reason=f"named as a PDF file, but begins with {SECRET!r}",
            )
        )
    found = lines(tmp_path / "run.log")
    assert [(line["event"], line["level"], line["run_id"]) for line in found] == [
        ("start", "info", None),
        ("page", "info", 7),
        ("page", "warning", 7),
        ("document", "warning", 7),
    ]
    assert all(line["time"].endswith("+00:00") for line in found)
    assert (found[1]["path"], found[1]["page"], found[1]["confidence"]) == (NASTY, 7, 0.5)
    assert (found[2]["message"], found[2]["error"]["category"]) == ("failed: KeyError", "internal")
    assert found[3]["message"] == "broken: named as a PDF file, but is none"
    text = (tmp_path / "run.log").read_text()
    assert SECRET not in text
    assert "\x1b" not in text
    assert (told.num_pages, told.counts()) == (2, [("ok", 1), ("failed", 1)])


def test_a_rescued_page_is_a_warning_that_says_what_failed_and_by_what_it_was_saved(tmp_path: Path) -> None:
    failed = result("failed", PageError(stage="decode", category="internal", message=f"KeyError: {SECRET}"))
    saved = replace(result("embedded"), rung="layer", source="layer")
    told: list[tuple[PageResult, PageResult]] = []

    class Told(Silent):
        def page_rescued(self, first: PageResult, result: PageResult) -> None:
            told.append((first, result))

    with run_log(str(tmp_path / "run.log"), 1, RunSummary(database="a.db")) as log:
        LoggedProgress(Told(), log).page_rescued(failed, saved)
        LoggedProgress(Told(), log).page_rescued(result("repeated"), replace(result(), rung="ngram"))
    found, looped = lines(tmp_path / "run.log")
    assert (found["event"], found["level"]) == ("rescued", "warning")
    assert found["message"] == "failed: KeyError; rescued by the rung layer: embedded"
    assert (found["path"], found["page"], found["rung"], found["source"]) == (NASTY, 7, "layer", "layer")
    assert found["first"] == {"status": "failed", "error": {"stage": "decode", "category": "internal"}}
    assert looped["message"] == "repeated; rescued by the rung ngram: ok"
    assert looped["first"] == {"status": "repeated", "error": None}
    assert SECRET not in (tmp_path / "run.log").read_text()
    assert told[0] == (failed, saved)


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("the page cannot be rendered: code=7: 'Dear", "the page cannot be rendered"),
        ("not a readable PNG image: bad", "not a readable PNG image"),
        ("rendering the page failed: KeyError: 'Dear'", "rendering the page failed: KeyError"),
        ("named as a TIFF file, but begins with nothing but zero bytes", None),
        ("cannot be read: Permission denied", None),
        ("rendering the page crashed its worker process (SIGSEGV)", None),
    ],
)
def test_what_parsers_say_is_left_out(reason: str, kept: str | None) -> None:
    assert without_quotes(reason) == (kept or reason)


@pytest.mark.parametrize(("quiet", "shown"), [(True, ["E"]), (False, ["W", "E"])])
def test_warnings_reach_the_file_and_standard_error_stays_as_it_was(
    quiet: bool, shown: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("ocrbatch")
    start_logging(verbose=False, quiet=quiet)
    before = logger.level
    with run_log(str(tmp_path / "run.log"), 1, RunSummary(database="a.db")):
        for level, text in (
            (logging.DEBUG, "D"),
            (logging.INFO, "I"),
            (logging.WARNING, "W"),
            (logging.ERROR, "E"),
        ):
            logger.log(level, "%s", text)
    assert [line["message"] for line in lines(tmp_path / "run.log")] == ["I", "W", "E"]
    assert [line.split(": ")[1] for line in capsys.readouterr().err.splitlines()] == shown
    assert logger.level == before
    logger.error("afterwards")
    assert len(lines(tmp_path / "run.log")) == 3


def test_a_log_goes_on_and_is_kept_small(tmp_path: Path) -> None:
    for _ in range(2):
        with run_log(str(tmp_path / "run.log"), 1, RunSummary(database="a.db")) as log:
            log.event("start", "x" * 1000)
    assert len(lines(tmp_path / "run.log")) == 2
    with run_log(str(tmp_path / "run.log"), 1, RunSummary(database="a.db")) as log:
        for _ in range(7):
            log.event("start", "x" * (1 << 20))
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sorted(sizes) == ["run.log", "run.log.1", "run.log.2", "run.log.3", "run.log.4"]
    assert max(sizes.values()) < 1.1 * (1 << 20)


def test_a_log_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="--log-file"),
        run_log(str(tmp_path / "none" / "run.log"), 1, RunSummary(database="a.db")),
    ):
        pass


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full")
def test_a_full_disk_ends_the_log_and_not_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    with run_log("/dev/full", 1, RunSummary(database="a.db")) as log:
        log.event("start", "one")
        log.event("start", "two")
    assert capsys.readouterr().err.count("No space left on device; the run goes on") == 1


def test_without_a_file_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with run_log(None, 1, RunSummary(database="a.db")) as log:
        log.event("start", "one")
    assert list(tmp_path.iterdir()) == []
