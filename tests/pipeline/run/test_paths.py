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
from tests.pipeline.conftest import MakePdf
from tests.pipeline.runs import changed, rows, run_quietly


def _named(config: Config, *paths: str) -> Config:
    return changed(config, ingest={"paths": list(paths)})


def _files(database: str) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT path, status FROM files ORDER BY path").fetchall()


@pytest.mark.slow
def test_a_file_by_three_names_is_one_row(
    docs: Path, config: Config, database: str, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pdf(docs / "a.pdf", ["one", "two"])
    monkeypatch.chdir(docs.parent)
    (docs.parent / "link").symlink_to(docs.name)
    for name in (docs.name, str(docs), f"{docs.name}/../{docs.name}", "link", f"{docs.name}/a.pdf"):
        run_quietly(_named(config, name))
    assert _files(database) == [(str(docs / "a.pdf"), "ok")]
    assert [row["page"] for row in rows(database)] == [1, 2]


@pytest.mark.slow
def test_rows_of_earlier_versions_take_the_file_s_one_name(
    docs: Path, config: Config, database: str, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pdf(docs / "a.pdf", ["one"])
    make_pdf(docs / "b.pdf", ["two"])
    run_quietly(config)
    old = {"a.pdf": f"{docs.name}/a.pdf", "b.pdf": f"x/../../{docs.name}/b.pdf"}
    with closing(sqlite3.connect(database)) as db, db:
        for name, path in old.items():
            db.execute("UPDATE files SET path = ? WHERE path = ?", (path, str(docs / name)))
        # By two names since.
        db.execute(
            "INSERT INTO files (path, document_id, status, first_run_id, last_run_id)"
            " SELECT ?, document_id, 'ok', 1, 1 FROM files WHERE path = ?", (str(docs / "b.pdf"), old["b.pdf"]),
        )  # fmt: skip
        db.execute(
            "INSERT INTO files (path, document_id, status, first_run_id, last_run_id)"
            " SELECT 'elsewhere/c.pdf', document_id, 'ok', 1, 1 FROM files WHERE path = ?", (old["b.pdf"],),
        )  # fmt: skip
    monkeypatch.chdir(docs.parent)
    run_quietly(_named(config, docs.name))
    assert [path for path, _ in _files(database)] == [
        str(docs / "a.pdf"),
        str(docs / "b.pdf"),
        "elsewhere/c.pdf",
    ]


@pytest.mark.slow
def test_export_finds_files_by_the_end_of_their_path(
    docs: Path, config: Config, database: str, make_pdf: MakePdf, capsys: pytest.CaptureFixture[str]
) -> None:
    make_pdf(docs / "a.pdf", ["one"])
    run_quietly(config)
    for glob in (f"{docs.name}/*.pdf", "*.pdf", f"**/{docs.name}/*", str(docs / "a.pdf")):
        assert main(["export", "--db", database, "--path", glob]) == 0
        assert str(docs / "a.pdf") in capsys.readouterr().out
    assert main(["export", "--db", database, "--path", "other/*.pdf"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_verify_works_from_any_folder(
    docs: Path,
    config: Config,
    database: str,
    make_pdf: MakePdf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_pdf(docs / "a.pdf", ["one"])
    monkeypatch.chdir(docs.parent)
    run_quietly(_named(config, docs.name))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = verify(database)
    assert (found.exit_code, found.checked["files"], found.gone) == (ExitCode.OK, 1, [])


@pytest.mark.slow
def test_a_verify_that_could_compare_no_file_proves_nothing(
    docs: Path, config: Config, database: str, make_pdf: MakePdf
) -> None:
    make_pdf(docs / "a.pdf", ["one"])
    run_quietly(config)
    (docs / "a.pdf").unlink()
    found = verify(database)
    assert found.exit_code == ExitCode.FAULTY
    assert "not one of the files of 1 documents could be compared" in found.lines()[-2]
    assert verify(database, with_files=False).exit_code == ExitCode.OK


def _share(docs: Path, make_pdf: MakePdf) -> Path:
    for name in ("a.pdf", "b.pdf"):
        make_pdf(docs / name, [name])
    return docs


@pytest.mark.slow
def test_a_share_that_is_gone_is_said_also_quietly_and_every_night(
    docs: Path, config: Config, make_pdf: MakePdf, capsys: pytest.CaptureFixture[str]
) -> None:
    _share(docs, make_pdf)
    assert run_quietly(config).exit_code == ExitCode.OK
    away = docs.rename(docs.with_name("unmounted"))
    docs.mkdir()
    (docs / "NOT-MOUNTED.txt").write_text("the share belongs here")
    for _night in range(2):
        summary = run_quietly(config)
        assert summary.exit_code == ExitCode.INCOMPLETE
        assert summary.empty_paths == [(str(docs), 2)]
        assert f"{docs}: nothing to read is left of 2 files" in "\n".join(summary.lines())
    command = ["run", str(docs), "--db", config.store.database, "--model", config.model, "--quiet"]
    assert main(command) == ExitCode.INCOMPLETE
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{docs}: nothing to read is left of 2 files" in printed.err
    shutil.rmtree(docs)
    away.rename(docs)
    assert run_quietly(config).exit_code == ExitCode.OK


@pytest.mark.slow
def test_a_share_beside_a_folder_that_is_there(docs: Path, config: Config, make_pdf: MakePdf) -> None:
    share = docs.with_name("share")
    share.mkdir()
    _share(share, make_pdf)
    make_pdf(docs / "c.pdf", ["three"])
    both = _named(config, str(docs), str(share))
    run_quietly(both)
    for path in share.iterdir():
        path.unlink()
    assert run_quietly(both).empty_paths == [(str(share), 2)]
    assert run_quietly(config).exit_code == ExitCode.OK, "nobody asked for the share"


@pytest.mark.slow
def test_files_that_vanish_one_by_one_are_no_fault(docs: Path, config: Config, make_pdf: MakePdf) -> None:
    _share(docs, make_pdf)
    run_quietly(config)
    os.unlink(docs / "a.pdf")
    summary = run_quietly(config)
    assert (summary.exit_code, summary.num_missing, summary.empty_paths) == (ExitCode.OK, 1, [])


@pytest.mark.slow
def test_an_inbox_with_new_files_is_no_fault(docs: Path, config: Config, make_pdf: MakePdf) -> None:
    _share(docs, make_pdf)
    run_quietly(config)
    for path in docs.iterdir():
        path.unlink()
    make_pdf(docs / "new.pdf", ["three"])
    summary = run_quietly(config)
    assert (summary.exit_code, summary.num_missing, summary.empty_paths) == (ExitCode.OK, 2, [])


@pytest.mark.slow
def test_files_left_out_by_a_pattern_are_not_gone(docs: Path, config: Config, make_pdf: MakePdf) -> None:
    _share(docs, make_pdf)
    run_quietly(config)
    summary = run_quietly(changed(config, ingest={"exclude": ["*.pdf"]}))
    assert (summary.exit_code, summary.empty_paths) == (ExitCode.OK, [])
