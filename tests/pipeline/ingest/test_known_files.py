"""A file that has not changed is known without being opened; one that may have changed is looked into."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from pipeline.ingest import found
from pipeline.ingest.workers.pool import WorkerPool
from tests.storage.sample_records import rows

REPORT = Path(__file__).parents[2] / "samples" / "report.pdf"


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were looked into, since the list was emptied."""
    names: list[str] = []
    probe = WorkerPool.probe

    def noted(pool: WorkerPool, path: str, *more: Any) -> Any:
        names.append(os.path.basename(path))
        return probe(pool, path, *more)

    monkeypatch.setattr(WorkerPool, "probe", noted)
    return names


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.pdf", "b.pdf"):
        (folder / name).write_bytes(REPORT.read_bytes() + name.encode())
    (folder / "broken.pdf").write_bytes(b"nothing")
    return folder


def run(docs: Path, *more: str) -> None:
    database = str(docs.with_name("results.db"))
    code = main(["run", str(docs), "--db", database, "--quiet", "--device", "cpu", *more])
    assert code == (ExitCode.OK if "--plan" in more else ExitCode.INCOMPLETE)


def test_what_has_not_changed_is_not_opened_again(
    docs: Path, probed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(found, "_SETTLED_NS", 0)
    run(docs)
    assert sorted(probed) == ["a.pdf", "b.pdf", "broken.pdf"]
    probed.clear()
    run(docs)
    run(docs, "--plan")
    assert probed == ["broken.pdf", "broken.pdf"], "what could not be read may be readable by now"
    assert "pages read before: 6" in capsys.readouterr().out
    database = docs.with_name("results.db")
    assert rows(database, "SELECT path, status FROM files WHERE last_run_id < 2") == []
    # Other content of the same size, with the time of the first: only the kernel's own time of the change tells.
    before = (docs / "a.pdf").stat()
    (docs / "a.pdf").write_bytes(REPORT.read_bytes() + b"x.pdf")
    os.utime(docs / "a.pdf", ns=(before.st_atime_ns, before.st_mtime_ns))
    shutil.move(docs / "b.pdf", docs / "c.pdf")
    probed.clear()
    run(docs)
    assert sorted(probed) == ["a.pdf", "broken.pdf", "c.pdf"]
    assert rows(database, "SELECT count(*) FROM superseded") == [(1,)]
    # Settings that decide what is found in a file.
    probed.clear()
    run(docs, "--set", "ingest.max_image_pixels=1000000")
    assert sorted(probed) == ["a.pdf", "broken.pdf", "c.pdf"]


def test_a_file_that_was_just_written_is_looked_into_again(
    docs: Path, probed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could change once more within a tick of the clock, unseen."""
    monkeypatch.setattr(found, "_SETTLED_NS", 3600 * 10**9)
    run(docs)
    probed.clear()
    run(docs)
    assert sorted(probed) == ["a.pdf", "b.pdf", "broken.pdf"]
