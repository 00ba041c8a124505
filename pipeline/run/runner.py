"""Runs a batch: files go through the workers and the model into the database.

Here is a run's beginning and end; what happens in between is the pages' flow (pipeline.run.flow).
"""

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ocr.model_files.locate import LINES, SHIPPED, find_directory
from pipeline.config.encoder_section import graph_settings
from pipeline.config.passwords import read_passwords
from pipeline.config.schema import (
    Config,
    completed,
    ingest_settings,
    models_sha256,
    other_models,
    own_files,
    reads_lines,
    render_settings,
    resolved,
    settings_hash,
    tile_mode,
    tile_settings,
    with_model,
)
from pipeline.device.line_readers import LineReaders
from pipeline.device.processes.replicas import Replicas
from pipeline.device.service import ModelService
from pipeline.device.sizes import inflight_mb
from pipeline.device.startup.loading import (
    is_model_likely,
    line_readers,
    load_model,
    num_replicas,
    render_workers,
    word_readers,
)
from pipeline.device.threads.threaded_model import Model
from pipeline.device.tickets import LoadedOn
from pipeline.documents.settings import TileSettings
from pipeline.errors import ConfigError, StopRequest, exit_code
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import walk
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.meter import Meter, StageUse, metered_loop
from pipeline.reports.summary import Progress, RunSummary
from pipeline.run.budget import Budget, heaviest_page_bytes
from pipeline.run.ending import check_database, count_left, finish, mark_missing
from pipeline.run.flow import Flow
from pipeline.run.ledger import Ledger
from pipeline.run.versions import versions
from pipeline.run.writer import Writer
from pipeline.stop import Stop
from pipeline.timing import Stopwatch
from storage.errors import DatabaseGoneError
from storage.records.store import Store
from storage.types import RunRecord

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

LOGGER = logging.getLogger("ocrbatch")
# Of the processes that find words: the model goes first, above all what feeds a GPU.
_NICENESS = 5


def run(
    config: Config,
    progress: Progress,
    stop: Stop,
    load: "Callable[[Config], PageModel] | None" = None,
    summary: RunSummary | None = None,
    when_loaded: Callable[[LoadedOn], None] | None = None,
) -> RunSummary:
    """Reads every page that the configuration names and returns the run's summary.

    A wrong path, model name or budget is found before the database is touched. load: loads a model other than the
    configured one, in this process. summary: is filled in and returned, so that a caller has it even when the run
    raises. when_loaded: called, in any thread, once the first of the model's processes has loaded it.

    Raises: ConfigError, CheckpointError, StorageError, ModelMemoryError, DeviceLostError; StopRequest before the run
    has begun.
    """
    if not config.ingest.paths:
        raise ConfigError("nothing to read: name files or folders, or set ingest.paths in the configuration")
    config = completed(config)
    passwords = stop.while_doing(lambda: read_passwords(config.ingest))
    # A path may be on an unreachable file server.
    found = stop.while_doing(lambda: walk(config.ingest.paths, ingest_settings(config), own_files(config)))
    graph_settings(config.encoder, tile_mode(config))
    weights, all_weights = stop.while_doing(lambda: models_sha256(config))
    hash_ = settings_hash(resolved(config), all_weights)
    with contextlib.ExitStack() as closing:
        writer = closing.enter_context(Writer(config.store.database))
        inputs = closing.enter_context(contextlib.closing(Inputs(found)))
        record = RunRecord(
            settings_hash=hash_,
            config=config.model_dump(mode="json"),
            model=config.model,
            weights_sha256=weights,
            versions=versions(),
        )
        model = closing.enter_context(contextlib.closing(_model(config, load, when_loaded)))
        others = {
            name: closing.enter_context(contextlib.closing(Model(with_model(config, name), load_model)))
            for name in other_models(config)
        }
        lines = _lines(config)
        if lines is not None:
            closing.callback(lines.close)
        if is_model_likely(config) and writer.call(Store.num_runs, hash_).result() == 0:
            # Nothing was read with these settings yet, so there will be pages to read.
            model.prepare() if lines is None else lines.start()
        run_id = writer.call(Store.start_run, record).result()
        summary = summary or RunSummary(database=config.store.database)
        summary.run_id = run_id
        ledger = Ledger(config, writer, run_id, hash_, progress, summary)
        return _Run(ledger, stop, model, lines, passwords, others).execute(inputs)


def _model(
    config: Config,
    load: "Callable[[Config], PageModel] | None",
    when_loaded: Callable[[LoadedOn], None] | None,
) -> ModelService:
    number = 1 if load is not None else num_replicas(config)
    if number > 1:
        return Replicas(config, number, when_loaded)
    return Model(config, load or load_model)


def _lines(config: Config) -> LineReaders | None:
    """Returns the line reader's processes, not started, or None where the page model reads pages first."""
    if not reads_lines(config):
        return None
    return LineReaders(
        find_directory(config.model) / LINES, line_readers(config), config.render.worker_memory_mb << 20
    )


