"""A run: files through workers to the model to the database. The one place that knows all of them.

All stages are at work at once: workers look into files and render pages, the model has a thread for its encoder and one
for its decoder (pipeline.flow.model), the database has its own (pipeline.flow.writer), and here, in one event loop,
each page is a coroutine that reads from top to bottom in `_Run._page`. How many are under way is a budget of bytes.
A page's failure is a value; the error boundaries are in the model's threads.
"""

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from platform import python_version
from typing import TYPE_CHECKING, Any

from ocr.fingerprint import weights_sha256
from pipeline.config import Config, ingest_settings, own_files, render_settings, settings_hash, tile_settings
from pipeline.encoder_config import graph_settings
from pipeline.errors import ConfigError, PipelineError, StopRequest, exit_code
from pipeline.flow.budget import Budget, Share, heaviest_page_bytes
from pipeline.flow.meter import Meter, StageUse
from pipeline.flow.model import Model
from pipeline.flow.writer import Writer
from pipeline.inputs import Inputs
from pipeline.ladder import best
from pipeline.loading import load_model, render_workers
from pipeline.passwords import read_passwords
from pipeline.reading import PageReader
from pipeline.results import failed_result
from pipeline.selection import select_pages
from pipeline.stages.store import store_document, store_page
from pipeline.stop import Stop
from pipeline.summary import Progress, RunSummary
from pipeline.timing import Stopwatch, split
from pipeline.types import Document, Page, PageError, PageResult, StageTiming
from pipeline.walk import Candidate, Found, walk
from pipeline.workers import WorkerPool
from storage.errors import StorageError
from storage.store import Store
from storage.types import RunRecord

if TYPE_CHECKING:
    from ocr.checkpoint import LoadedModel

LOGGER = logging.getLogger("ocrbatch")
_VERSIONS_OF = ("ocrbatch", "torch", "transformers", "tokenizers", "pymupdf", "pillow", "numpy")
# Files looked into, and pages known, ahead of their turn: all that is kept of one is a few numbers.
PROBES_AHEAD = 16
PAGES_AHEAD = 256
# How often the run looks whether it should stop.
POLL_S = 0.1
# How long a run that ends early counts the files it did not come to.
_COUNTING_S = 1.0
# Pages set aside that the summary names.
_LISTED = 20
# What a page counts for in the budget while its result waits for the database.
_RESULT_BYTES = 1 << 16


def run(
    config: Config,
    progress: Progress,
    stop: Stop,
    load: "Callable[[Config], LoadedModel] | None" = None,
    summary: RunSummary | None = None,
) -> RunSummary:
    """Reads everything that the configuration names, and returns what became of it.

    A wrong path, model name or budget is found before the database is touched. load: gives another model than the one
    that is configured. summary: is added to and returned, for those who want to know of it whatever is raised.

    Raises: ConfigError, CheckpointError, StorageError, DeviceLostError; StopRequest before the run has begun.
    """
    if not config.ingest.paths:
        raise ConfigError("nothing to read: name files or folders, or set ingest.paths in the configuration")
    passwords = read_passwords(config.ingest)
    inputs = Inputs(walk(config.ingest.paths, ingest_settings(config), own_files(config)))
    graph_settings(config.encoder, config.tile.mode)
    weights = stop.while_doing(lambda: weights_sha256(config.model))
    hash_ = settings_hash(config, weights)
    with Writer(config.store.database) as writer:
        record = RunRecord(
            settings_hash=hash_,
            config=config.model_dump(mode="json"),
            model=config.model,
            weights_sha256=weights,
            versions=versions(),
        )
        run_id = writer.call(Store.start_run, record).result()
        summary = summary or RunSummary(database=config.store.database)
        summary.run_id = run_id
        return _Run(
            config, writer, run_id, hash_, progress, stop, load or load_model, summary, passwords
        ).execute(inputs)


def versions() -> dict[str, str]:
    """Returns name -> version of what takes part in a run, without importing any of it."""
    found = {"python": python_version()}
    for name in _VERSIONS_OF:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


