"""Discovers the pages a run has to read: probes the input files, records them and leaves out pages that are done."""

import asyncio
import dataclasses
from collections.abc import Callable, Sequence

from pipeline.config.page_selection import select_pages
from pipeline.config.schema import layer_use
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import Candidate, Found
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.run.ledger import Ledger
from pipeline.stages.store import store_document
from pipeline.timing import split
from pipeline.types import TAKEN_FIRST, Document, Page
from storage.records.store import Store
from storage.types import PagePlan

# Most files being probed at a time.
PROBES_AHEAD = 16


class Discovery:
    """Turns input files into pages to read. Use it from the event loop's thread only.

    workers: probe the files. load: starts loading the model, called once there is something to read.

    After all files were probed, two lists hold the pages that must be read after all others. last: pages that the model
    had when one run died; they are read together. alone: pages that were being computed when the model was lost, or
    that it had when several runs died; they are read one by one, so that only the culprit is blamed again. With each of
    these comes how often that happened: the least suspect go first, so that the culprit does not block them for ever.
    """

    def __init__(self, ledger: Ledger, workers: WorkerPool, load: Callable[[], None]) -> None:
        self._ledger, self._workers, self._load = ledger, workers, load
        self._config = ledger.config
        self._layer_use = layer_use(ledger.config)
        self.last: list[Page] = []
        self.alone: list[tuple[int, Page]] = []
        self._planned: set[str] = set()

    async def all(self, inputs: Inputs, pages: "asyncio.Queue[Page | None]") -> None:
        """Puts the pages to read into the queue, and None after the last.

        Files are probed in the order they were found, at most PROBES_AHEAD at a time.
        """
        room = asyncio.Semaphore(PROBES_AHEAD)

        async def look_into(found: Found) -> None:
            try:
                for page in await self._pages(found):
                    await pages.put(page)
            finally:
                room.release()

        async with asyncio.TaskGroup() as tasks:
            while (found := await asyncio.wrap_future(inputs.take())) is not None:
                await room.acquire()
                tasks.create_task(look_into(found))
        await pages.put(None)

    async def _pages(self, found: Found) -> Sequence[Page]:
        """Records a document and returns those of its pages that are to be read in their turn."""
        ledger = self._ledger
        document = found if isinstance(found, Document) else await self._probed(found)
        ledger.summary.documents[document.status] += 1
        await ledger.call(store_document, ledger.run_id, document)
        if document.status != "ok":
            ledger.progress.document_refused(document)
            return []
        assert document.sha256 is not None
        assert document.kind is not None
        if document.sha256 in self._planned:  # a copy of a file: its pages share the same rows
            return []
        self._planned.add(document.sha256)
        plan = await self._plan(document.sha256, document.num_pages)
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
        # Where text layers are taken first, possibly no page of a PDF needs the model.
        if pages and (document.kind == "image" or self._layer_use not in TAKEN_FIRST):
            self._load()  # while the first of them are rendered
        ledger.expect(pages, split("discover", document.seconds, [1] * len(pages)))
        self.alone += [(plan.alone[page.page_index], page) for page in pages if page.page_index in plan.alone]
        self.last += [page for page in pages if page.page_index in plan.last]
        apart = {*plan.alone, *plan.last}
        return [page for page in pages if page.page_index not in apart]

    async def _plan(self, sha256: str, num_pages: int) -> PagePlan:
        ingest, summary = self._config.ingest, self._ledger.summary
        wanted, num_left_out = select_pages(num_pages, ingest.pages, ingest.max_pages_per_document)
        plan: PagePlan = await self._ledger.call(
            Store.plan_pages,
            sha256,
            wanted,
            self._ledger.settings_hash,
            attempt_limit=self._config.store.attempt_limit,
            force=self._config.run.force,
            retry_failed=self._config.run.retry_failed,
        )
        summary.num_left_out += num_left_out
        summary.num_done_before += len(plan.done)
        summary.num_given_up += len(plan.given_up) - len(plan.kept)
        summary.num_kept += len(plan.kept)
        summary.num_doubtful_before += len(plan.doubtful)
        return plan

    async def _probed(self, candidate: Candidate) -> Document:
        document = await asyncio.wrap_future(self._workers.probe(candidate.path))
        return dataclasses.replace(document, given=candidate.given)
