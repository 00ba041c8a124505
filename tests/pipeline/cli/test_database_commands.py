"""The commands that maintain the database and show parts of it."""

import json
from datetime import timedelta
from pathlib import Path

import click
import pytest
import yaml

from pipeline.cli.database_commands import parse_age
from pipeline.cli.main import main
from pipeline.errors import ExitCode
from storage.datasette.metadata import metadata
from storage.records.store import Store
from tests.storage.sample_records import SHA_B, a_file, a_page, a_run, mark_missing, new_run, rows


@pytest.fixture
def filled(database: str) -> str:
    """Two runs; the first file was read twice, the second changed, the third is gone."""
    with Store(database) as store:
        first = new_run(
            store,
            a_file("/in/2025/a.pdf", num_pages=2),
            a_file("/in/2026/b.PDF", SHA_B, num_pages=1),
            a_file("/gone/\x1bc.pdf", "c" * 64, num_pages=1),
        )
        store.record_page(first, a_page("first"))
        store.record_page(first, a_page("before", sha256=SHA_B))
        store.record_page(first, a_page("gone", sha256="c" * 64))
        store.finish_run(first, exit_code=0, counts={})
        second = store.start_run(a_run())
        store.record_page(second, a_page("again"))
        store.record_file(second, a_file("/in/2026/b.PDF", "d" * 64, num_pages=1))
        store.record_page(second, a_page(None, sha256="d" * 64))
        mark_missing(store, second, "/gone")
        store.finish_run(second, exit_code=3, counts={})
    return database


def exported(database: str, capsys: pytest.CaptureFixture[str], *options: str) -> list[tuple[str, str]]:
    assert main(["export", "--db", database, *options]) == ExitCode.OK
    pages = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [(page["path"].rpartition("/")[2], page["text"]) for page in pages]


def test_export_takes_what_is_asked_for(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    gone, again, failed = ("\x1bc.pdf", "gone"), ("a.pdf", "again"), ("b.PDF", None)
    assert exported(filled, capsys) == [gone, again, failed]
    assert exported(filled, capsys, "--since", "last") == [again, failed]
    assert exported(filled, capsys, "--since", "1") == [gone, again, failed]
    assert exported(filled, capsys, "--since", "2000-01-01", "--status", "failed, ok") == [
        gone,
        again,
        failed,
    ]
    assert exported(filled, capsys, "--since", "last", "--status", "ok") == [again]
    assert exported(filled, capsys, "--path", "b.pdf") == [failed]
    assert exported(filled, capsys, "--path", "**/2025/*", "--path", "/gone/**") == [gone, again]
    assert exported(filled, capsys, "--path", "in/*.pdf") == []
    assert exported(filled, capsys, "--superseded", "--path", "b.*") == [failed, ("b.PDF", "before")]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--since", "7"], "no run 7; the last is 2"),
        (["--since", "lately"], "'lately' is neither last"),
        (["--status", "ok,fine"], "'fine' is not a page status; choose from pending, ok"),
    ],
)
def test_what_cannot_be_selected_is_a_usage_error(
    filled: str, options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--db", filled, *options]) == ExitCode.USAGE
    assert says in capsys.readouterr().err


def test_status_counts_and_lists_files(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--db", filled]) == ExitCode.OK
    assert "files: 1 missing, 2 ok, 1 superseded; " in capsys.readouterr().out
    assert main(["status", "--db", filled, "--files", "--all"]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "failed         1 pages  /in/2026/b.PDF (1 failed): none of its pages could be read",
        "  page 1: failed: took over 60 s",
        "missing        1 pages  /gone/\\x1bc.pdf (1 ok): last found by run 1",
        "ok             2 pages  /in/2025/a.pdf (1 ok, 1 not asked for)",
        "superseded     1 pages  /in/2026/b.PDF (1 ok): run 2 found other content there",
    ]
    assert main(["status", "--db", filled, "--files", "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["superseded"], len(found["file_list"])) == (1, 4)
    assert found["file_list"][3]["pages"] == {"ok": 1}


def test_prune_and_vacuum_say_what_they_did(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", "--db", filled, "--missing", "--superseded", "--dry-run"]) == ExitCode.OK
    counts = "3 attempts, 0 runs, 1 files, 2 documents with 2 pages\n"
    assert capsys.readouterr().out == f"would delete: {counts}"
    assert main(["prune", "--db", filled, "--missing", "--superseded", "--older-than", "1h"]) == ExitCode.OK
    assert capsys.readouterr().out == "deleted: 0 attempts, 0 runs, 0 files, 0 documents with 0 pages\n"
    assert main(["prune", "--db", filled, "--missing", "--superseded"]) == ExitCode.OK
    assert capsys.readouterr().out == f"deleted: {counts}"
    assert rows(filled, "SELECT text FROM attempts ORDER BY id") == [("again",), (None,)]
    assert main(["vacuum", "--db", filled]) == ExitCode.OK
    assert "MB before, " in capsys.readouterr().out
    assert main(["verify", "--db", filled, "--no-files"]) == ExitCode.OK


@pytest.mark.parametrize("command", ["prune", "vacuum"])
def test_upkeep_gives_way_to_a_run(command: str, filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(filled):
        assert main([command, "--db", filled]) == ExitCode.BUSY
    assert "in use by another run (process " in capsys.readouterr().err


@pytest.mark.parametrize("command", ["prune", "vacuum", "verify"])
def test_upkeep_makes_no_database(command: str, tmp_path: Path) -> None:
    assert main([command, "--db", str(tmp_path / "none.db")]) == ExitCode.USAGE
    assert list(tmp_path.iterdir()) == []


def test_ages() -> None:
    assert parse_age(None, None, "90d") == timedelta(days=90)
    assert parse_age(None, None, " 12W") == timedelta(weeks=12)
    assert parse_age(None, None, "36h") == timedelta(hours=36)
    for text in ("", "d", "90", "-1d", "1.5d", "1e3d", "999999d"):
        with pytest.raises(click.BadParameter, match="90d, 12w or 36h"):
            parse_age(None, None, text)


def test_metadata_are_printed_or_written(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "metadata.yaml"
    assert main(["datasette", "--db", database]) == ExitCode.USAGE, "there is none"
    Store(database).close()
    capsys.readouterr()
    assert main(["datasette", "--db", database]) == ExitCode.OK
    assert yaml.safe_load(capsys.readouterr().out) == metadata(database)
    assert main(["datasette", "--db", database, "-o", str(target)]) == ExitCode.OK
    assert yaml.safe_load(target.read_text(encoding="utf-8")) == metadata(database)
