"""A disk that fills while a run goes on: the run ends with a message, and what was read stays."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from pipeline.errors import exit_code, is_explained
from pipeline.reports.progress import Silent
from pipeline.run.reported_run import reported_run
from pipeline.stop import Stop
from storage.database import open_for_reading, open_for_writing
from storage.errors import DatabaseAccessError
from storage.queries.statistics import status
from storage.records import store
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import changed


def limit_growth(monkeypatch: pytest.MonkeyPatch, num_pages: int) -> None:
    """SQLite itself says that the disk is full once the file has grown by so many of its pages."""

    def open_small(path: str) -> Database:
        db = open_for_writing(path)
        (size,) = db.conn.execute("PRAGMA page_count").fetchone()
        db.conn.execute(f"PRAGMA max_page_count = {size + num_pages}")
        return db

    monkeypatch.setattr(store, "open_for_writing", open_small)


@pytest.mark.slow
@pytest.mark.parametrize("num_pages", [0, 2, 9])
def test_finished_pages_stay_and_the_next_run_goes_on(
    num_pages: int, batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcd":
        batch.pdf(f"{name * 200}.pdf", [f"{name} {index}" for index in range(15)])
    reported = changed(batch.config, run={"summary_file": str(tmp_path / "run.json")})
    with monkeypatch.context() as patch:
        limit_growth(patch, num_pages)
        with pytest.raises(DatabaseAccessError, match="the disk is full; free space and run again") as caught:
            reported_run(reported, Silent(), Stop())
    assert exit_code(caught.value) == 1
    assert is_explained(caught.value)
    found = json.loads((tmp_path / "run.json").read_text())
    assert (found["exit_code"], found["end"]) == (1, "failed")
    assert "disk is full" in found["reason"]

    with closing(sqlite3.connect(batch.database)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with closing(open_for_reading(batch.database)) as db:
        before = status(db)
    done = before.pages.get("ok", 0)
    assert done == before.num_attempts == found["pages"].get("ok", 0)
    assert done < 60
    summary = batch.run()
    assert (summary.num_done_before, summary.pages) == (done, {"ok": 60 - done})
