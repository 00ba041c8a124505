"""Compares databases without what differs between two runs that did the same: times, ids and counts of runs."""

import math
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

# Floats are sums over batches, which differ after a run was interrupted.
_TOLERANCE = 1e-4
# A file has a stamp once it has been left alone for some seconds, which later runs find more often.
_VOLATILE = {
    "id", "run_id", "file_id", "document_id", "page_id", "attempt_id", "current_attempt_id", "first_run_id",
    "last_run_id", "seconds", "finished_at", "stamp", "started_at",
}  # fmt: skip
# Pages that no later run reads again.
DONE = ("ok", "blank", "embedded")
# Errors of attempts whose worker was killed, or whose process while the page was read alone: an uninterrupted run lacks
# such attempts.
KILLED = ("crash", "process_died")

Row = dict[str, Any]
Table = dict[tuple[Any, ...], Any]

QUERIES = {
    "results": ("SELECT * FROM results", ("path", "page_index")),
    "files": (
        "SELECT f.*, d.sha256 FROM files f JOIN documents d ON d.id = f.document_id",
        ("path",),
    ),
    "documents": (
        "SELECT d.*, min(f.path) AS first_path FROM documents d JOIN files f ON f.document_id = d.id"
        " GROUP BY d.id",
        ("first_path", "sha256"),
    ),
    "pages": (
        "SELECT d.sha256, p.* FROM pages p JOIN documents d ON d.id = p.document_id",
        ("sha256", "page_index"),
    ),
    "attempts": (
        "SELECT d.sha256, p.page_index, p.status AS page_status, a.*, row_number() OVER"
        " (PARTITION BY p.id ORDER BY a.id) AS number,"
        " (SELECT group_concat(DISTINCT stage) FROM (SELECT stage FROM timings t WHERE t.attempt_id = a.id"
        "  ORDER BY stage)) AS stages"
        " FROM attempts a JOIN pages p ON p.id = a.page_id JOIN documents d ON d.id = p.document_id"
        f" WHERE a.error_category IS NULL OR a.error_category NOT IN {KILLED}",
        ("sha256", "page_index", "number"),
    ),
    "blocks": (
        "SELECT d.sha256, p.page_index, b.* FROM pages p JOIN documents d ON d.id = p.document_id"
        " JOIN blocks b ON b.attempt_id = p.current_attempt_id",
        ("sha256", "page_index", "block_index"),
    ),
    "superseded": (
        "SELECT s.*, d.sha256 FROM superseded s JOIN documents d ON d.id = s.document_id",
        ("path", "sha256"),
    ),
}  # fmt: skip


def contents(database: Path) -> dict[str, Table]:
    """Returns table -> key -> row, of every table and of the results view; read-only, also beside a run."""
    with closing(_open(database)) as db:
        return {name: _table(db, sql, key) for name, (sql, key) in QUERIES.items()}


def num_finished(database: Path) -> int:
    """Returns how many pages have an attempt; 0 if there is no table of them yet."""
    if not database.exists():
        return 0
    try:
        with closing(_open(database)) as db:
            return int(db.execute("SELECT count(*) FROM pages WHERE status <> 'pending'").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def crashes(database: Path) -> list[str]:
    """Returns the attempts whose workers or processes died, a line each: a possible reason for a difference."""
    with closing(_open(database)) as db:
        found = db.execute(
            "SELECT d.sha256, p.page_index, a.run_id, a.rung, a.error_message FROM attempts a"
            " JOIN pages p ON p.id = a.page_id JOIN documents d ON d.id = p.document_id"
            f" WHERE a.error_category IN {KILLED}"
        )
        return [f"{tuple(row[:2])}: run {row[2]}, rung {row[3]}: {row[4]}" for row in found]


def marked(database: Path) -> list[str]:
    """Returns the pages marked as being read, a line each; none once a run has ended by itself."""
    with closing(_open(database)) as db:
        found = db.execute("SELECT p.page_index, f.run_id FROM in_flight f JOIN pages p ON p.id = f.page_id")
        return [f"page index {row[0]} is still marked as being read by run {row[1]}" for row in found]


def faults(database: Path) -> list[str]:
    """Returns what SQLite finds wrong with the file, its foreign keys, or its search index; [] if it is sound."""
    if not database.exists():
        return []
    with closing(sqlite3.connect(database, timeout=30)) as db:
        found = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        found += [f"foreign key of {row[0]} {row[1]}" for row in db.execute("PRAGMA foreign_key_check")]
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'page_search'").fetchone() is None:
            return found
        duplicates = "SELECT count(*) FROM pages GROUP BY document_id, page_index HAVING count(*) > 1"
        found += [f"{row[0]} rows of a page" for row in db.execute(duplicates)]
        try:  # rank 1: checks against the texts themselves
            db.execute("INSERT INTO page_search(page_search, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            found.append(f"search index: {error}")
        db.rollback()
        return found


def differences(expected: Mapping[str, Table], found: Mapping[str, Table]) -> list[str]:
    """Returns how two databases differ, a line each.

    Pages that are done have one attempt in both, beside those whose workers crashed or whose processes were
    killed. Others are tried again by every run, and only their current attempt is compared, through the results view.
    """
    lines = []
    for name in QUERIES:
        one, other = expected[name], found[name]
        if name == "attempts":
            one, other = _of_done(one), _of_done(other)
        lines += [f"{name}: {key} is missing" for key in one.keys() - other.keys()]
        lines += [f"{name}: {key} was not expected" for key in other.keys() - one.keys()]
        lines += [
            f"{name}: {key}: {difference}"
            for key in one.keys() & other.keys()
            for difference in row_differences(one[key], other[key])
        ]
    return sorted(lines)


def finished_differences(expected: Mapping[str, Table], found: Mapping[str, Table]) -> list[str]:
    """Returns how an unfinished database differs, for the pages that are done in it.

    A first reading while a better one is under way (storage.records.merit.first_settings) is not the page's end.
    """
    lines = []
    for key, row in found["results"].items():
        if row["status"] in DONE and not str(row.get("settings_hash")).endswith("+first"):
            wanted = expected["results"].get(key)
            differing = ["was not expected"] if wanted is None else row_differences(wanted, row)
            lines += [f"results: {key}: {difference}" for difference in differing]
    return lines


def _of_done(table: Table) -> Table:
    return {key: row for key, row in table.items() if row["page_status"] in DONE}


def row_differences(one: Row, other: Row) -> list[str]:
    """Returns the differences between two rows, column by column."""
    lines = []
    for column in sorted(one.keys() | other.keys()):
        before, after = one.get(column), other.get(column)
        if isinstance(before, float) and isinstance(after, float):
            if not math.isclose(before, after, rel_tol=0, abs_tol=_TOLERANCE):
                lines.append(f"{column} {before:.6g} became {after:.6g}")
        elif before != after:
            lines.append(f"{column} {_short(before)} became {_short(after)}")
    return lines


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 120 else f"{shown[:117]}..."


def _table(db: sqlite3.Connection, sql: str, key: tuple[str, ...]) -> Table:
    table: Table = {}
    for row in db.execute(sql):
        name = tuple(row[column] for column in key)
        assert name not in table, f"two rows for {name}"
        table[name] = {column: row[column] for column in row.keys() if column not in _VOLATILE}  # noqa: SIM118
    return table


def _open(database: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{database.absolute().as_uri()}?mode=rw", uri=True, timeout=30)
    db.execute("PRAGMA query_only = ON")
    db.row_factory = sqlite3.Row
    return db