class _Run:
    def __init__(
        self,
        config: Config,
        writer: Writer,
        run_id: int,
        settings_hash: str,
        progress: Progress,
        stop: Stop,
        load: "Callable[[Config], LoadedModel]",
        summary: RunSummary,
        passwords: tuple[str, ...],
    ) -> None:
        self._config = config
        self._writer = writer
        self._run_id = run_id
        self._settings_hash = settings_hash
        self._progress = progress
        self._stop = stop
        self._summary = summary
        self._passwords = passwords
        self._tile = tile_settings(config)
        self._model = Model(config, load)
        self._budget = Budget(config.run.inflight_mb << 20)
        self._page_bytes = heaviest_page_bytes(self._tile)
        self._discovering, self._rendering = Meter(), Meter()
        self._planned: set[str] = set()
        self._discover: dict[Page, StageTiming] = {}

    def execute(self, inputs: Inputs) -> RunSummary:
        """Returns the summary; a stop is one of the ends a run can have. The run's row is closed always."""
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
            except Exception:  # what ended the run is what is to be said
                LOGGER.debug("the run's end could not be recorded", exc_info=True)
            raise
        self._finish(self._summary.exit_code, watch.seconds)
        return self._summary

    def _count_left(self, inputs: Inputs) -> None:
        """What a run that ended early did not come to."""
        summary = self._summary
        num_files, is_all = inputs.count_rest(_COUNTING_S)
        summary.num_documents_left = inputs.num_taken - summary.documents.total() + num_files
        summary.all_documents_known = is_all

    def _finish(self, code: int, wall_s: float) -> None:
        summary, model = self._summary, self._model
        summary.wall_s = wall_s
        summary.load_s, summary.capture_s = model.load_s, model.capture_s
        set_aside = self._writer.call(Store.quarantined, self._run_id, _LISTED)
        summary.num_quarantined, summary.quarantined = set_aside.result()
        summary.stages = self._stages(wall_s)
        summary.num_tokens, summary.num_steps = model.decoded()
        summary.gpu_busy = None if model.gpu is None else model.gpu.busy_share
        self._writer.call(
            Store.finish_run,
            self._run_id,
            exit_code=int(code),
            counts=summary.counts(),
            encoder=model.encoder_record(),
            flow=summary.flow(),
        ).result()

    def _stages(self, wall_s: float) -> list[StageUse]:
        """Workers are shared by two stages; what a budget without room cost them counts for rendering."""
        workers = render_workers(self._config)
        discover = self._discovering.use("discover", wall_s * workers)
        render = self._rendering.use("render", wall_s * workers)
        store = self._writer.meter.use("store", wall_s)
        idle = max(0.0, 1 - discover.busy - render.busy)
        blocked = min(idle, self._budget.waited_s / wall_s) if wall_s else 0.0
        return [
            discover,
            dataclasses.replace(render, waiting_input=idle - blocked, waiting_output=blocked),
            *self._model.stages(wall_s),
            dataclasses.replace(store, waiting_input=max(0.0, 1 - store.busy)),
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
        ) as workers:
            try:
                asyncio.run(self._flow(inputs, workers))
            finally:
                self._model.close()
        mark_missing = self._writer.call(Store.mark_missing, self._run_id, config.ingest.paths)
        self._summary.num_missing = mark_missing.result()

    async def _flow(self, inputs: Inputs, workers: WorkerPool) -> None:
        """All of a run. Raises what ended it before its time; pages that are done by then are stored all the same."""
        self._workers = workers
        self._storing: set[asyncio.Task[None]] = set()
        self._pages: asyncio.Queue[Page | None] = asyncio.Queue(PAGES_AHEAD)
        self._reader = PageReader(self._config, workers, self._model)
        watching = asyncio.create_task(self._watch())
        reading = asyncio.create_task(self._read_inputs(inputs))
        try:
            await asyncio.wait((watching, reading), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (watching, reading):
                task.cancel()
            ended = await asyncio.gather(watching, reading, return_exceptions=True)
            stored = await asyncio.gather(*self._storing, return_exceptions=True)
        for error in (*ended, *stored):
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                raise _cause(error)

    async def _watch(self) -> None:
        """Raises what somebody asked for, or what befell the model."""
        while not self._model.failed.done():
            self._stop.check()
            await asyncio.sleep(POLL_S)
        self._model.failed.result()

    async def _read_inputs(self, inputs: Inputs) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._discover_all(inputs))
            while (page := await self._pages.get()) is not None:
                await self._budget.take(self._page_bytes)
                tasks.create_task(self._page(page))

    async def _discover_all(self, inputs: Inputs) -> None:
        """Files in the order found, a few at a time."""
        room = asyncio.Semaphore(PROBES_AHEAD)

        async def look_into(found: Found) -> None:
            try:
                for page in await self._plan(found):
                    await self._pages.put(page)
            finally:
                room.release()

        async with asyncio.TaskGroup() as tasks:
            while (found := await asyncio.to_thread(next, inputs, None)) is not None:
                await room.acquire()
                tasks.create_task(look_into(found))
        await self._pages.put(None)

    async def _plan(self, found: Found) -> Sequence[Page]:
        """Records a document and returns those of its pages that are to be read."""
        document = found if isinstance(found, Document) else await self._probed(found)
        summary, ingest = self._summary, self._config.ingest
        summary.documents[document.status] += 1
        await self._stored(store_document, self._run_id, document)
        if document.status != "ok":
            self._progress.document_refused(document)
            return []
        assert document.sha256 is not None
        assert document.kind is not None
        if document.sha256 in self._planned:  # a copy: its pages are the same rows
            return []
        self._planned.add(document.sha256)
        wanted, num_left_out = select_pages(document.num_pages, ingest.pages, ingest.max_pages_per_document)
        plan = await self._stored(
            Store.plan_pages,
            document.sha256,
            wanted,
            self._settings_hash,
            attempt_limit=self._config.store.attempt_limit,
            force=self._config.run.force,
            retry_failed=self._config.run.retry_failed,
        )
        summary.num_left_out += num_left_out
        summary.num_done_before += len(plan.done)
        summary.num_given_up += len(plan.given_up)
        pages = [
            Page(
                path=document.path,
                sha256=document.sha256,
                kind=document.kind,
                page_index=index,
                stamp=document.stamp,
            )
            for index in plan.to_read
        ]
        summary.num_to_read += len(pages)
        if pages and self._config.text_layer != "prefer":  # then perhaps none is read
            self._model.start()  # it loads while the first of them are rendered
        self._progress.pages_found(len(pages))
        self._discover.update(zip(pages, split("discover", document.seconds, [1] * len(pages)), strict=True))
        return pages

    async def _probed(self, candidate: Candidate) -> Document:
        document = await asyncio.wrap_future(self._workers.probe(candidate.path))
        self._discovering.add("busy", document.seconds)
        return document

    async def _page(self, page: Page) -> None:
        """One page from its file to its row. It comes with the heaviest page's share of the budget."""
        share = Share(self._budget, self._page_bytes, _RESULT_BYTES)
        try:
            outcome = await asyncio.wrap_future(self._workers.render(page))
            if not isinstance(outcome, PageError):
                self._rendering.add("busy", sum(outcome.seconds.values()))
                share.change_to(outcome.num_bytes)
            reading = self._reader(page, outcome, share.give_back)
            del outcome  # its views go as soon as nobody looks at them
            attempts = await reading
            share.change_to(_RESULT_BYTES)
            await self._store(attempts)
        finally:
            share.change_to(0)

    async def _store(self, attempts: Sequence[PageResult]) -> None:
        """Also where the run ends meanwhile: the page is done."""
        storing = asyncio.create_task(self._store_page(attempts))
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)
        await asyncio.shield(storing)

    async def _store_page(self, attempts: Sequence[PageResult]) -> None:
        first = attempts[0]
        first = dataclasses.replace(first, timings=(self._discover.pop(first.page), *first.timings))
        result = best(await self._recorded([first, *attempts[1:]]))
        self._summary.pages[result.status] += 1
        self._summary.num_low_confidence += self._is_doubtful(result)
        self._progress.page_done(result)

    async def _recorded(self, attempts: Sequence[PageResult]) -> Sequence[PageResult]:
        """Returns what was stored: a page whose result the database refuses has failed, and costs no other."""
        page, limit = attempts[0].page, self._config.store.attempt_limit
        store = partial(self._stored, store_page, self._run_id, self._settings_hash, attempt_limit=limit)
        try:
            await store(*attempts)
        except StorageError:  # nothing else could be stored either
            raise
        except Exception as error:
            LOGGER.debug("a page's result was refused", exc_info=error)
            message = f"the database refused what was read: {type(error).__name__}: {error}"
            failure = PageError(stage="store", category="refused", message=message)
            attempts = [failed_result(page, failure, attempts[0].timings)]
            try:
                await store(*attempts)
            except StorageError:
                raise
            except Exception as again:
                raise PipelineError(
                    f"{page.path}, page {page.page_number}: nothing about it can be stored ({again}); "
                    "earlier pages are; leave it out with ingest.exclude and report it"
                ) from again
        return attempts

    def _stored(self, task: Callable[..., Any], *args: Any, **kwargs: Any) -> "asyncio.Future[Any]":
        return asyncio.wrap_future(self._writer.call(task, *args, **kwargs))

    def _is_doubtful(self, result: PageResult) -> bool:
        return result.confidence is not None and result.confidence < self._config.store.low_confidence


def _cause(error: BaseException) -> BaseException:
    """The first error in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
