"""Runs a batch: files go through the workers and the model into the database. Only this module knows all of these.

All stages work concurrently: workers probe files and render pages, the model has a thread for its encoder and one for
its decoder (pipeline.device.threads.threaded_model), the database has its own (pipeline.run.writer), and here, in one
event loop, each page is a coroutine that reads from top to bottom in `_Run._page`. A budget of bytes limits how many
are in flight. A page's failure is a value; the error boundaries are in the model's threads.
"""

import asyncio
import contextlib
import dataclasses
import logging
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import metadata
from operator import itemgetter
from platform import python_version
from typing import TYPE_CHECKING

from ocr.model_files.fingerprint import weights_sha256
from pipeline.config.encoder_section import graph_settings
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
from pipeline.device.processes.replicas import Replicas
from pipeline.device.service import ModelService
from pipeline.device.sizes import inflight_mb
from pipeline.device.startup.loading import is_model_likely, load_model, num_replicas, render_workers
from pipeline.device.threads.threaded_model import Model
from pipeline.device.tickets import LoadedOn
from pipeline.errors import ConfigError, StopRequest, exit_code
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import canonical, walk
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.meter import Meter, StageUse, metered_loop
from pipeline.reports.summary import Phase, Progress, RunSummary
from pipeline.rereading.attempts import PageReader, needs_model
from pipeline.run.budget import Budget, Share, heaviest_page_bytes
from pipeline.run.discovery import Discovery
from pipeline.run.ledger import Ledger
from pipeline.run.turns import Turns
from pipeline.run.writer import Writer
from pipeline.stop import Stop
from pipeline.timing import Stopwatch
from pipeline.types import Page, PageResult
from storage.errors import DatabaseGoneError, StorageError
from storage.records.files import are_gone, gone
from storage.records.store import Store
from storage.recovery.presence import remedy
from storage.types import PageError, RunRecord

if TYPE_CHECKING:
    from ocr.checkpoints.checkpoint import LoadedModel

LOGGER = logging.getLogger("ocrbatch")
_VERSIONS_OF = ("ocrbatch", "torch", "transformers", "tokenizers", "pymupdf", "pillow", "numpy")
# Pages queued ahead of rendering; each is only a few numbers.
PAGES_AHEAD = 256
# How often the run checks for a stop request.
POLL_S = 0.1
# How often it checks that the database file is still there.
_LOOK_S = 1.0
# How long a run that ends early may spend counting the files it did not get to.
_COUNTING_S = 1.0
# Most quarantined pages that the summary names.
_LISTED = 20
# A page's share of the budget while its result waits to be stored.
_RESULT_BYTES = 1 << 16


