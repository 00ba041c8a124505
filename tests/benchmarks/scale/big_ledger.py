"""Makes a database of millions of pages, and measures what commands and runs take on it.

    python -m tests.benchmarks.scale.big_ledger make DATABASE --pages 10000000
    python -m tests.benchmarks.scale.big_ledger measure DATABASE --pages 10000000

A run with a stand-in for a worker stores the first 1,280 pages (tests.benchmarks.scale.simulated_run); all others are
copies of their rows with paths, contents and times of their own, 20 words a page, ten runs. Every 40th page is
doubtful. measure: the commands in processes of their own, with the peak of their memory; then a run that finds all its
documents done (--seconds: no longer than that). --only: just these commands.
"""

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.scale.made_pages import Corpus, Pages, path_of, sha256_of
from tests.benchmarks.scale.simulated_run import SETTINGS, simulate
from tests.benchmarks.scale.stand_ins import Pace

_SEED = Corpus(num_pages=1280)
_NUM_RUNS = 10
# Copies in one statement.
_AT_ONCE = 64
_COMMANDS = (
    ("status",),
    ("status", "--json"),
    ("search", "{rare}"),
    ("search", "{common}"),
    ("report", "-o", "{folder}/report.html"),
    ("export", "--status", "doubtful", "-o", "{folder}/doubtful.jsonl"),
    ("export", "-o", "{folder}/all.jsonl"),
    ("export", "--format", "txt", "-o", "{folder}/all.txt"),
    ("export", "--format", "parquet", "--shard-pages", "100000", "--out-dir", "{folder}/shards"),
    ("verify", "--no-files"),
    ("prune", "--dry-run"),
    ("prune", "--missing", "--dry-run"),
    ("run", "{folder}/nothing"),
    ("run", "{folder}/page"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """A command: its exit code, seconds, and the most memory that it had."""

    code: int
    seconds: float
    peak_bytes: int


def make(database: Path, num_pages: int) -> None:
    """Writes a new database of so many pages, or a few more."""
    simulate(
        str(database),
        _SEED,
        1,
        Pace(pages_per_s=None),
        pages=Pages(SETTINGS, 20, has_words=False),
        every_s=60,
    )
    num_copies = -(-num_pages // _SEED.num_pages)
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.create_function("path_of", 1, path_of, deterministic=True)
        db.create_function("sha256_of", 1, sha256_of, deterministic=True)
        for pragma in (
            "journal_mode = OFF",
            "synchronous = OFF",
            "cache_size = -1000000",
            "foreign_keys = OFF",
        ):
            db.execute(f"PRAGMA {pragma}")
        indexes = db.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL"
        ).fetchall()
        for name, _ in indexes:
            db.execute(f"DROP INDEX {name}")
        db.execute("UPDATE pages SET status = 'doubtful' WHERE id % 40 = 7")
        db.execute(
            "UPDATE attempts SET status = 'doubtful', doubt = 'a low confidence' WHERE page_id IN"
            " (SELECT id FROM pages WHERE status = 'doubtful')"
        )
        _copy(db, num_copies)
        for _, statement in indexes:
            db.execute(statement)
        db.execute("INSERT INTO page_search(page_search) VALUES ('rebuild')")
        db.execute("PRAGMA optimize")
        db.execute("PRAGMA journal_mode = WAL")


def measure(
    database: Path, num_seconds: float, num_pages: int, only: Sequence[str] = ()
) -> Iterator[tuple[str, Took]]:
    """Yields the commands and what each took. only: commands by name; none: all."""
    with closing(sqlite3.connect(database)) as db:
        words = db.execute("SELECT text FROM attempts WHERE id = 1").fetchone()[0].split()
    for command in _COMMANDS:
        if only and command[0] not in only:
            continue
        with tempfile.TemporaryDirectory(dir=database.parent) as folder:
            Path(folder, "nothing").mkdir()
            Path(folder, "page").mkdir()
            _draw(Path(folder, "page", "one.png"))
            names = {"rare": max(words, key=len), "common": min(words, key=len), "folder": folder}
            its = [word.format(**names) for word in command]
            yield " ".join(command), _timed([*its, "--db", str(database)])
    # Read as often as a run reads: with all that it does at its start and its end.
    corpus = Corpus(num_pages=num_pages)
    began = time.monotonic()
    found = simulate(str(database), corpus, 10, Pace(), limit_s=num_seconds, every_s=1.0)
    took = Took(
        code=0, seconds=time.monotonic() - began, peak_bytes=max(its.rss_bytes for its in found.samples)
    )
    num_documents = found.summary.documents.total()
    yield f"a run that finds {num_documents} documents done, {found.summary.num_done_before} pages", took


def _copy(db: sqlite3.Connection, num_copies: int) -> None:
    highest = {
        table: db.execute(f"SELECT max(id) FROM {table}").fetchone()[0]
        for table in ("documents", "files", "pages", "attempts", "timings")
    }
    if highest["documents"] != _SEED.num_documents or highest["attempts"] != _SEED.num_pages:
        raise RuntimeError(f"the first run stored something else: {highest}")
    run = _columns(db, "runs")
    for number in range(2, _NUM_RUNS + 1):
        db.execute(f"INSERT INTO runs SELECT {_list(run, id=str(number))} FROM runs WHERE id = 1")
    step = _SEED.num_documents
    shift = {table: f"id + copy * {number}" for table, number in highest.items()}
    run_id = f"1 + copy * {_NUM_RUNS} / {num_copies}"
    page_id = f"page_id + copy * {highest['pages']}"
    attempt_id = f"attempt_id + copy * {highest['attempts']}"
    path = f"path_of(CAST(substr(path, -12, 8) AS INTEGER) + copy * {step})"
    number_of = "(SELECT CAST(substr(path, -12, 8) AS INTEGER) FROM seed.files WHERE document_id = its.id)"
    sha256 = f"sha256_of(path_of({number_of} + copy * {step}))"
    document_id = f"document_id + copy * {highest['documents']}"
    changes = {
        "documents": {"id": shift["documents"], "sha256": sha256},
        "files": {
            "id": shift["files"], "path": path, "document_id": document_id,
            "first_run_id": run_id, "last_run_id": run_id,
        },
        "pages": {
            "id": shift["pages"], "document_id": document_id,
            "current_attempt_id": f"current_attempt_id + copy * {highest['attempts']}",
        },
        "attempts": {
            "id": shift["attempts"], "page_id": page_id, "run_id": run_id,
            "finished_at": "strftime('%Y-%m-%dT%H:%M:%fZ', finished_at, '+' || copy || ' seconds')",
        },
        "blocks": {"attempt_id": attempt_id},
        "timings": {"id": shift["timings"], "attempt_id": attempt_id, "run_id": run_id},
    }  # fmt: skip
    db.execute("ATTACH ':memory:' AS seed")
    for table in changes:
        stages = " WHERE stage IN ('render', 'decode')" if table == "timings" else ""
        db.execute(f"CREATE TABLE seed.{table} AS SELECT * FROM main.{table}{stages}")
    db.execute("CREATE UNIQUE INDEX seed.files_document ON files(document_id)")
    db.execute("CREATE TABLE seed.copies (copy INTEGER PRIMARY KEY)")
    for first in range(1, num_copies, _AT_ONCE):
        db.execute("BEGIN")
        db.execute("DELETE FROM seed.copies")
        numbers = [(number,) for number in range(first, min(first + _AT_ONCE, num_copies))]
        db.executemany("INSERT INTO seed.copies VALUES (?)", numbers)
        for table, its in changes.items():
            chosen = _list(_columns(db, table), **its)
            order = "attempt_id" if table == "blocks" else "id"
            db.execute(
                f"INSERT INTO main.{table} SELECT {chosen} FROM seed.copies CROSS JOIN"
                f" (SELECT * FROM seed.{table} ORDER BY {order}) its"
            )
        db.execute("COMMIT")
    db.execute("DETACH seed")


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA main.table_info({table})")]


def _list(columns: Sequence[str], **changes: str) -> str:
    return ", ".join(changes.get(column, column) for column in columns)


def _timed(words: Sequence[str]) -> Took:
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, use = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 3):
        print(said.decode()[-500:], file=sys.stderr)
    return Took(code=code, seconds=time.monotonic() - began, peak_bytes=use.ru_maxrss * 1024)


def _draw(path: Path) -> None:
    from PIL import Image, ImageDraw

    image = Image.new("L", (600, 200), 255)
    ImageDraw.Draw(image).text((40, 80), "A page that is new", fill=0, font_size=40)
    image.save(path)


def main() -> None:
    """Makes or measures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("make", "measure"))
    parser.add_argument("database", type=Path)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", action="append", default=[], metavar="COMMAND")
    chosen = parser.parse_args()
    if chosen.what == "make":
        began = time.monotonic()
        make(chosen.database, chosen.pages)
        size = chosen.database.stat().st_size
        print(f"{size / 1e9:.2f} GB in {time.monotonic() - began:.0f} s")
        return
    for name, took in measure(chosen.database, chosen.seconds, chosen.pages, chosen.only):
        print(
            f"{name}: {took.seconds:.1f} s, {took.peak_bytes / 1e6:.0f} MB, exit code {took.code}", flush=True
        )


if __name__ == "__main__":
    main()
