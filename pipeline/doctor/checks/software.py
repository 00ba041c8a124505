"""Checks Python, the packages and SQLite. Imports no package: the check that uses a broken one will find it."""

import sqlite3
import tomllib
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path
from platform import python_implementation, python_version

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from pipeline.config.schema import Config
from pipeline.doctor.finding import Finding, fail, note, ok

_SOURCE = Path(__file__).parents[3] / "pyproject.toml"


def check(config: Config) -> Iterator[Finding]:
    """Checks versions against the ranges that this package declares."""
    python, requirements = declared()
    yield _python(python)
    found = [(requirement, _version(requirement.name)) for requirement in requirements]
    wrong = [
        (requirement, version)
        for requirement, version in found
        if not version or not _fits(requirement, version)
    ]
    for requirement, version in wrong:
        yield fail(
            requirement.name,
            f"{version} is not {requirement.specifier}" if version else "not installed",
            f"pip install '{requirement}'",
        )
    if not wrong:
        shown = ", ".join(f"{requirement.name} {version}" for requirement, version in found)
        yield ok("packages", shown)
    yield _sqlite()


def declared() -> tuple[str, list[Requirement]]:
    """Returns the range of Python versions, and the requirements without extras.

    They are read from pyproject.toml in a source tree, whose installed metadata may be older; else from the metadata.
    """
    if _SOURCE.is_file():
        project = tomllib.loads(_SOURCE.read_text(encoding="utf-8"))["project"]
        return project["requires-python"], [Requirement(text) for text in project["dependencies"]]
    package = metadata.metadata("ocrbatch")
    requirements = [Requirement(text) for text in metadata.requires("ocrbatch") or []]
    return package["Requires-Python"], [
        item for item in requirements if item.marker is None or item.marker.evaluate({"extra": ""})
    ]


def _python(wanted: str) -> Finding:
    version = python_version()
    if SpecifierSet(wanted).contains(version, prereleases=True):
        return ok("Python", f"{python_implementation()} {version}")
    return fail(
        "Python", f"{version} is not {wanted}", "install a Python of that range, and ocrbatch with it"
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _fits(requirement: Requirement, version: str) -> bool:
    return requirement.specifier.contains(version, prereleases=True)


def _sqlite() -> Finding:
    with closing(sqlite3.connect(":memory:")) as conn:
        try:
            conn.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
        except sqlite3.OperationalError as error:
            return fail("SQLite", f"{sqlite3.sqlite_version}, {error}", "use a Python whose SQLite has FTS5")
    if sqlite3.threadsafety == 0:
        return note("SQLite", f"{sqlite3.sqlite_version}, built without threads", "use another Python")
    return ok("SQLite", f"{sqlite3.sqlite_version} with full-text search")
