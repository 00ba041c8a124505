"""The command compares databases by their paths, and runs by their numbers."""

import json
from pathlib import Path

import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from storage.records.store import Store
from tests.storage.sample_records import a_page, new_run


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = tmp_path / "a.db"
    with Store(path) as store:
        store.record_page(new_run(store), a_page("one two", 0))
        store.record_page(new_run(store), a_page("one twa", 0, settings_hash="settings-2"))
    return str(path)


def test_two_runs(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "1", "2", "--db", database]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "pages on both sides: 0 with the same text, 1 with another, half of them in 14.3% of the characters or more"
    )
    assert "   14.3%  docs/a.pdf, page 1 (ok)" in lines
    assert main(["compare", "1", "9", "--db", database]) == ExitCode.USAGE


def test_two_databases_as_json(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", database, database, "--json"]) == ExitCode.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["same"], found["changed"]) == (1, 0)
