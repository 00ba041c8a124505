"""Whole runs over one file by several names, over a share that is gone, and the verify that has nothing to check."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.config.schema import Config
from pipeline.errors import ExitCode
from pipeline.verify import verify
from tests.pipeline.conftest import Batch, MakePdf
from tests.pipeline.runs import changed, rows, run_quietly


def _named(config: Config, *paths: str) -> Config:
    return changed(config, ingest={"paths": list(paths)})


def _files(database: str) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT path, status FROM files ORDER BY path").fetchall()


@pytest.mark.slow
def test_a_file_by_three_names_is_one_row(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    batch.pdf("a.pdf", ["one", "two"])
    monkeypatch.chdir(batch.docs.parent)
    (batch.docs.parent / "link").symlink_to(batch.docs.name)
    for name in (
        batch.docs.name,
        str(batch.docs),
        f"{batch.docs.name}/../{batch.docs.name}",
        "link",
        f"{batch.docs.name}/a.pdf",
    ):
        run_quietly(_named(batch.config, name))
    assert _files(batch.database) == [(str(batch.docs / "a.pdf"), "ok")]
    assert [row["page"] for row in rows(batch.database)] == [1, 2]


@pytest.mark.slow
def test_export_finds_files_by_the_end_of_their_path(
    batch: Batch, capsys: pytest.CaptureFixture[str]
) -> None:
    batch.pdf("a.pdf", ["one"])
    batch.run()
    for glob in (f"{batch.docs.name}/*.pdf", "*.pdf", f"**/{batch.docs.name}/*", str(batch.docs / "a.pdf")):
        assert main(["export", "--db", batch.database, "--path", glob]) == 0
        assert str(batch.docs / "a.pdf") in capsys.readouterr().out
    assert main(["export", "--db", batch.database, "--path", "other/*.pdf"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_verify_works_from_any_folder(batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch.pdf("a.pdf", ["one"])
    monkeypatch.chdir(batch.docs.parent)
    run_quietly(_named(batch.config, batch.docs.name))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = verify(batch.database)
    assert (found.exit_code, found.checked["files"], found.gone) == (ExitCode.OK, 1, [])


@pytest.mark.slow
def test_a_verify_that_could_compare_no_file_proves_nothing(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one"])
    batch.run()
    (batch.docs / "a.pdf").unlink()
    found = verify(batch.database)
    assert found.exit_code == ExitCode.FAULTY
    assert "not one of the files of 1 documents could be compared" in found.lines()[-2]
    assert verify(batch.database, with_files=False).exit_code == ExitCode.OK


def _share(docs: Path, make_pdf: MakePdf) -> Path:
    for name in ("a.pdf", "b.pdf"):
        make_pdf(docs / name, [name])
    return docs


@pytest.mark.slow
def test_a_share_that_is_gone_is_said_also_quietly_and_every_night(
    batch: Batch, capsys: pytest.CaptureFixture[str]
) -> None:
    _share(batch.docs, batch.pdf)
    assert batch.run().exit_code == ExitCode.OK
    away = batch.docs.rename(batch.docs.with_name("unmounted"))
    batch.docs.mkdir()
    (batch.docs / "NOT-MOUNTED.txt").write_text("the share belongs here")
    for _night in range(2):
        summary = batch.run()
        assert summary.exit_code == ExitCode.INCOMPLETE
        assert summary.empty_paths == [(str(batch.docs), 2)]
        assert f"{batch.docs}: nothing to read is left of 2 files" in "\n".join(summary.lines())
    command = [
        "run", str(batch.docs), "--db", batch.config.store.database, "--model", batch.config.model, "--quiet",
    ]  # fmt: skip
    assert main(command) == ExitCode.INCOMPLETE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{batch.docs}: nothing to read is left of 2 files" in printed.err
    shutil.rmtree(batch.docs)
    away.rename(batch.docs)
    assert batch.run().exit_code == ExitCode.OK


@pytest.mark.slow
def test_a_share_beside_a_folder_that_is_there(batch: Batch) -> None:
    share = batch.docs.with_name("share")
    share.mkdir()
    _share(share, batch.pdf)
    batch.pdf("c.pdf", ["three"])
    both = _named(batch.config, str(batch.docs), str(share))
    run_quietly(both)
    for path in share.iterdir():
        path.unlink()
    assert run_quietly(both).empty_paths == [(str(share), 2)]
    assert batch.run().exit_code == ExitCode.OK, "nobody asked for the share"


@pytest.mark.slow
def test_files_that_vanish_one_by_one_are_no_fault(batch: Batch) -> None:
    _share(batch.docs, batch.pdf)
    batch.run()
    os.unlink(batch.docs / "a.pdf")
    summary = batch.run()
    assert (summary.exit_code, summary.num_missing, summary.empty_paths) == (ExitCode.OK, 1, [])


@pytest.mark.slow
def test_an_inbox_with_new_files_is_no_fault(batch: Batch) -> None:
    _share(batch.docs, batch.pdf)
    batch.run()
    for path in batch.docs.iterdir():
        path.unlink()
    batch.pdf("new.pdf", ["three"])
    summary = batch.run()
    assert (summary.exit_code, summary.num_missing, summary.empty_paths) == (ExitCode.OK, 2, [])


@pytest.mark.slow
def test_files_left_out_by_a_pattern_are_not_gone(batch: Batch) -> None:
    _share(batch.docs, batch.pdf)
    batch.run()
    summary = batch.run(ingest={"exclude": ["*.pdf"]})
    assert (summary.exit_code, summary.empty_paths) == (ExitCode.OK, [])