def run(
    config: Config,
    progress: Progress,
    stop: Stop,
    load: "Callable[[Config], LoadedModel] | None" = None,
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
    passwords = stop.while_doing(lambda: read_passwords(config.ingest))
    # A path may be on an unreachable file server.
    found = stop.while_doing(lambda: walk(config.ingest.paths, ingest_settings(config), own_files(config)))
    graph_settings(config.encoder, config.tile.mode)
    weights = stop.while_doing(lambda: weights_sha256(config.model))
    hash_ = settings_hash(resolved(config), weights)
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
        if is_model_likely(config) and writer.call(Store.num_runs, hash_).result() == 0:
            model.prepare()  # nothing was read with these settings yet, so there will be pages to read
        run_id = writer.call(Store.start_run, record).result()
        summary = summary or RunSummary(database=config.store.database)
        summary.run_id = run_id
        ledger = Ledger(config, writer, run_id, hash_, progress, summary)
        return _Run(ledger, stop, model, passwords).execute(inputs)


def _model(
    config: Config,
    load: "Callable[[Config], LoadedModel] | None",
    when_loaded: Callable[[LoadedOn], None] | None,
) -> ModelService:
    number = 1 if load is not None else num_replicas(config)
    if number > 1:
        return Replicas(config, number, when_loaded)
    return Model(config, load or load_model)


@cache
def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages a run uses, by name, without importing them.

    The dictionary is cached: do not modify it.
    """
    found = {"python": python_version()}
    for name in _VERSIONS_OF:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


class _Run:
    def __init__(
        self,
        ledger: Ledger,
        stop: Stop,
        model: ModelService,
        passwords: tuple[str, ...],
    ) -> None:
        self._ledger = ledger
        self._config = config = ledger.config
        self._summary = ledger.summary
        self._stop = stop
        self._passwords = passwords
        self._tile = tile_settings(config)
        self._model = model
        self._budget = Budget(inflight_mb(config, None) << 20)
        self._page_bytes = heaviest_page_bytes(self._tile)
        self._discovering, self._rendering, self._looping = Meter(), Meter(), Meter()
        self._turns, self._in_workers = Turns(), asyncio.Semaphore(2 * render_workers(config))

    def execute(self, inputs: Inputs) -> RunSummary:
        """Reads all inputs and returns the summary; a requested stop is a normal end. Always closes the run's row."""
        watch = Stopwatch()
        try:
            with watch.measure():
                self._read_all(inputs)
        except StopRequest as request:
            self._summary.stopped = str(request)
            self._count_left(inputs)
        except BaseException as error:
            try:
                self._count_left(inputs)
                self._finish(exit_code(error), watch.seconds)
                self._check_database()
            except DatabaseGoneError as gone:
                raise gone from error
            except Exception:  # the error that ended the run is the one to report
                LOGGER.debug("the run's end could not be recorded", exc_info=True)
            raise
        self._finish(self._summary.exit_code, watch.seconds)
        self._check_database()
        return self._summary

    def _check_database(self) -> None:
        """Raises DatabaseGoneError, saying where the results are, if the path no longer leads to the database."""
        try:
            self._ledger.writer.look().result()
        except DatabaseGoneError as error:
            if error.is_side_file:  # closing the database writes the contents of its side file back into it
                raise DatabaseGoneError(f"{error}; nothing is lost; run again to go on") from None
            kept_in = self._ledger.writer.call(Store.kept_in).result()
            raise DatabaseGoneError(f"{error}; {remedy(self._config.store.database, kept_in)}") from None
        except StorageError as error:  # the results are not affected
            LOGGER.debug("the lock: %s", error)

    def _count_left(self, inputs: Inputs) -> None:
        """Counts the files that a run which ended early did not get to."""
        summary = self._summary
        num_files, is_all = inputs.count_rest(_COUNTING_S)
        summary.num_documents_left = inputs.num_taken - summary.documents.total() + num_files
        summary.all_documents_known = is_all

    def _finish(self, code: int, wall_s: float) -> None:
        summary, model = self._summary, self._model
        summary.wall_s = wall_s
        summary.load_s, summary.capture_s = model.load_s, model.capture_s
        set_aside = self._ledger.writer.call(Store.quarantined, self._ledger.run_id, _LISTED)
        summary.num_quarantined, summary.quarantined = set_aside.result()
        summary.stages = self._stages(wall_s)
        summary.num_tokens, summary.num_steps = model.decoded()
        summary.gpu_busy = None if model.gpu is None else model.gpu.busy_share
        self._ledger.writer.call(
            Store.finish_run,
            self._ledger.run_id,
            exit_code=int(code),
            counts=summary.counts(),
            encoder=model.encoder_record(),
            flow=summary.flow(),
        ).result()

    def _stages(self, wall_s: float) -> list[StageUse]:
        """Returns where each stage's time went.

        Discovery and rendering share the workers; time that these waited for room in the budget counts for rendering.
        """
        workers = render_workers(self._config)
        discover = self._discovering.use("discover", wall_s * workers)
        render = self._rendering.use("render", wall_s * workers)
        idle = max(0.0, 1 - discover.busy - render.busy)
        blocked = min(idle, self._budget.waited_s / wall_s) if wall_s else 0.0
        return [
            discover,
            dataclasses.replace(render, waiting_input=idle - blocked, waiting_output=blocked),
            *self._model.stages(wall_s),
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
            self._model.arena = workers.arena
            try:
                with asyncio.Runner(loop_factory=lambda: metered_loop(self._looping)) as loop:
                    loop.run(self._flow(inputs, workers))
            finally:
                self._model.close()
        self._mark_missing()

    def _mark_missing(self) -> None:
        """Marks stored files that the walk did not find as missing, if they are really gone.

        The file server may have become unreachable, so a stop request interrupts the checks.
        """
        ledger, paths = self._ledger, self._config.ingest.paths
        roots = self._stop.while_doing(lambda: [canonical(path) for path in paths])
        unseen = ledger.writer.call(Store.unseen_files, ledger.run_id, roots).result()
        if unseen:
            missing = self._stop.while_doing(lambda: gone(unseen))
            self._summary.num_missing = ledger.writer.call(Store.mark_missing, missing).result()
        for root, files in ledger.writer.call(Store.empty_roots, ledger.run_id, roots).result().items():
            some = files[:_LISTED]
            if self._stop.while_doing(partial(are_gone, some)):
                self._summary.empty_paths.append((paths[roots.index(root)], len(files)))

    async def _flow(self, inputs: Inputs, workers: WorkerPool) -> None:
        """Runs discovery, reading and storing to their end.

        Raises the error that ended the run early; pages that are finished by then are still stored.
        """
        self._workers = workers
        self._pages: asyncio.Queue[Page | None] = asyncio.Queue(PAGES_AHEAD)
        self._discovery = Discovery(self._ledger, workers, self._model.start)
        self._reader = PageReader(self._config, workers, self._model, self._keep_first)
        watching = asyncio.create_task(self._watch())
        reading = asyncio.create_task(self._read_inputs(inputs))
        try:
            await asyncio.wait((watching, reading), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (watching, reading):
                task.cancel()
            ended = await asyncio.gather(watching, reading, return_exceptions=True)
            # The pages the model had are stored as failed attempts: otherwise the next run would start with the same
            # page and die of it again.
            lost = self._model.lost() if self._model.failed.done() else []
            struck = await asyncio.gather(
                *(self._ledger.store([result]) for result in lost), return_exceptions=True
            )
            stored = await self._ledger.finish()
        for error in (*ended, *stored, *struck):
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                raise _cause(error)

    async def _watch(self) -> None:
        """Polls until the run has to end early.

        Raises: StopRequest when a stop was asked for, or the error that ended the model or the database.
        """
        looked, look = time.monotonic(), asyncio.wrap_future(self._ledger.writer.look())
        is_known = False
        while not self._model.failed.done():
            self._stop.check()
            if look.done() and time.monotonic() - looked >= _LOOK_S:
                look.result()
                looked, look = time.monotonic(), asyncio.wrap_future(self._ledger.writer.look())
            if self._model.device is not None and not is_known:
                self._budget.allow(inflight_mb(self._config, self._model.device) << 20)
                is_known = True
            self._ledger.progress.at_work(self._phase(), self._model.decoded()[0])
            await asyncio.sleep(POLL_S)
        self._model.failed.result()

    def _phase(self) -> Phase:
        if self._model.is_loading:
            return "loading the model"
        return "reading" if self._model.is_ready else "looking into files"

    async def _read_inputs(self, inputs: Inputs) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._discovery.all(inputs, self._pages))
            while (page := await self._pages.get()) is not None:
                await self._budget.take(self._page_bytes)
                tasks.create_task(self._page(page))
            self._ledger.progress.all_found()
        async with asyncio.TaskGroup() as tasks:
            for page in self._turns.rest():
                await self._budget.take(self._page_bytes)
                tasks.create_task(self._page(page))
        await self._read_suspects(self._discovery.last, self._discovery.alone)

    async def _read_suspects(self, last: Sequence[Page], alone: Sequence[tuple[int, Page]]) -> None:
        """Reads the pages that may have killed earlier runs, after all others are done."""
        if last or alone:
            LOGGER.warning(
                "%d pages were being read when an earlier run lost its GPU or died; they are read last%s",
                len(last) + len(alone),
                f", {len(alone)} of them one by one" if alone else "",
            )
        async with asyncio.TaskGroup() as tasks:
            for page in last:
                await self._budget.take(self._page_bytes)
                tasks.create_task(self._page(page))
        for _, page in sorted(alone, key=itemgetter(0)):
            await self._budget.take(self._page_bytes)
            await self._page(page, alone=True)

    def _keep_first(self, first: PageResult) -> None:
        def note(keeping: asyncio.Task[bool]) -> None:
            if not keeping.cancelled() and keeping.result():
                self._note_stored(first.page)

        self._ledger.keep_first(first).add_done_callback(note)

    def _note_stored(self, page: Page) -> None:
        """Records how long after its last token a page was first stored."""
        if (ended_at := self._model.ended_at.pop(page, None)) is not None:
            self._summary.stored_after.append(time.monotonic() - ended_at)

    async def _page(self, page: Page, *, alone: bool = False) -> None:
        """Takes one page from its file to its row.

        The caller has already taken the heaviest page's share of the budget.
        alone: no other page is being read at the same time.
        """
        share = Share(self._budget, self._page_bytes, _RESULT_BYTES)
        try:
            # Only a few pages queue at the workers: turns are decided by what is then known of a document.
            async with self._in_workers:
                if self._turns.puts_off(page):
                    return
                outcome = await asyncio.wrap_future(self._workers.render(page))
                self._turns.rendered(page, outcome)
            if not isinstance(outcome, PageError):
                share.change_to(outcome.num_bytes)
            if needs_model(outcome):
                # The page is marked only once the model has loaded: a crash during loading is not the page's fault.
                await self._model.ready(alone=alone)
                await self._ledger.begin(page, alone=alone)
            reading = self._reader(page, outcome, share.give_back)
            del outcome  # so that its views are freed once they are encoded
            attempts = await reading
            share.change_to(_RESULT_BYTES)
            await self._ledger.store(attempts)
            self._note_stored(page)
        finally:
            share.change_to(0)


def _cause(error: BaseException) -> BaseException:
    """Returns the first leaf of an exception group, or the error itself if it is none."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
