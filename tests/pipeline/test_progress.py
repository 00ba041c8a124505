import io
from dataclasses import replace

import pytest
from tqdm import tqdm

from ocr.types import ParsedText
from pipeline.cli import BAR_FORMAT
from pipeline.progress import Bar, Lines
from pipeline.types import Document, Page, PageError, PageResult

PAGE = Page(path="a.pdf", sha256="0", kind="pdf", page_index=6)
OK = PageResult(page=PAGE, status="ok", parsed=ParsedText(text="", markdown=""), error=None)
FAILED = PageResult(
    page=PAGE,
    status="failed",
    parsed=None,
    error=PageError(stage="render", category="broken", message="it is torn"),
)


def test_a_bar_counts_pages_and_faults(capsys: pytest.CaptureFixture[str]) -> None:
    screen = io.StringIO()
    with tqdm(file=screen, unit=" pages", total=0, bar_format=BAR_FORMAT, mininterval=0) as bar:
        progress = Bar(bar)
        progress.pages_found(3)
        progress.page_done(OK)
        progress.page_done(FAILED)
    last = screen.getvalue().split("\r")[-1]
    assert "2/3" in last
    assert "pages/s" in last
    assert "ok=1, failed=1" in last
    assert "a.pdf, page 7: failed: it is torn" in capsys.readouterr().err


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
    assert (progress.num_ok, progress.num_faults) == (2, 0)


def test_unknown_files_are_no_news(capsys: pytest.CaptureFixture[str]) -> None:
    values = {"sha256": None, "size_bytes": 1, "kind": None, "num_pages": 0, "reason": "because"}
    progress = Lines()
    progress.document_refused(Document(path="a.txt", status="skipped", **values))
    progress.document_refused(Document(path="b.pdf", status="broken", **values))
    assert capsys.readouterr().err == "b.pdf: broken: because\n"
