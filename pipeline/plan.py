"""Plans a run without a model and without writing anything: the same walk, probing and rules, but no reading."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import closing, nullcontext
from operator import itemgetter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ocr.model_files.locate import SHIPPED, is_here
from pipeline.config.passwords import read_passwords
from pipeline.config.schema import (
    Config,
    ingest_settings,
    models_sha256,
    other_models,
    own_files,
    render_settings,
    resolved,
    settings_hash,
    tile_settings,
)
from pipeline.device.startup.loading import render_workers
from pipeline.documents.settings import TileSettings
from pipeline.errors import ConfigError
from pipeline.ingest.found import Candidate, document_of, known_by
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.selection import Selection, probe_all
from pipeline.ingest.walk import walk
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.reports.plan_lines import Plan
from pipeline.stop import Stop
from pipeline.types import InputFile
from storage.database import open_for_reading
from storage.queries.statistics import pace
from storage.records import files, page_plans
from storage.types import PagePlan

if TYPE_CHECKING:
    from sqlite_utils import Database

_SURVEYS_AHEAD = 16
# Pages surveyed in one task, whose time limit is that of probing a file: a book takes several tasks.
_PAGES_A_TASK = 50


def plan(config: Config, stop: Stop) -> Plan:
    """Returns what a run with this configuration would find now. A missing database is not created.

    Raises: ConfigError, CheckpointError, StorageError, StopRequest.
    """
    if not config.ingest.paths and config.ingest.manifest is None:
        raise ConfigError("nothing to read: name files or folders, or set ingest.paths in the configuration")
    passwords = stop.while_doing(lambda: read_passwords(config.ingest))
    absent = stop.while_doing(
        lambda: [name for name in (config.model, *other_models(config)) if not is_here(name)]
    )
    here = not absent
    if not here:  # nothing was read with it so far
        layers = {"text_layer": "fallback"} if str(config.text_layer) == "auto" else {}
        config = config.model_copy(update={"model": SHIPPED, "reader": "lines", **layers})
    weights, all_weights = stop.while_doing(lambda: models_sha256(config)) if here else ("", "")
    # A path may be on an unreachable file server.
    files = stop.while_doing(lambda: walk(config.ingest.paths, ingest_settings(config), own_files(config)))
    path = config.store.database
    has_database = os.path.exists(path) and os.path.getsize(path)  # a run turns an empty file into a database
    with (
        closing(Inputs(files)) as inputs,
        open_for_reading(path) if has_database else nullcontext() as db,
        WorkerPool(
            max_workers=render_workers(config),
            ingest=ingest_settings(config, passwords),
            render=render_settings(config, passwords),
            tile=tile_settings(config) if here else TileSettings(),
            page_timeout_s=config.render.page_timeout_s,
            probe_timeout_s=config.ingest.probe_timeout_s,
            memory_bytes=config.render.worker_memory_mb << 20,
        ) as workers,
    ):
        hash_ = settings_hash(resolved(config), all_weights)
        planner = _Planner(config, hash_, db, workers)
        found = asyncio.run(stop.while_awaiting(planner.run(inputs)))
        found.model_to_fetch = None if here else absent[0]
        found.pace = None if db is None else pace(db, hash_, weights)
        return found


class _Planner:
    def __init__(
        self, config: Config, settings_hash: str, db: "Database | None", workers: WorkerPool
    ) -> None:
        self._config, self._db, self._workers = config, db, workers
        self._ingest = ingest_settings(config)
        self._plan = Plan(database=config.store.database, is_new=db is None)
        self._selection = Selection(config, settings_hash, self._plan, self._foreseen)
        self._refused: dict[int, dict[str, str]] = {}
        self._room = asyncio.Semaphore(_SURVEYS_AHEAD)

    async def run(self, inputs: Inputs) -> Plan:
        await probe_all(inputs, self._workers, self._take, self._known)
        self._plan.refused = [refused for _, refused in sorted(self._refused.items(), key=itemgetter(0))]
        return self._plan

    async def _known(self, found: Candidate) -> InputFile | None:
        """Returns a file that a run looked into and that has not changed since."""
        if self._db is None or found.stamp is None:
            return None
        known = files.known(self._db.conn, found.path, known_by(found.stamp, self._ingest))
        return None if known is None else document_of(found, known)

    async def _take(self, number: int, document: InputFile) -> None:
        """Counts a document and the kinds of its pages that are to be read."""
        to_read = (await self._selection.plan(document)).to_read
        if document.status == "skipped":
            self._plan.skipped_types[PurePath(document.path).suffix.lower() or "without an ending"] += 1
        elif document.status != "ok":
            refused = {"path": document.path, "status": document.status, "reason": document.reason or ""}
            self._refused[number] = refused
        await asyncio.gather(
            *(
                self._survey(document, to_read[first : first + _PAGES_A_TASK])
                for first in range(0, len(to_read), _PAGES_A_TASK)
            )
        )

    async def _survey(self, document: InputFile, pages: Sequence[int]) -> None:
        assert document.kind is not None
        async with self._room:
            kinds = await asyncio.wrap_future(self._workers.survey(document.path, document.kind, pages))
        self._plan.kinds.update(kinds)

    async def _foreseen(self, sha256: str, pages: Sequence[int], *settings: Any, **rules: Any) -> PagePlan:
        if self._db is None:
            return PagePlan(to_read=tuple(pages), done=(), given_up=())
        return page_plans.foresee(self._db.conn, sha256, pages, *settings, **rules)
