"""The writer's side of the database: one run at a time, each page whole or not at all."""

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Self

from storage.database import number_of, open_for_writing, transaction
from storage.lock import RunLock
from storage.records import attempts, files, page_plans
from storage.recovery import in_flight
from storage.recovery.presence import Presence, save_copy
from storage.strings.printable import mask_secrets
from storage.strings.urls import is_url
from storage.types import FileRecord, PagePlan, PageRecord, RunRecord


class Store:
    """Writes runs, files and pages. Holds the run lock from opening to close().

    For use in the thread that opened it. Every method is one transaction: after a kill, the effects of methods that
    returned are there and nothing else is; of those called within together(), the effects of all or of none.

    follows_a_death: whether the last process that held the lock died.
    presence: checks whether the database is still there; for any one thread.
    """

    def __init__(self, path: str | Path) -> None:
        """Opens or creates the database and brings its schema up to date.

        Raises: DatabaseBusyError while another run holds it, NotADatabaseError, DatabaseVersionError,
            DatabaseAccessError.
        """
        self.path = os.fspath(path)
        self._started: dict[int, float] = {}
        self._joined: sqlite3.Connection | None = None
        with contextlib.ExitStack() as stack:
            lock = stack.enter_context(RunLock(self.path))
            self.follows_a_death = lock.died
            self.presence = Presence(self.path, lock)
            self._db = open_for_writing(self.path)
            stack.callback(self._db.close)
            self.presence.look()
            self._closing = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the database and releases it for the next run. Closing twice is fine."""
        self._closing.close()

    def num_runs(self, settings_hash: str) -> int:
        """Returns how many runs had these settings."""
        return number_of(self._db, "SELECT count(*) FROM runs WHERE settings_hash = ?", (settings_hash,))

    def start_run(self, run: RunRecord) -> int:
        """Returns the id of a new run. Marks earlier runs that never ended as interrupted.

        The page that was alone in the model when one of them died gets a failed attempt, under that run's settings.
        A run that ended in order but could not record so in the database blames no page.
        """
        with self._transaction() as conn:
            if not self.follows_a_death:
                in_flight.end_runs(conn)
            conn.execute("UPDATE runs SET state = 'interrupted' WHERE state = 'running'")
            for died, attempt in in_flight.take_strikes(conn):
                attempts.record(conn, died, [attempt], now(), time.perf_counter())
            cursor = conn.execute(
                "INSERT INTO runs (started_at, state, settings_hash, model, weights_sha256, config, versions)"
                " VALUES (?, 'running', ?, ?, ?, ?, ?)",
                (
                    now(),
                    run.settings_hash,
                    run.model,
                    run.weights_sha256,
                    json.dumps(mask_secrets(run.config)),
                    json.dumps(dict(run.versions)),
                ),
            )
        run_id = int(cursor.lastrowid or 0)
        self._started[run_id] = time.monotonic()
        return run_id

    def find_known(self, run_id: int, path: str, stamp: str) -> dict[str, Any] | None:
        """Returns what is known of an unchanged file, which the run then has found; None where it must be recorded."""
        with self._transaction() as conn:
            if (known := files.known(conn, path, stamp)) is not None:
                files.found_again(conn, run_id, path)
            return known

    def lose_worker(self, run_id: int, pages: Sequence[tuple[str, int]]) -> None:
        """Blames the pages (sha256, page_index) that a worker of a run was reading when it was lost, as start_run does.

        They become those of a run that was interrupted; a page that was alone in the worker gets a failed attempt.
        """
        with self._transaction() as conn:
            in_flight.lose_worker(conn, run_id, pages, now())
            for died, attempt in in_flight.take_strikes(conn):
                attempts.record(conn, died, [attempt], now(), time.perf_counter())

    def note_flow(self, run_id: int, flow: Mapping[str, object]) -> None:
        """Stores what a run that goes on does, as JSON values."""
        with self._transaction() as conn:
            conn.execute("UPDATE runs SET flow = ? WHERE id = ?", (json.dumps(flow), run_id))

    def finish_run(
        self,
        run_id: int,
        *,
        exit_code: int,
        counts: Mapping[str, int],
        encoder: Mapping[str, Mapping[str, object]] | None = None,
        flow: Mapping[str, object] | None = None,
    ) -> None:
        """Ends a run that this store started, even one that was stopped early (its exit code says so).

        encoder: each path's statistics, as JSON values; None if no encoder was needed. flow: where the stages' time
        went, likewise. Pages that the run began and did not finish are blamed for nothing.
        """
        seconds = time.monotonic() - self._started[run_id]
        with self._transaction() as conn:
            in_flight.end_run(conn, run_id)
            conn.execute(
                "UPDATE runs SET state = 'finished', finished_at = ?, seconds = ?, exit_code = ?, counts = ?,"
                " encoder = ?, flow = ? WHERE id = ?",
                (
                    now(),
                    seconds,
                    exit_code,
                    json.dumps(dict(counts)),
                    None if encoder is None else json.dumps(encoder),
                    None if flow is None else json.dumps(flow),
                    run_id,
                ),
            )

    def record_file(self, run_id: int, file: FileRecord) -> None:
        """Stores what a path holds now, with a pending row for every page that has none yet.

        A changed file is linked to its new content, a vanished one that is back is unmarked, and one that cannot be
        read this time keeps the content known of it.
        """
        with self._transaction() as conn:
            files.record(conn, run_id, file)

    def unseen_files(
        self, run_id: int, roots: Sequence[str], *, after: int = 0, most: int = 10_000
    ) -> list[tuple[int, str]]:
        """Returns id and path of the files under roots that run_id did not find and that are not missing yet.

        In the order of their ids: at most so many after one of them.

        For after a complete walk of the roots. Some may exist, left out by a pattern: storage.records.files.gone
        tells them apart.
        """
        if not roots:
            return []
        tops = [root if is_url(root) else os.path.abspath(root) for root in roots]
        rows = self._db.conn.execute(
            "SELECT id, path FROM files WHERE id > ? AND last_run_id <> ? AND status <> 'missing' ORDER BY id",
            (after, run_id),
        )
        found = ((file_id, path) for file_id, path in rows if any(files.is_under(path, top) for top in tops))
        return list(islice(found, most))

    def empty_roots(self, run_id: int, roots: Sequence[str], most: int) -> dict[str, tuple[int, list[str]]]:
        """Returns the roots under which run_id found nothing to read, with the number of files once found there.

        most: of these files are named, at most.
        """
        known: dict[str, tuple[int, list[str]]] = {root: (0, []) for root in roots}
        rows = self._db.conn.execute(
            "SELECT f.path, f.last_run_id, f.status FROM files f JOIN documents d ON d.id = f.document_id"
            " WHERE d.sha256 IS NOT NULL AND d.status <> 'skipped'"
        )
        for path, last_run_id, status in rows:
            for root in [root for root in known if files.is_under(path, root)]:
                if last_run_id == run_id and status == "ok":
                    del known[root]
                    continue
                count, named = known[root]
                known[root] = count + 1, [*named, path] if count < most else named
            if not known:
                break
        return {root: found for root, found in known.items() if found[0]}

    def mark_missing(self, file_ids: Sequence[int]) -> int:
        """Marks files as missing, by their ids; returns how many were not marked yet."""
        with self._transaction() as conn:
            return conn.executemany(
                "UPDATE files SET status = 'missing', reason = NULL WHERE id = ? AND status <> 'missing'",
                ((file_id,) for file_id in file_ids),
            ).rowcount

    def plan_pages(
        self, sha256: str, page_indices: Sequence[int], settings_hash: str, **rules: Any
    ) -> PagePlan:
        """Marks the pages as asked for, and returns which of them to read. rules: those of page_plans.plan.

        Not to read: pages that were read to their end under these settings, doubtful ones too (the best attempt becomes
        current again if other settings were used since and read them no better), and pages that attempt_limit runs
        failed to read under them: those are quarantined, unless other settings read them. retry_failed: also reads
        those and the doubtful ones. force: reads all.
        """
        with self._transaction() as conn:
            return page_plans.plan(conn, sha256, page_indices, settings_hash, **rules)

    def record_page(self, run_id: int, *tries: PageRecord, attempt_limit: int | None = None) -> int:
        """Writes a run's attempts at one page, with blocks, timings and search text, in one transaction.

        Returns the id of the best of them (storage.records.merit states the rule). The time this takes, without the
        commit, is added as the "store" timing of each unless the record has one. The best becomes the page's current
        attempt, unless the current one is better: a failed retry never hides a text, whatever its settings.
        attempt_limit: quarantines a page that this many runs did not read, unless other settings read it; None: never.
        """
        began = time.perf_counter()
        with self._transaction() as conn:
            best = attempts.record(conn, run_id, tries, now(), began, attempt_limit)
            in_flight.end_page(conn, best)
        return best

    def record_first(self, run_id: int, page: PageRecord) -> bool:
        """Writes a page's first reading while a better one is under way, so that a kill costs only the better one.

        Returns whether it was kept. The page shows it until record_page() removes it; for the next run's plan the page
        is still to be read.
        """
        began = time.perf_counter()
        with self._transaction() as conn:
            return attempts.record_first(conn, run_id, page, now(), began)

    def put_off(self, run_id: int, sha256: str, page_index: int) -> None:
        """Removes a run's mark of a page that is in no model while it waits for another one."""
        with self._transaction() as conn:
            in_flight.unmark(conn, run_id, sha256, page_index)

    def kept_in(self) -> str:
        """Returns the path of the database if its own no longer leads to it: its present name, or that of a new copy.

        Raises: DatabaseAccessError if it has no name, and no copy can be made.
        """
        name = self.presence.where()
        if name is not None:
            busy, *_ = self._db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return name
        return save_copy(self._db.conn, self.path)

    def quarantined(self, run_id: int, most: int) -> tuple[int, list[tuple[str, int]]]:
        """Returns how many pages of the files that a run found are quarantined, and the first: path and page number."""
        found = (
            "FROM files f JOIN pages p ON p.document_id = f.document_id"
            " WHERE f.last_run_id = ? AND p.status = 'quarantined'"
        )
        count = number_of(self._db, f"SELECT count(DISTINCT p.id) {found}", (run_id,))
        first = f"SELECT min(f.path) AS path, p.page_index + 1 {found} GROUP BY p.id ORDER BY path, 2 LIMIT ?"
        return count, self._db.conn.execute(first, (run_id, most)).fetchall()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Makes one transaction of all methods called within: they are stored at its end or, if any raises, not at all.

        Much of a transaction's cost is its end: what was changed is written to the log, and the search index gets
        another segment.
        """
        with transaction(self._db, self.path) as self._joined:
            try:
                yield
            finally:
                self._joined = None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if self._joined is not None:
            yield self._joined
            return
        with transaction(self._db, self.path) as conn:
            yield conn


def now() -> str:
    """Returns the time in UTC, ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
