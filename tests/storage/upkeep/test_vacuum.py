"""The file shrinks to what is in it, and all that is in it stays."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from storage.database import open_for_reading
from storage.errors import DatabaseAccessError
from storage.queries.search import search
from storage.records.store import Store
from storage.upkeep import vacuum as vacuuming
from storage.upkeep.audit import audit
from storage.upkeep.prune import prune
from storage.upkeep.vacuum import vacuum
from tests.storage.sample_records import a_page, new_run, rows


@pytest.fixture
def filled(path: Path) -> Path:
    with Store(path) as store:
        run_id = new_run(store)
        for number in range(20):
            store.record_page(run_id, a_page(f"word{number} " * 20_000))
    return path


@pytest.mark.slow
def test_the_file_shrinks_and_its_content_stays(filled: Path) -> None:
    shown = rows(filled, "SELECT * FROM results")
    prune(str(filled))
    before, after, log_kept = vacuum(str(filled))
    assert before > 2_000_000
    assert after == os.path.getsize(filled) < 1_000_000
    assert not log_kept
    assert rows(filled, "SELECT * FROM results") == shown
    assert os.listdir(filled.parent) == [filled.name]
    with open_for_reading(str(filled)) as db:
        assert audit(db).problems == []
        assert [hit["page"] for hit in search(db, "word19")] == [1]


def test_it_makes_the_search_index_anew(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as conn:
        conn.execute("DELETE FROM page_search_docsize")
        conn.commit()
    with open_for_reading(str(filled)) as db:
        assert [problem.check for problem in audit(db).problems] == ["search"]
    vacuum(str(filled))
    with open_for_reading(str(filled)) as db:
        assert audit(db).problems == []


def test_a_reader_keeps_the_log_and_is_not_disturbed(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.database.BUSY_TIMEOUT_S", 0.1)
    with closing(sqlite3.connect(filled, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM attempts").fetchone()
        prune(str(filled))
        assert vacuum(str(filled))[2]
        assert reader.execute("SELECT count(*) FROM attempts").fetchone() == before == (20,)
        reader.execute("COMMIT")
    assert not vacuum(str(filled))[2]


def test_it_says_what_room_it_needs(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vacuuming.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1_000_000))
    content = filled.read_bytes()
    with pytest.raises(DatabaseAccessError, match=r"no room .* 1 MB free, \d+ MB are needed; free some"):
        vacuum(str(filled))
    assert filled.read_bytes() == content
