"""Plans a run without a model and without writing anything: the same walk, probing and rules, but no reading."""

import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from ocr.model_files.fingerprint import weights_sha256
from ocr.model_files.locate import is_here
from pipeline.config.page_selection import select_pages
from pipeline.config.passwords import read_passwords
from pipeline.config.schema import (
    Config,
    ingest_settings,
    own_files,
    render_settings,
    resolved,
    settings_hash,
    tile_settings,
)
from pipeline.device.startup.loading import render_workers
from pipeline.errors import ConfigError
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import Found, walk
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.reports.plan_lines import Plan, Refused
from pipeline.stop import Stop
from pipeline.types import Document, PageKind
from storage.database import open_for_reading
from storage.queries.pace import Pace, pace
from storage.records import page_plans
from storage.types import PagePlan

if TYPE_CHECKING:
    from sqlite_utils import Database

T = TypeVar("T")
_AHEAD = 16
# Pages surveyed in one task, whose time limit is that of probing a file: a book takes several tasks.
_PAGES_A_TASK = 50
_POLL_S = 0.1


def plan(config: Config, stop: Stop) -> Plan:
    """Returns what a run with this configuration would find now. A missing database is not created.

    Raises: ConfigError, CheckpointError, StorageError, StopRequest.
    """
    if not config.ingest.paths:
        raise ConfigError("nothing to read: name files or folders, or set ingest.paths in the configuration")
    passwords = stop.while_doing(lambda: read_passwords(config.ingest))
    here = stop.while_doing(lambda: is_here(config.model))
    config = config if here else _without_model(config)
    weights = stop.while_doing(lambda: weights_sha256(config.model)) if here else ""
    # A path may be on an unreachable file server.
    found = stop.while_doing(lambda: walk(config.ingest.paths, ingest_settings(config), own_files(config)))
    with (
        closing(Inputs(found)) as inputs,
        _database(config.store.database) as db,
        _workers(config, passwords) as workers,
    ):
        planner = _Planner(config, settings_hash(resolved(config), weights), db, workers, stop)
        planner.plan.model_to_fetch = None if here else config.model
        return planner.run(inputs, None if db is None else pace(db, planner.settings_hash, weights))


def _without_model(config: Config) -> Config:
    """Returns the configuration to plan with if its model is not on this machine: nothing was read with it so far."""
    layers = {"text_layer": "fallback"} if str(config.text_layer) == "auto" else {}
    return config.model_copy(update={"tile": config.tile.model_copy(update={"parts": "off"}), **layers})


@contextmanager
def _database(path: str) -> Iterator["Database | None"]:
    if not os.path.exists(path) or not os.path.getsize(path):  # a run turns an empty file into a database
        yield None
        return
    with closing(open_for_reading(path)) as db:
        yield db


def _workers(config: Config, passwords: tuple[str, ...]) -> WorkerPool:
    return WorkerPool(
        max_workers=render_workers(config),
        ingest=ingest_settings(config, passwords),
        render=render_settings(config, passwords),
        tile=tile_settings(config),
        page_timeout_s=config.render.page_timeout_s,
        probe_timeout_s=config.ingest.probe_timeout_s,
        memory_bytes=config.render.worker_memory_mb << 20,
    )


class _Planner:
    def __init__(
        self, config: Config, settings_hash: str, db: "Database | None", workers: WorkerPool, stop: Stop
    ) -> None:
        self.settings_hash = settings_hash
        self._config, self._db, self._workers, self._stop = config, db, workers, stop
        self.plan = Plan(database=config.store.database, is_new=db is None)
        self._seen: set[str] = set()

    def run(self, inputs: Inputs, pace: Pace | None) -> Plan:
        documents = self._in_order(map(self._probed, self._found(inputs)))
        for kinds in self._in_order(self._surveys(documents)):
            self.plan.kinds.update(kinds)
        self.plan.pace = pace
        return self.plan

    def _found(self, inputs: Inputs) -> Iterator[Found]:
        while (found := self._result(inputs.take())) is not None:
            yield found

    def _probed(self, found: Found) -> Future[Document]:
        if not isinstance(found, Document):
            return self._workers.probe(found.path)
        future: Future[Document] = Future()
        future.set_result(found)
        return future

    def _surveys(self, documents: Iterable[Document]) -> Iterator[Future[Counter[PageKind]]]:
        """Counts the documents as they come, and yields surveys of the pages that are to be read."""
        for document in documents:
            self._count(document)
            if document.status != "ok" or document.sha256 is None or document.kind is None:
                continue
            if document.sha256 in self._seen:
                self.plan.num_copies += 1
                continue
            self._seen.add(document.sha256)
            to_read = self._foreseen(document.sha256, document.num_pages).to_read
            for first in range(0, len(to_read), _PAGES_A_TASK):
                pages = to_read[first : first + _PAGES_A_TASK]
                yield self._workers.survey(document.path, document.kind, pages)

    def _count(self, document: Document) -> None:
        plan = self.plan
        plan.documents[document.status] += 1
        if document.status == "skipped":
            plan.skipped_types[PurePath(document.path).suffix.lower() or "without an ending"] += 1
        elif document.status != "ok":
            reason = document.reason or ""
            plan.refused.append(Refused(path=document.path, status=document.status, reason=reason))

    def _foreseen(self, sha256: str, num_pages: int) -> PagePlan:
        ingest, run, plan = self._config.ingest, self._config.run, self.plan
        wanted, num_left_out = select_pages(num_pages, ingest.pages, ingest.max_pages_per_document)
        found = PagePlan(to_read=tuple(wanted), done=(), given_up=())
        if self._db is not None:
            found = page_plans.foresee(
                self._db.conn,
                sha256,
                wanted,
                self.settings_hash,
                attempt_limit=self._config.store.attempt_limit,
                force=run.force,
                retry_failed=run.retry_failed,
            )
        plan.num_pages += num_pages
        plan.num_left_out += num_left_out
        plan.num_done += len(found.done)
        plan.num_given_up += len(found.given_up) - len(found.kept)
        plan.num_kept += len(found.kept)
        plan.num_to_read += len(found.to_read)
        return found

    def _in_order(self, futures: Iterable[Future[T]]) -> Iterator[T]:
        """Yields the futures' results in order; at most _AHEAD of them are in progress at a time."""
        waiting: deque[Future[T]] = deque()
        for future in futures:
            waiting.append(future)
            if len(waiting) >= _AHEAD:
                yield self._result(waiting.popleft())
        while waiting:
            yield self._result(waiting.popleft())

    def _result(self, future: Future[T]) -> T:
        while not future.done():
            self._stop.check()
            wait((future,), timeout=_POLL_S)
        return future.result()
