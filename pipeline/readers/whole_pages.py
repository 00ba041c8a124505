"""A page model as a run's reader, with the places of words that it does not say itself."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace

from numpy import ndarray

from pipeline.config.retry_steps import Step
from pipeline.device.line_readers import LineReaders
from pipeline.device.threads.page_reader import PageReader
from pipeline.device.tickets import Lot
from pipeline.errors import WorkersError
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.outcome.doubt import NONE_READ, doubted
from pipeline.outcome.results import failed_result
from pipeline.readers.reader import Reader
from pipeline.types import Page, PageResult, RenderedPage, SeenWords
from storage.types import PageError

LOGGER = logging.getLogger("ocrbatch")


class WholePages(Reader[RenderedPage]):
    """Reads pages with a model.

    words: find the words of pages whose model names no places, None where every model does. workers: place them.
    """

    marks_pages = True

    def __init__(self, model: PageReader, words: LineReaders | None, workers: WorkerPool) -> None:
        self.source = self._model = model
        self._words, self._workers = words, workers
        self._lots: dict[Page, Lot] = {}
        self.sees_print = words is not None

    async def ready(self, *, alone: bool = False) -> None:
        """Waits until the model takes pages; see PageReader.ready."""
        await self._model.ready(alone=alone)

    def expect(self, pages: Sequence[Page]) -> None:
        """Has these pages read in one prompt, as far as they come."""
        if len(pages) > 1:
            self._lots |= dict.fromkeys(pages, Lot(pages))

    def leave_out(self, page: Page) -> None:
        """Has no other page wait for this one any more."""
        if (lot := self._lots.pop(page, None)) is not None:
            lot.leave(page)

    async def read(
        self, page: RenderedPage, dropped: Callable[[int], None] | None = None, step: Step | None = None
    ) -> PageResult:
        """Reads a page, and finds its words meanwhile; retry steps go before pages that are read first."""
        lot = self._lots.pop(page.page, None)
        seen = self._seen(page)
        if seen is not None:
            page = replace(page, ink=None, seen=())
            dropped = None if dropped is None else _after(seen, dropped)
        if lot is not None:
            await lot.join(page.page)
        reading = self._model.read(page, dropped, step, is_urgent=step is not None, lot=lot)
        del page  # so that its views are freed once they are encoded
        result = await reading
        return result if seen is None or result.parsed is None else await self._placed(result, seen)

    def _seen(self, rendered: RenderedPage) -> Future[SeenWords] | None:
        """Begins to find the page's words while the model reads it; returns None where none are looked for."""
        match rendered:
            case RenderedPage(seen=(_, *_) as words):
                known: Future[SeenWords] = Future()
                known.set_result(SeenWords(words=words, shows_print=True))
                return known
            case RenderedPage(ink=ndarray()) if self._words is not None:
                return self._words.words(rendered)
        return None

    async def _placed(self, result: PageResult, finding: Future[SeenWords]) -> PageResult:
        """Returns a page's result with the places of its words, without them where nobody can look for words.

        It is doubtful where it is blank though print was seen.
        """
        try:
            seen = await asyncio.wrap_future(finding)
        except WorkersError as error:
            LOGGER.warning("words stay without boxes: %s", error)
            return result
        placed = await asyncio.wrap_future(self._workers.words(result, seen))
        if isinstance(placed, PageError):
            return failed_result(result.page, placed, result.timings)
        return doubted(placed, NONE_READ) if seen.shows_print and placed.status == "blank" else placed


def _after(finding: Future[SeenWords], dropped: Callable[[int], None]) -> Callable[[int], None]:
    """Returns what passes on how many bytes are released once the words are found.

    Until then a page's pixels stay in memory, which they share with its views. So where finding words is slower than a
    GPU, pages do not pile up.
    """

    def later(num_bytes: int) -> None:
        def found(ended: asyncio.Future[SeenWords]) -> None:
            if not ended.cancelled():
                ended.exception()  # whoever waits for the words handles it
                dropped(num_bytes)

        asyncio.wrap_future(finding).add_done_callback(found)

    return later
