"""The Python API as a user has it, and its documents as doctests."""

import doctest
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.api.page_text import PageText
from pipeline.api.read_files import read, run
from pipeline.api.stored_pages import results
from pipeline.cli import ocrbatch
from pipeline.errors import ConfigError
from storage.errors import DatabaseNotFoundError, SelectionError

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "tests" / "samples"
FLAGS = doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package under its own name, of this source tree, with the working directory of its examples."""
    monkeypatch.setitem(sys.modules, "ocrbatch", ocrbatch)
    monkeypatch.chdir(ROOT)
    return ocrbatch


def test_the_examples_of_the_package_are_true(package: ModuleType) -> None:
    done = doctest.testmod(package, optionflags=FLAGS)
    assert (done.failed, done.attempted > 0) == (0, True)


def test_the_examples_of_the_document_are_true(package: ModuleType) -> None:
    document = ROOT / "pipeline" / "api" / "PYTHON.md"
    done = doctest.testfile(str(document), module_relative=False, optionflags=FLAGS)
    assert (done.failed, done.attempted > 0) == (0, True)


def test_nothing_heavy_is_imported_before_something_is_read(tmp_path: Path) -> None:
    script = """
import sys, ocrbatch
print("pipeline" in sys.modules)
assert {"read", "run", "results"} <= set(dir(ocrbatch))
try:
    list(ocrbatch.results("nowhere.db"))
except ocrbatch.DatabaseNotFoundError:
    print("torch" in sys.modules, "transformers" in sys.modules)
ocrbatch.read
print("torch" in sys.modules, "transformers" in sys.modules)
"""
    paths = os.pathsep.join([str(ROOT / "pipeline" / "cli"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    assert done.stdout.split() == ["False"] * 5


def test_every_public_name_is_there_and_an_unknown_one_is_not() -> None:
    assert all(getattr(ocrbatch, name) for name in ocrbatch.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'rea'"):
        ocrbatch.rea  # noqa: B018


def test_a_foreign_package_stands_in_the_way_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocrbatch, "foreign_packages", lambda: iter(["another package is called pipeline"]))
    monkeypatch.delitem(vars(ocrbatch), "run", raising=False)
    with pytest.raises(ImportError, match="another package is called pipeline"):
        ocrbatch.run  # noqa: B018


def test_a_file_that_cannot_be_read_is_no_error_and_a_missing_one_is(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing")
    document = read(broken)
    assert (document.status, document.pages, document.text) == ("broken", (), "")
    assert document.reason
    assert list(tmp_path.iterdir()) == [broken], "no database is left"
    with pytest.raises(ConfigError, match="no such file"):
        read(tmp_path / "missing.pdf")
    with pytest.raises(ConfigError, match="a folder, which is read by `run`"):
        read(tmp_path)


def test_a_run_calls_back_with_what_is_stored_and_the_next_has_nothing_to_do(tmp_path: Path) -> None:
    database, seen = tmp_path / "a.db", list[PageText]()
    first = run(SAMPLES / "report.pdf", db=database, on_page=seen.append)
    assert first.pages == {"embedded": len(seen)}
    assert first.num_left == first.num_done_before == 0
    stored = list(results(database))
    assert sorted(seen, key=lambda page: page.number) == stored
    assert all(word.box is not None for word in stored[0].words)
    again = run(SAMPLES / "report.pdf", db=database)
    assert (again.pages, again.num_done_before, again.run) == ({}, len(seen), first.run + 1)
    with pytest.raises(SelectionError, match="'fine' is not a page status"):
        next(results(database, status="fine"))
    assert list(results(database, path="*.png")) == []
    assert [page.number for page in results(database, since=1, words=False)] == [
        page.number for page in stored
    ]


def test_what_a_callback_raises_is_raised_and_the_page_is_stored(tmp_path: Path) -> None:
    def angry(page: PageText) -> None:
        raise ZeroDivisionError(page.number)

    database = tmp_path / "a.db"
    with pytest.raises(ZeroDivisionError):
        run([SAMPLES / "report.pdf"], db=database, on_page=angry)
    assert "embedded" in {page.status for page in results(database)}


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown key ingest\.page; did you mean ingest\.pages"):
        run(SAMPLES, db=tmp_path / "a.db", config={"ingest": {"page": "1"}})
    with pytest.raises(DatabaseNotFoundError):
        next(results(tmp_path / "a.db"))