def _words(config: Config, tiles: Sequence[TileSettings]) -> LineReaders | None:
    """Returns the processes that find words with the shipped line reader, not started; None where no model needs them.

    tiles: how the pages of each model are cut.
    """
    if all(tile.words != "auto" for tile in tiles):
        return None
    memory_bytes = config.render.worker_memory_mb << 20
    folder = find_directory(SHIPPED) / LINES
    return LineReaders(folder, word_readers(config), memory_bytes, stage="words", niceness=_NICENESS)


class _Run:
    def __init__(
        self,
        ledger: Ledger,
        stop: Stop,
        model: ModelService,
        lines: LineReaders | None,
        passwords: tuple[str, ...],
        others: Mapping[str, ModelService],
    ) -> None:
        self._ledger = ledger
        self._others = others
        self._config = config = ledger.config
        self._summary = ledger.summary
        self._stop = stop
        self._passwords = passwords
        self._tile = tile_settings(config)
        self._model, self._lines = model, lines
        self._budget = Budget(inflight_mb(config, None) << 20)
        steps = [self._tile, *(tile_settings(with_model(config, name)) for name in others)]
        self._words = _words(config, steps)
        self._page_bytes = max(map(heaviest_page_bytes, steps))
        self._discovering, self._rendering, self._looping = Meter(), Meter(), Meter()

    def execute(self, inputs: Inputs) -> RunSummary:
        """Reads all inputs and returns the summary; a requested stop is a normal end. Always closes the run's row."""
        watch = Stopwatch()
        try:
            with watch.measure():
                self._read_all(inputs)
        except StopRequest as request:
            self._summary.stopped = str(request)
            count_left(self._summary, inputs)
        except BaseException as error:
            try:
                count_left(self._summary, inputs)
                self._finish(exit_code(error), watch.seconds)
                check_database(self._ledger)
            except DatabaseGoneError as gone:
                raise gone from error
            except Exception:  # the error that ended the run is the one to report
                LOGGER.debug("the run's end could not be recorded", exc_info=True)
            raise
        self._finish(self._summary.exit_code, watch.seconds)
        check_database(self._ledger)
        return self._summary

    def _finish(self, code: int, wall_s: float) -> None:
        models = [self._model, *self._others.values()]
        finish(self._ledger, models, self._stages(wall_s), code, wall_s)

    def _stages(self, wall_s: float) -> list[StageUse]:
        """Returns where each stage's time went.

        Discovery and rendering share the workers; time that these waited for room in the budget counts for rendering.
        """
        workers = render_workers(self._config)
        names = {rung.model: rung.name for rung in self._config.ladder.rungs}
        discover = self._discovering.use("discover", wall_s * workers)
        render = self._rendering.use("render", wall_s * workers)
        idle = max(0.0, 1 - discover.busy - render.busy)
        blocked = min(idle, self._budget.waited_s / wall_s) if wall_s else 0.0
        return [
            discover,
            dataclasses.replace(render, waiting_input=idle - blocked, waiting_output=blocked),
            *([] if self._lines is None else [self._lines.use(wall_s)]),
            *([] if self._words is None or not self._words.is_started else [self._words.use(wall_s)]),
            *self._model.stages(wall_s),
            *(
                dataclasses.replace(use, name=f"{use.name} ({names[name]})")
                for name, model in self._others.items()
                for use in model.stages(wall_s)
            ),
            self._looping.use("flow", wall_s),
            self._ledger.writer.use(wall_s),
        ]

    def _read_all(self, inputs: Inputs) -> None:
        config = self._config
        with WorkerPool(
            max_workers=render_workers(config),
            ingest=ingest_settings(config, self._passwords),
            render=render_settings(config, self._passwords),
            tile=self._tile,
            page_timeout_s=config.render.page_timeout_s,
            probe_timeout_s=config.ingest.probe_timeout_s,
            memory_bytes=config.render.worker_memory_mb << 20,
            page_bytes=self._page_bytes,
            discovering=self._discovering,
            rendering=self._rendering,
        ) as workers:
            for model in (self._model, *self._others.values()):
                model.arena = workers.arena
            for lines in (self._lines, self._words):
                if lines is not None:
                    lines.arena = workers.arena
            try:
                with asyncio.Runner(loop_factory=lambda: metered_loop(self._looping)) as loop:
                    flow = Flow(
                        self._ledger,
                        self._stop,
                        self._model,
                        workers,
                        self._budget,
                        self._page_bytes,
                        self._lines,
                        self._others,
                        self._words,
                    )
                    loop.run(flow.run(inputs))
            finally:
                self._model.close()
                for lines in (self._lines, self._words):
                    if lines is not None:
                        lines.close()
        mark_missing(self._ledger, self._stop)
