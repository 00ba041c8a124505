"""The command writes the metadata of a database that is there, under its name."""

from pathlib import Path

import yaml
from click.testing import CliRunner

from pipeline.cli.main import cli
from storage.datasette.metadata import metadata
from storage.errors import DatabaseNotFoundError
from storage.records.store import Store


def test_metadata_are_printed_or_written(tmp_path: Path) -> None:
    database, target = tmp_path / "papers.db", tmp_path / "metadata.yaml"
    with Store(database):
        pass
    printed = CliRunner().invoke(cli, ["datasette", "--db", str(database)], standalone_mode=False)
    CliRunner().invoke(cli, ["datasette", "--db", str(database), "-o", str(target)], standalone_mode=False)
    assert list(yaml.safe_load(printed.stdout)["databases"]) == ["papers"]
    assert yaml.safe_load(target.read_text(encoding="utf-8")) == metadata(str(database))


def test_a_database_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["datasette", "--db", str(tmp_path / "none.db")], standalone_mode=False)
    assert isinstance(result.exception, DatabaseNotFoundError)
