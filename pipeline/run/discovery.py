"""Discovers the pages a run has to read: records the input files, and leaves out pages that are done."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby, zip_longest
from operator import attrgetter
from typing import Protocol

from pipeline.config.schema import ingest_settings, layer_use
from pipeline.ingest.found import Candidate, document_of, kept_stamp, known_by
from pipeline.ingest.inputs import InputFiles
from pipeline.ingest.selection import Selection, probe_all
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.run.ledger import Ledger
from pipeline.stages.store import store_document
from pipeline.timing import split
from pipeline.types import TAKEN_FIRST, InputFile, Page, ReadyPage
from storage.records.store import Store
from storage.types import PageError, PagePlan

LOGGER = logging.getLogger("ocrbatch")
# A document is put off after this many of its pages timed out: in a row, or in all.
IN_A_ROW, IN_ALL = 2, 4


class SlowDocuments:
    """Puts off documents whose pages keep timing out: they are read on after all others.

    A small file can hold a thousand pages, each of which occupies a worker until the page's time limit. Its first pages
    are tried in their turn; once they have shown what it is like, the rest waits until nothing else is left to read.
    Use it from the event loop's thread only.
    """

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()
        self._in_all: Counter[str] = Counter()
        self._put_off: dict[str, list[Page]] = {}
        self._is_last_round = False

    def rendered(self, page: Page, outcome: ReadyPage | PageError) -> None:
        """Notes the outcome of rendering a page."""
        if not (isinstance(outcome, PageError) and outcome.category == "timeout"):
            self._in_a_row[page.sha256] = 0
            return
        self._in_a_row[page.sha256] += 1
        self._in_all[page.sha256] += 1
        is_over = self._in_a_row[page.sha256] >= IN_A_ROW or self._in_all[page.sha256] >= IN_ALL
        if is_over and not self._is_last_round and page.sha256 not in self._put_off:
            self._put_off[page.sha256] = []
            LOGGER.warning("%s: page after page takes too long; what is left of it is read last", page.path)

    def puts_off(self, page: Page) -> bool:
        """Returns whether the page has to wait; if so, `rest` will return it."""
        if self._is_last_round or page.sha256 not in self._put_off:
            return False
        self._put_off[page.sha256].append(page)
        return True

    def rest(self) -> Iterator[Page]:
        """Returns the pages that were put off, one of each document in turn; from now on none is put off any more."""
        self._is_last_round = True
        rounds = zip_longest(
            *(sorted(pages, key=attrgetter("page_index")) for pages in self._put_off.values())
        )
        return (page for page in chain.from_iterable(rounds) if page is not None)


class Planner(Protocol):
    """Decides which pages are read, and by whom."""

    async def known(self, found: Candidate) -> InputFile | None:
        """Returns a file that an earlier run looked into and that has not changed since; None: it must be probed."""

    async def plan(self, document: InputFile) -> PagePlan:
        """Records a document and returns which of its pages to read."""

    async def claim(self, page: Page) -> bool:
        """Returns whether a page is still to be read here, now that its turn has come."""


class Planning:
    """Plans documents by the run's own database; nobody else reads their pages."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        ask = partial(ledger.call, Store.plan_pages)
        self._selection = Selection(ledger.config, ledger.settings_hash, ledger.summary, ask)
        self._ingest = ingest_settings(ledger.config)

    async def known(self, found: Candidate) -> InputFile | None:
        """Returns a file that an earlier run looked into and that has not changed since; None: it must be probed."""
        assert found.stamp is not None
        stamp = known_by(found.stamp, self._ingest)
        known = await self._ledger.call(Store.find_known, self._ledger.run_id, found.path, stamp)
        return None if known is None else document_of(found, known)

    async def plan(self, document: InputFile, *, again: bool = False) -> PagePlan:
        """Records a document and returns which of its pages to read. again: see Selection.plan."""
        if not document.is_known:
            stamp = kept_stamp(document, self._ingest)
            await self._ledger.call(store_document, self._ledger.run_id, document, stamp)
        return await self._selection.plan(document, again=again)

    async def claim(self, page: Page) -> bool:
        """Returns True."""
        return True


def neighbours(pages: Sequence[Page], most: int) -> Iterator[list[Page]]:
    """Yields a document's pages in order: those that follow each other together, at most so many.

    Where they are cut depends on their numbers alone, so that it is the same when some of them were read before.
    """

    def place(numbered: tuple[int, Page]) -> tuple[int, int]:
        return numbered[1].page_index // most, numbered[1].page_index - numbered[0]

    return ([page for _, page in lot] for _, lot in groupby(enumerate(pages), place))


class Discovery:
    """Turns input files into pages to read. Use it from the event loop's thread only.

    workers: probe the files. load: starts loading the model, called once there is something to read. planner: decides
    what is read where the run's database is not in this process.

    After all files were probed, two lists hold the pages that must be read after all others. last: pages that the model
    had when one run died; they are read together. alone: pages that were being computed when the model was lost, or
    that it had when several runs died; they are read one by one, so that only the culprit is blamed again. With each of
    these comes how often that happened: the least suspect go first, so that the culprit does not block them for ever.
    """

    def __init__(
        self, ledger: Ledger, workers: WorkerPool, load: Callable[[], None], planner: Planner | None = None
    ) -> None:
        self._ledger, self._workers, self._load = ledger, workers, load
        self._planner = planner or Planning(ledger)
        self._layer_use = layer_use(ledger.config)
        self.slow = SlowDocuments()
        self.last: list[Page] = []
        self.alone: list[tuple[int, Page]] = []

    async def all(self, inputs: InputFiles, pages: "asyncio.Queue[Sequence[Page] | None]") -> None:
        """Puts the pages to read into the queue, those of one prompt together, and None after the last."""
        most = self._ledger.config.decode.pages_per_prompt

        async def take(_number: int, document: InputFile) -> None:
            for lot in neighbours(await self._pages(document), most):
                await pages.put(lot)

        await probe_all(inputs, self._workers, take, self._planner.known)
        await pages.put(None)

    async def claim(self, page: Page) -> bool:
        """Returns whether a page is to be read here, now that its turn has come; `slow` may put it off."""
        if self.slow.puts_off(page):
            return False
        is_ours = await self._planner.claim(page)
        if not is_ours:
            self._ledger.forget(page)
        return is_ours

    async def _pages(self, document: InputFile) -> Sequence[Page]:
        """Records a document and returns those of its pages that are to be read in their turn."""
        ledger = self._ledger
        plan = await self._planner.plan(document)
        apart = {*plan.alone, *plan.last}  # read after all others, when an object is fetched again
        self._workers.spool.hold(document.path, [index for index in plan.to_read if index not in apart])
        if document.status != "ok":
            ledger.progress.document_refused(document)
            return []
        pages = [document.page(index) for index in plan.to_read]
        # Where text layers are taken first, possibly no page of a PDF needs the model.
        if pages and (document.kind != "pdf" or self._layer_use not in TAKEN_FIRST):
            self._load()  # while the first of them are rendered
        ledger.expect(pages, split("discover", document.seconds, [1] * len(pages)))
        self.alone += [(plan.alone[page.page_index], page) for page in pages if page.page_index in plan.alone]
        self.last += [page for page in pages if page.page_index in plan.last]
        return [page for page in pages if page.page_index not in apart]
