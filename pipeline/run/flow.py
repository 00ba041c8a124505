"""Takes pages through a run: a coroutine for each, in one event loop.

All stages work concurrently: workers probe files and render pages, the model has a thread for its encoder and one for
its decoder (pipeline.device.threads.page_reader), the database has its own (pipeline.run.writer), and here each page
is a coroutine that reads from top to bottom in `Flow._page`. A budget of bytes limits how many are in flight. A page's
failure is a value; the error boundaries are in the model's threads.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from operator import itemgetter

from pipeline.device.open_models import Models
from pipeline.device.sizes import inflight_mb
from pipeline.device.startup.loading import render_workers
from pipeline.ingest.inputs import InputFiles
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.readers.reader import Reader
from pipeline.readers.reader_plan import ReaderPlan
from pipeline.rereading.attempts import Attempts, PutOff
from pipeline.run.budget import Budget, Share
from pipeline.run.deferred_models import DeferredModels
from pipeline.run.discovery import Discovery, Planner
from pipeline.run.ending import watch
from pipeline.run.ledger import Ledger
from pipeline.stop import Stop
from pipeline.types import Page, PageResult, Phase, RenderedPage
from storage.types import PageError

LOGGER = logging.getLogger("ocrbatch")
# Pages queued ahead of rendering; each is only a few numbers.
PAGES_AHEAD = 256
# A page's share of the budget while its result waits to be stored.
_RESULT_BYTES = 1 << 16


class Flow:
    """Takes all pages of a run from their files to their rows. For use in one event loop.

    budget: of the rendered pages' bytes, raised once the device is known. page_bytes: the heaviest page's. planner:
    decides what is read where the run's database is not in this process.
    """

    def __init__(
        self,
        ledger: Ledger,
        stop: Stop,
        models: Models,
        workers: WorkerPool,
        budget: Budget,
        page_bytes: int,
        planner: Planner | None = None,
    ) -> None:
        self._ledger, self._stop, self._models, self._workers = ledger, stop, models, workers
        self._page_models = models.all
        self._deferred = DeferredModels(ledger.config, tuple(models.others), lambda: models.first.device)
        self._plan = plan = ReaderPlan(ledger.config, models, workers)
        self._budget, self._page_bytes = budget, page_bytes
        self._discovery = Discovery(ledger, workers, plan.first.start, planner)
        self._attempts = Attempts(
            ledger.config,
            workers,
            plan,
            ledger.keep_first,
            begin=self._begin,
            waits=self._deferred.waits,
        )
        self._is_device_known = False
        self._in_workers = asyncio.Semaphore(2 * render_workers(ledger.config))

    async def run(self, inputs: InputFiles) -> None:
        """Runs discovery, reading and storing to their end.

        Raises the error that ended the run early; pages that are finished by then are still stored.
        """
        watching = asyncio.create_task(watch(self._ledger, self._stop, self._look))
        reading = asyncio.create_task(self._read_inputs(inputs))
        try:
            await asyncio.wait((watching, reading), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (watching, reading):
                task.cancel()
            ended = await asyncio.gather(watching, reading, return_exceptions=True)
            # The pages the model had are stored as failed attempts: otherwise the next run would start with the same
            # page and die of it again.
            lost = [page for model in self._page_models if model.failed.done() for page in model.lost()]
            struck = await asyncio.gather(
                *(self._ledger.store([result]) for result in lost), return_exceptions=True
            )
            stored = await self._ledger.finish()
        for error in (*ended, *stored, *struck):
            if isinstance(error, BaseException) and not isinstance(error, asyncio.CancelledError):
                while isinstance(error, BaseExceptionGroup):
                    error = error.exceptions[0]
                raise error

    def _look(self) -> None:
        """Shows what is being done, and sets the budget once the device is known. Raises: a model's error."""
        if self._models.first.device is not None and not self._is_device_known:
            self._budget.allow(inflight_mb(self._ledger.config, self._models.first.device) << 20)
            self._is_device_known = True
        num_tokens = sum(model.num_tokens for model in self._page_models)
        self._ledger.progress.at_work(self._phase(), num_tokens)
        for model in self._page_models:
            if model.failed.done():
                model.failed.result()

    def _phase(self) -> Phase:
        first = self._plan.first
        if first.is_loading:
            return first.loading
        return "reading" if first.is_ready else "inspecting files"

    async def _read_inputs(self, inputs: InputFiles) -> None:
        pages: asyncio.Queue[Sequence[Page] | None] = asyncio.Queue(PAGES_AHEAD)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._discovery.all(inputs, pages))
            while (lot := await pages.get()) is not None:
                await self._budget.take(len(lot) * self._page_bytes)  # at once, as they wait for each other
                self._plan.first.expect(lot)
                for page in lot:

                    def leave_out(_: asyncio.Task[None], page: Page = page) -> None:
                        self._plan.first.leave_out(page)

                    tasks.create_task(self._page(page)).add_done_callback(leave_out)
            self._ledger.progress.all_found()
        await self._read_together(self._discovery.slow.rest())
        await self._read_suspects(self._discovery.last, self._discovery.alone)
        await self._read_in_turn()

    async def _read_in_turn(self) -> None:
        """Has each model read the pages that wait for it, once all others have read theirs and were let go."""
        for name, model in self._models.others.items():
            if not (pages := self._deferred.begin(name)):
                continue
            if self._models.lines is not None:
                await asyncio.to_thread(self._models.lines.close)
            for before in self._page_models:
                if before is not model:
                    await asyncio.to_thread(before.let_go)
            async with asyncio.TaskGroup() as tasks:
                for page in pages:
                    tasks.create_task(self._go_on(page))

    async def _go_on(self, put_off: PutOff) -> None:
        await self._settle(put_off.page, await self._attempts.go_on(put_off))

    async def _settle(self, page: Page, made: Sequence[PageResult] | PutOff) -> None:
        """Stores the attempts at a page, or has it wait for its model."""
        self._workers.spool.release(page.path, page.page_index)
        if isinstance(made, PutOff):
            await self._ledger.put_off(page)
            self._deferred.put_off(made)
            return
        await self._ledger.store(made)

    async def _read_suspects(self, last: Sequence[Page], alone: Sequence[tuple[int, Page]]) -> None:
        """Reads the pages that may have killed earlier runs, after all others are done."""
        if last or alone:
            LOGGER.warning(
                "%d pages were being read when an earlier run lost its GPU or died; they are read last%s",
                len(last) + len(alone),
                f", {len(alone)} of them one by one" if alone else "",
            )
        await self._read_together(last)
        for _, page in sorted(alone, key=itemgetter(0)):
            await self._budget.take(self._page_bytes)
            await self._page(page, alone=True)

    async def _read_together(self, pages: Iterable[Page]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for page in pages:
                await self._budget.take(self._page_bytes)
                tasks.create_task(self._page(page))

    async def _begin(self, page: Page, reader: Reader[RenderedPage], alone: bool) -> None:
        """Marks a page as being read, once its reader has loaded: a crash during loading is not the page's fault."""
        await reader.ready(alone=alone)
        await self._ledger.begin(page, alone=alone)

    async def _page(self, page: Page, *, alone: bool = False) -> None:
        """Takes one page from its file to its row.

        The caller has already taken the heaviest page's share of the budget.
        alone: no other page is being read at the same time.
        """
        share = Share(self._budget, self._page_bytes, _RESULT_BYTES)
        try:
            # Only a few pages queue at the workers: turns are decided by what is then known of a document.
            async with self._in_workers:
                if not await self._discovery.claim(page):
                    self._workers.spool.release(page.path, page.page_index)
                    return
                outcome = await asyncio.wrap_future(self._workers.render(page))
                self._discovery.slow.rendered(page, outcome)
            if not isinstance(outcome, PageError):
                share.change_to(outcome.num_bytes)
            reading = self._attempts(page, outcome, share.give_back, alone=alone)
            del outcome  # so that its views are freed once they are encoded
            made = await reading
            share.change_to(_RESULT_BYTES)
            await self._settle(page, made)
        finally:
            share.change_to(0)
