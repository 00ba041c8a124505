"""Nothing but a terminal gets escape sequences, and none with NO_COLOR (https://no-color.org) has colours."""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tqdm import tqdm

from pipeline.reports.progress import Bar
from storage.records.store import Store
from tests.storage.sample_records import a_file, a_page, new_run

ROOT = Path(__file__).parents[3]
_COLOUR = re.compile(rb"\x1b\[[\d;:]*m")
COMMANDS = (["status"], ["status", "--files"], ["search", "text"], ["export", "--format", "txt"])


@pytest.fixture
def database(tmp_path: Path) -> str:
    with Store(tmp_path / "read.db") as store:
        run_id = new_run(store, a_file(str(tmp_path / "\x1b[31ma.pdf")))
        store.record_page(run_id, a_page("some \x1b[31m text"))
        store.record_page(run_id, a_page(None, 1))
    return str(tmp_path / "read.db")


def pieces(terminal: int) -> Iterator[bytes]:
    """Yields what a terminal gets until its other side is closed."""
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 1 << 12):
            yield piece


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_no_colours_with_no_color(database: str) -> None:
    code = (
        "import sys; from pipeline.cli.main import main\n"
        f"for command in {COMMANDS!r}: main([*command, '--db', {database!r}])\n"
    )
    ours, theirs = os.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b"".join(pieces(ours))
    os.close(ours)
    assert process.returncode == 0, shown.decode()
    assert b"some" in shown
    assert not _COLOUR.search(shown)


def test_the_progress_bar_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    with tqdm(unit=" pages", total=0, dynamic_ncols=True, file=stream, mininterval=0) as bar:
        progress = Bar(bar)
        progress.pages_found(3)
        progress.all_found()
        progress.say("a page \x1b[31mfailed")
    assert "pages" in stream.getvalue()
    assert not _COLOUR.search(stream.getvalue().encode())
