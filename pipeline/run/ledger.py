"""Keeps the run's ledger: marks pages before they are read, then stores, counts and reports their results."""

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pipeline.config.schema import Config
from pipeline.errors import PipelineError
from pipeline.outcome.results import failed_result
from pipeline.reports.listing import page_name
from pipeline.reports.summary import Progress, RunSummary
from pipeline.rereading.comparing import best
from pipeline.run.writer import Records
from pipeline.stages.store import store_first, store_page
from pipeline.types import Page, PageResult
from storage.errors import StorageError
from storage.records.store import Store
from storage.types import FINE_STATUSES, PageError, StageTiming

LOGGER = logging.getLogger("ocrbatch")


class Ledger:
    """Keeps account of a run's pages. Use it from the event loop's thread only.

    writer: its database already has the run with this id. summary, progress: are updated with every stored page.
    """

    def __init__(
        self,
        config: Config,
        writer: Records,
        run_id: int,
        settings_hash: str,
        progress: Progress,
        summary: RunSummary,
    ) -> None:
        self.config = config
        self.writer = writer
        self.run_id = run_id
        self.settings_hash = settings_hash
        self.progress = progress
        self.summary = summary
        self._discovery: dict[Page, StageTiming] = {}
        self._storing: set[asyncio.Task[Any]] = set()
        self._to_begin: list[Page] = []
        self._next_lot: asyncio.Task[None] | None = None
        self._lots: set[asyncio.Task[None]] = set()
        self._one_lot = asyncio.Lock()

    def call(self, task: Callable[..., Any], *args: Any, **kwargs: Any) -> "asyncio.Future[Any]":
        """Runs task(store, ...) in the database's thread and returns its future."""
        return asyncio.wrap_future(self.writer.call(task, *args, **kwargs))

    def expect(self, pages: Sequence[Page], timings: Sequence[StageTiming]) -> None:
        """Notes pages that will be read, with the time that discovering each of them took."""
        self.progress.pages_found(len(pages))
        self._discovery.update(zip(pages, timings, strict=True))

    def forget(self, page: Page) -> None:
        """Notes that a page that was expected is read elsewhere."""
        self._discovery.pop(page, None)

    async def begin(self, page: Page, *, alone: bool = False) -> None:
        """Marks a page as being read, and returns once the mark is stored: the model must not get the page before that.

        Pages that arrive while others are being marked share the next transaction: a GPU reads many pages a second, and
        a transaction for each would be too many. alone: nothing else is being read. Raises: StorageError.
        """
        self._to_begin.append(page)
        if self._next_lot is None:
            self._next_lot = asyncio.create_task(self._begin_lot(alone=alone))
            self._lots.add(self._next_lot)
            self._next_lot.add_done_callback(self._lots.discard)
        await asyncio.shield(self._next_lot)

    async def _begin_lot(self, *, alone: bool) -> None:
        async with self._one_lot:  # more pages join the batch while this waits
            pages, self._to_begin, self._next_lot = self._to_begin, [], None
            assert not alone or len(pages) == 1
            keys = [(page.sha256, page.page_index) for page in pages]
            await asyncio.wrap_future(self.writer.begin(self.run_id, keys, alone=alone))

    async def store(self, attempts: Sequence[PageResult]) -> None:
        """Stores a finished page, even if the run is cancelled meanwhile.

        attempts: all of this run's attempts at the page, in the order they were made.
        """
        storing = asyncio.create_task(self._store(attempts))
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)
        await asyncio.shield(storing)

    async def put_off(self, page: Page) -> None:
        """Removes a page's mark: it waits for another model, and is in none. Raises: StorageError."""
        await self.call(Store.put_off, self.run_id, page.sha256, page.page_index)

    def keep_first(self, first: PageResult) -> None:
        """Stores a page's first reading at once: a better one may take long, and a kill until then would lose both.

        An error is only logged here: storing the finished page will meet it again and report it.
        """
        discovery = self._discovery.get(first.page)
        if discovery is not None:
            first = dataclasses.replace(first, timings=(discovery, *first.timings))
        keeping = asyncio.create_task(self._keep(first))
        self._storing.add(keeping)
        keeping.add_done_callback(self._storing.discard)

    async def _keep(self, first: PageResult) -> None:
        try:
            await self.call(store_first, self.run_id, self.settings_hash, first)
        except Exception as error:
            LOGGER.debug("a page's first reading was refused", exc_info=error)

    async def finish(self) -> list[BaseException]:
        """Waits until everything is stored, and returns the errors that storing raised.

        The marks are removed first: a second signal kills the process at once, and no page must be blamed for that.
        """
        # A mark that is set after the run's marks were removed would stay. Errors were already raised in begin().
        await asyncio.gather(*self._lots, return_exceptions=True)
        forgetting = asyncio.wrap_future(self.writer.end(self.run_id))
        ended = await asyncio.gather(forgetting, *self._storing, return_exceptions=True)
        return [error for error in ended if isinstance(error, BaseException)]

    async def _store(self, attempts: Sequence[PageResult]) -> None:
        first = attempts[0]
        first = dataclasses.replace(first, timings=(self._discovery.pop(first.page), *first.timings))
        first, *others = await self._recorded([first, *attempts[1:]])
        count_page(self.config, self.summary, self.progress, [first, *others])

    async def _recorded(self, attempts: Sequence[PageResult]) -> Sequence[PageResult]:
        """Stores the attempts at a page and returns what was stored.

        A page whose result the database refuses is stored as failed, so that it does not stop the others.

        Raises: StorageError where the database itself fails; PipelineError where not even the failure can be stored.
        """
        page, limit = attempts[0].page, self.config.store.attempt_limit
        store = partial(self.call, store_page, self.run_id, self.settings_hash, attempt_limit=limit)
        try:
            await store(*attempts)
        except StorageError:  # the database itself fails: no other page could be stored either
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
                    f"{page_name(page.path, page.page_number)}: nothing about it can be stored ({again}); "
                    "earlier pages are; leave it out with ingest.exclude and report it"
                ) from again
        return attempts


def count_page(
    config: Config, summary: RunSummary, progress: Progress, attempts: Sequence[PageResult]
) -> None:
    """Counts and reports a page that is stored. attempts: all of this run's, in the order they were made."""
    first, others, result = attempts[0], attempts[1:], best(attempts)
    models = {rung.name: rung.model for rung in config.ladder.rungs if rung.model is not None}
    summary.pages[result.status] += 1
    summary.num_low_confidence += (
        result.confidence is not None and result.confidence < config.store.low_confidence
    )
    is_read = any(timing.stage == "read" for timing in first.timings)  # what its pictures show
    summary.num_unread += first.status == "embedded" and not is_read
    summary.sent_up.update({models[its.rung] for its in others if its.rung in models})
    if result.status in FINE_STATUSES and first.status not in FINE_STATUSES:
        summary.num_rescued += 1
        progress.page_rescued(first, result)
    progress.page_done(result)
