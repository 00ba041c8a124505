import io
from dataclasses import replace

import pytest
from tqdm import tqdm

from ocr.types import ParsedText
from pipeline.reports.progress import Bar, Lines
from pipeline.types import InputFile, Page, PageResult
from storage.types import PageError

PAGE = Page(path="a.pdf", sha256="0", kind="pdf", page_index=6)
OK = PageResult(page=PAGE, status="ok", parsed=ParsedText(text="", markdown=""), error=None)
FAILED = PageResult(
    page=PAGE,
    status="failed",
    parsed=None,
    error=PageError(stage="render", category="broken", message="it is torn"),
)


def test_a_doubtful_page_is_counted_as_such_and_not_as_failed(capsys: pytest.CaptureFixture[str]) -> None:
    doubtful = replace(OK, status="doubtful", doubt="handwriting, perhaps")
    screen, lines = io.StringIO(), Lines()
    with tqdm(file=screen, unit=" pages", total=0, ncols=140, mininterval=0) as bar:
        for progress in (Bar(bar), lines):
            progress.pages_found(3)
            progress.all_found()
            for result in (OK, doubtful, FAILED):
                progress.page_done(result)
        assert "ok=1, doubtful=1, failed=1" in shown(screen)
    lines.show()
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "a.pdf, page 7: doubtful: handwriting, perhaps"
    assert told[-1].startswith("3 of 3 pages, ")
    assert told[-1].endswith("1 ok, 1 doubtful, 1 failed")


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def shown(screen: io.StringIO) -> str:
    return screen.getvalue().split("\r")[-1].strip()


def test_a_bar_says_what_the_run_is_at_and_moves_with_time() -> None:
    screen, clock = io.StringIO(), Clock()
    with tqdm(file=screen, unit=" pages", total=0, ncols=120, mininterval=0) as bar:
        progress = Bar(bar, clock)
        assert shown(screen).startswith("inspecting files: 0/0+ pages")
        progress.pages_found(2)
        progress.at_work("loading the model", 0)
        clock.s = 1.0
        progress.at_work("loading the model", 0)
        assert shown(screen).startswith("loading the model: 0/2+ pages")
        assert "%" not in shown(screen), "more pages may be found"
        progress.all_found()
        clock.s = 2.0
        progress.at_work("reading", 0)
        assert shown(screen).startswith("reading:   0%|")
        before = len(screen.getvalue())
        clock.s = 2.1
        progress.at_work("reading", 17)
        assert len(screen.getvalue()) == before, "not ten times a second"
        clock.s = 3.0
        progress.at_work("reading", 1017)
        assert "1,017 tokens" in shown(screen)
        assert "left" not in shown(screen)


def test_the_time_left_is_told_once_it_is_known_and_failures_are_no_speed() -> None:
    screen, clock = io.StringIO(), Clock()
    read = replace(OK, num_tokens=100)
    with tqdm(file=screen, unit=" pages", total=0, ncols=140, mininterval=0) as bar:
        progress = Bar(bar, clock)
        progress.pages_found(100)
        progress.at_work("reading", 0)
        for _ in range(50):
            progress.page_done(FAILED)
        clock.s = 10.0
        progress.page_done(OK)  # blank: nothing was read
        assert "left" not in shown(screen)
        for _ in range(5):
            progress.page_done(read)
        assert "left" not in shown(screen), "who knows how many pages are still found"
        progress.all_found()
        assert "about 88 s left" in shown(screen), "44 pages at half a page a second"
        assert "0.60 pages/s" in shown(screen)


def test_pages_read_line_by_line_tell_the_time_left_too() -> None:
    screen, clock = io.StringIO(), Clock()
    line_read, taken = replace(OK, confidence=0.9), replace(OK, status="embedded", source="layer")
    with tqdm(file=screen, unit=" pages", total=0, ncols=140, mininterval=0) as bar:
        progress = Bar(bar, clock)
        progress.pages_found(30)
        progress.all_found()
        for _ in range(10):
            progress.page_done(taken)  # before the reader was ready: they say nothing about its speed
        progress.at_work("reading", 0)
        clock.s = 10.0
        for result in (line_read, line_read, line_read, taken, taken):
            progress.page_done(result)
        assert "about 30 s left" in shown(screen), "15 pages at half a page a second"


def test_lines_name_faults_and_end_with_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Lines()
    progress.pages_found(2)
    progress.page_done(OK)
    progress.page_done(FAILED)
    progress.show()
    progress.show()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "a.pdf, page 7: failed: it is torn"
    assert lines[1].startswith("2 of 2 pages, ")
    assert lines[1].endswith("1 ok, 1 failed")
    assert len(lines) == 2


def test_a_page_that_was_rescued_is_a_line_and_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    progress, cut = Lines(), replace(OK, status="truncated")
    saved = replace(OK, status="embedded", rung="layer")
    for first in (FAILED, cut):
        progress.page_rescued(first, saved)
        progress.page_done(saved)
    assert capsys.readouterr().err.splitlines() == [
        "a.pdf, page 7: failed: it is torn; rescued by the rung layer: embedded",
        "a.pdf, page 7: truncated; rescued by the rung layer: embedded",
    ]
    assert progress.counts() == [("embedded", 2), ("failed", 0)]


def test_unknown_files_are_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Lines()
    progress.document_refused(InputFile(path="a.txt", status="skipped", reason="because"))
    progress.document_refused(InputFile(path="b.pdf", status="broken", reason="because"))
    assert capsys.readouterr().err == "b.pdf: broken: because\n"
