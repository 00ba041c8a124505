"""Records with defaults, so that a test states only what it is about."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storage.lock import lock_path
from storage.records.files import gone
from storage.records.store import Store
from storage.recovery.in_flight import Marker
from storage.types import BoxPx, FileRecord, PageError, PageRecord, RunRecord

SHA_A, SHA_B = "a" * 64, "b" * 64
SETTINGS = "settings-1"
FAILURE = PageError(stage="render", category="timeout", message="took over 60 s")


@dataclass(frozen=True)
class WordRecord:
    text: str
    box_px: BoxPx | None = None
    confidence: float | None = None


def a_run(**changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "settings_hash": SETTINGS,
        "config": {},
        "model": "small",
        "weights_sha256": "w" * 64,
        "versions": {"ocrbatch": "0.1.0"},
    }
    return RunRecord(**{**values, **changes})


def a_file(path: str = "docs/a.pdf", sha256: str | None = SHA_A, **changes: Any) -> FileRecord:
    values: dict[str, Any] = {"status": "ok", "size_bytes": 10, "kind": "pdf", "num_pages": 3}
    return FileRecord(path=path, sha256=sha256, **{**values, **changes})


def a_page(text: str | None = "some text", page_index: int = 0, **changes: Any) -> PageRecord:
    values: dict[str, Any] = {
        "sha256": SHA_A,
        "settings_hash": SETTINGS,
        "status": "failed" if text is None else "ok",
        "text": text,
        "markdown": text,
        "error": FAILURE if text is None else None,
    }
    return PageRecord(page_index=page_index, **{**values, **changes})


def rows(path: str | Path, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
    """Returns what a connection of its own sees: nothing of our code stands between test and file."""
    with closing(sqlite3.connect(path)) as conn:
        return conn.execute(sql, parameters).fetchall()


def mark_missing(store: Store, run_id: int, *roots: str) -> int:
    """Marks what is gone, as a run does at its end; returns how many."""
    return store.mark_missing(gone(store.unseen_files(run_id, roots)))


def new_run(store: Store, *files: FileRecord) -> int:
    run_id = store.start_run(a_run())
    for file in files or (a_file(),):
        store.record_file(run_id, file)
    return run_id


def died_with(database: str | Path, sha256: str, page_indices: Sequence[int], *, alone: bool = False) -> None:
    """A run whose process died with these pages in the model: as it left the database, and its lock's file."""
    with Store(database) as store, Marker(database) as marker:
        run_id = store.start_run(a_run())
        marker.begin_pages(run_id, [(sha256, index) for index in page_indices], alone=alone)
    Path(lock_path(str(database))).write_text("process 12 on host since 2026", encoding="utf-8")
