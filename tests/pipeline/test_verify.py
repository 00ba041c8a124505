"""A run's database verifies; what changed since is told apart from what is wrong."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pymupdf
import pytest

from pipeline.cli.main import main
from pipeline.config.schema import Config
from pipeline.errors import ExitCode
from pipeline.verify import Verification, last_config, verify
from storage.database import open_for_reading
from storage.queries.statistics import status
from storage.records.store import Store
from tests.pipeline.conftest import Batch, MakePdf
from tests.pipeline.runs import run_quietly
from tests.storage.sample_records import a_file, a_run


@pytest.fixture
def read(docs: Path, config: Config, database: str, make_pdf: MakePdf) -> str:
    """A database of five files: 2, 1 and 1 pages, one that is locked, and one that is broken."""
    make_pdf(docs / "a.pdf", ["one", ""])
    make_pdf(docs / "b.pdf", ["three"])
    make_pdf(docs / "c.pdf", [""])
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7\nnonsense")
    with pymupdf.open() as locked:
        locked.new_page()
        locked.save(docs / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="pw", owner_pw="ow")
    run_quietly(config)
    return database


def change(database: str, sql: str) -> None:
    with closing(sqlite3.connect(database)) as conn:
        conn.execute(sql)
        conn.commit()


def messages(found: Verification) -> list[str]:
    return [problem.message for problem in found.problems]


@pytest.mark.slow
def test_what_a_run_stored_holds(read: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--db", read]) == ExitCode.OK
    text = capsys.readouterr().out
    assert "\nok    5 documents have one row for each of their pages\n" in text
    assert "\nok    5 files have the content" in text
    assert "\nok    4 pages were counted in them\n" in text
    assert "WRONG" not in text
    assert text.endswith("no problem\n")
    assert main(["verify", "--db", read, "--json", "--no-files"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["problems"], found["checked"]["pages"]) == (True, [], 4)
    assert "files" not in found["checked"]


@pytest.mark.slow
def test_changed_and_vanished_files_are_no_fault(read: str, batch: Batch) -> None:
    batch.pdf("a.pdf", ["other", "pages", "now"])
    os.unlink(batch.docs / "b.pdf")
    found = verify(read)
    assert (found.exit_code, found.problems) == (ExitCode.OK, [])
    assert found.changed == [f"{batch.docs}/a.pdf: changed since it was read; the next run reads it"]
    assert found.gone == [f"{batch.docs}/b.pdf: not there any more"]
    assert (found.checked["files"], found.checked["pages_in_files"]) == (3, 1)
    assert f"gone: {batch.docs}/b.pdf: not there any more" in found.lines()


@pytest.mark.slow
def test_a_page_that_was_lost_is_a_fault(read: str, docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(read, "DELETE FROM pages WHERE page_index = 1")
    assert main(["verify", "--db", read]) == ExitCode.FAULTY
    lines = capsys.readouterr().out.splitlines()
    assert "WRONG 5 documents have one row for each of their pages" in lines
    (line,) = [line for line in lines if line.startswith("PROBLEM: documents")]
    assert f"{docs}/a.pdf: has 2 pages, and 1 rows for them; `ocrbatch run {docs}/a.pdf` adds them" in line


@pytest.mark.slow
def test_the_file_has_the_last_word_on_its_pages(read: str, docs: Path) -> None:
    """Rows and count agree with each other, and both are wrong."""
    change(read, "UPDATE documents SET num_pages = 1 WHERE num_pages = 2")
    change(read, "DELETE FROM pages WHERE page_index = 1")
    assert f"{docs}/a.pdf: has 2 pages, but 1 in the database" in messages(verify(read))
    assert not any("has 2 pages" in message for message in messages(verify(read, with_files=False)))


@pytest.mark.slow
def test_a_locked_file_is_counted_with_its_password_or_said_not_to_be(
    read: str, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = batch.config.model_dump(mode="json")
    values["ingest"]["password_env"] = "OCRBATCH_TEST_PASSWORD"
    locked = pymupdf.open(batch.docs / "locked.pdf")
    assert locked.needs_pass
    with Store(read) as store, open_for_reading(read) as db:
        run_id = store.start_run(a_run(config=values))
        path = str(batch.docs / "locked.pdf")
        sql = "SELECT sha256 FROM files f JOIN documents d ON d.id = f.document_id WHERE f.path = ?"
        (sha256,) = db.conn.execute(sql, (path,)).fetchone()
        store.record_file(run_id, a_file(path, sha256, num_pages=1))
        store.finish_run(run_id, exit_code=0, counts={})
    without = verify(read)
    assert without.problems == []
    assert [line.split(": ")[0] for line in without.uncounted] == [path]
    monkeypatch.setenv("OCRBATCH_TEST_PASSWORD", "pw")
    found = verify(read)
    assert (found.problems, found.uncounted) == ([], [])
    assert found.checked["pages_in_files"] == 5


def test_a_configuration_of_another_version_is_done_without(database: str) -> None:
    with Store(database) as store:
        store.start_run(a_run(config={"no": "such key"}))
        with open_for_reading(database) as db:
            assert last_config(db) == Config()


@pytest.mark.slow
def test_pages_that_nobody_asked_for_have_their_rows_too(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one", "", "", ""])
    batch.run(ingest={"pages": "2-", "max_pages_per_document": 1})
    found = verify(batch.database)
    assert (found.problems, found.checked["pages"], found.checked["pages_in_files"]) == ([], 4, 4)
    with open_for_reading(batch.database) as db:
        assert (status(db).pages, status(db).left_out_pages) == ({"blank": 1}, 3)
    batch.run()
    with open_for_reading(batch.database) as db:
        assert (status(db).pages, status(db).left_out_pages) == ({"ok": 1, "blank": 3}, 0)


@pytest.mark.slow
def test_what_is_wrong_can_be_mended_as_it_says(read: str, batch: Batch) -> None:
    change(read, "UPDATE pages SET status = 'failed'")
    change(read, "DELETE FROM page_search_docsize")
    assert {problem.check for problem in verify(read).problems} == {"pages", "search"}
    batch.run(run={"force": True})
    assert main(["vacuum", "--db", read]) == ExitCode.OK
    assert verify(read).problems == []
