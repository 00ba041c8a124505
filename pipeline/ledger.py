"""A run's pages on their way into the database: stored, then counted and told of."""

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pipeline.config import Config
from pipeline.errors import PipelineError
from pipeline.flow.writer import Writer
from pipeline.ladder import best
from pipeline.results import failed_result
from pipeline.stages.store import store_page
from pipeline.summary import Progress, RunSummary
from pipeline.types import Page, PageError, PageResult, StageTiming
from storage.errors import StorageError
from storage.types import DONE_STATUSES

LOGGER = logging.getLogger("ocrbatch")


class Ledger:
    """For the event loop's thread. writer: has begun the run of this id. summary, progress: are told what is stored."""

    def __init__(
        self,
        config: Config,
        writer: Writer,
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
        self._storing: set[asyncio.Task[None]] = set()

    def call(self, task: Callable[..., Any], *args: Any, **kwargs: Any) -> "asyncio.Future[Any]":
        """Returns the future of task(store, ...)."""
        return asyncio.wrap_future(self.writer.call(task, *args, **kwargs))

    def expect(self, pages: Sequence[Page], timings: Sequence[StageTiming]) -> None:
        """Pages that are to be read, and what finding each of them took."""
        self.summary.num_to_read += len(pages)
        self.progress.pages_found(len(pages))
        self._discovery.update(zip(pages, timings, strict=True))

    async def store(self, attempts: Sequence[PageResult]) -> None:
        """Also where the run ends meanwhile: the page is done. attempts: all of this run at a page, the first first."""
        storing = asyncio.create_task(self._store(attempts))
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)
        await asyncio.shield(storing)

    async def finish(self) -> list[BaseException]:
        """Waits until all that was to be stored is; returns what went wrong with it."""
        ended = await asyncio.gather(*self._storing, return_exceptions=True)
        return [error for error in ended if error is not None]

    async def _store(self, attempts: Sequence[PageResult]) -> None:
        first = attempts[0]
        first = dataclasses.replace(first, timings=(self._discovery.pop(first.page), *first.timings))
        first, *others = await self._recorded([first, *attempts[1:]])
        result = best([first, *others])
        self.summary.pages[result.status] += 1
        self.summary.num_low_confidence += self._is_doubtful(result)
        if result.status in DONE_STATUSES and first.status not in DONE_STATUSES:
            self.summary.num_rescued += 1
            self.progress.page_rescued(first, result)
        self.progress.page_done(result)

    async def _recorded(self, attempts: Sequence[PageResult]) -> Sequence[PageResult]:
        """Returns what was stored: a page whose result the database refuses has failed, and costs no other."""
        page, limit = attempts[0].page, self.config.store.attempt_limit
        store = partial(self.call, store_page, self.run_id, self.settings_hash, attempt_limit=limit)
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

    def _is_doubtful(self, result: PageResult) -> bool:
        return result.confidence is not None and result.confidence < self.config.store.low_confidence
