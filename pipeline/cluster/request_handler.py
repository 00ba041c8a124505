"""Answers a run's workers: hands out files, plans documents, marks and stores pages, and counts."""

import asyncio
import dataclasses
import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.cluster.leases import Leases
from pipeline.cluster.worker_messages import LoadedOn
from pipeline.cluster.worker_status import WorkerStatus
from pipeline.ingest.seen_names import SeenNames
from pipeline.ingest.walk import Candidate, Found
from pipeline.run.discovery import Planning
from pipeline.run.ledger import Ledger, count_page
from pipeline.stages.store import store_first, store_page
from pipeline.types import InputFile, PageResult, Phase
from storage.records.store import Store
from storage.types import PagePlan

LOGGER = logging.getLogger("ocrbatch")
_STORING = (store_page, store_first, Store.put_off)
_PHASES: tuple[Phase, ...] = ("reading", "loading the model", "loading the line reader", "inspecting files")
_Key = tuple[str, int]


class RequestHandler:
    """The run's side of all workers' lines. For one event loop."""

    def __init__(
        self,
        ledger: Ledger,
        leases: Leases,
        status: WorkerStatus,
        when_loaded: Callable[[LoadedOn], None] | None = None,
    ) -> None:
        self._ledger, self._leases, self._status = ledger, leases, status
        self._when_loaded = when_loaded
        self._planning = Planning(ledger)
        self._planned, self._said = SeenNames(), SeenNames()
        self._marks: dict[int, set[_Key]] = defaultdict(set)

    async def started(self, worker: int, where: str) -> None:
        """Notes a worker's first message. where: its machine, and its GPU if it has one of its own."""
        self._status.stands(worker, where)

    async def loaded(self, worker: int, on: LoadedOn) -> None:
        """Notes that a worker's model is loaded."""
        if self._when_loaded is not None:
            self._when_loaded(on)

    async def at_work(self, worker: int, phase: Phase, num_tokens: int) -> None:
        """Notes what a worker does, and the tokens that it wrote so far."""
        self._status.at_work(worker, phase, num_tokens)

    async def said(self, worker: int, level: int, message: str) -> None:
        """Logs a worker's message for its user: once, though many workers say it."""
        if self._said.add(message):
            LOGGER.log(level, "%s", message)

    async def known(self, worker: int, found: Candidate) -> InputFile | None:
        """Returns the document of a file that has not changed since a run looked into it; None: it is not known."""
        return await self._planning.known(found)

    async def claim(self, worker: int, page: _Key) -> bool:
        """Returns whether a page (sha256, page_index) whose turn has come is still this worker's to read."""
        return self._leases.claim(worker, *page)

    async def begin(self, worker: int, pages: Sequence[_Key], *, alone: bool) -> None:
        """Marks pages as being read. alone: the worker reads nothing else."""
        marking = self._ledger.writer.begin(self._ledger.run_id, pages, alone=alone)
        self._marks[worker].update(pages)
        await asyncio.wrap_future(marking)

    async def end_marks(self, worker: int) -> None:
        """Removes the marks of all pages that a worker began: it ends in order."""
        for key in self._marks.pop(worker, set()):
            await self._ledger.call(Store.put_off, self._ledger.run_id, *key)

    async def lost(self, worker: int) -> int:
        """Gives a lost worker's pages to others, and blames those that it was reading; returns how many those are."""
        self._leases.lost(worker)
        pages = sorted(self._marks.pop(worker, set()))
        if pages:
            await self._ledger.call(Store.lose_worker, self._ledger.run_id, pages)
        return len(pages)

    def show(self) -> None:
        """Reports what all workers do."""
        phases = self._status.phases()
        phase: Phase = next((one for one in _PHASES if one in phases), "inspecting files")
        self._ledger.progress.at_work(phase, self._status.num_tokens())

    async def take(self, worker: int, most: int) -> list[Found]:
        """Returns files to read, at most so many; none means that there are no more."""
        self._status.waits(worker, is_waiting=True)
        try:
            return await self._leases.take(worker, most)
        finally:
            self._status.waits(worker, is_waiting=False)

    async def plan(self, worker: int, document: InputFile) -> PagePlan:
        """Records a document and returns the plan of its pages, with those to read that are this worker's."""
        ledger, again = self._ledger, not self._planned.add(document.path)
        plan = await self._planning.plan(document, again=again)
        apart = {*plan.alone, *plan.last}
        mine = self._leases.planned(
            worker, document.path, document.sha256, plan.to_read, apart=apart, again=again
        )
        if not again:
            if document.status != "ok":
                ledger.progress.document_refused(document)
            ledger.progress.pages_found(len(plan.to_read))
        if self._leases.is_over:
            ledger.progress.all_found()
        return dataclasses.replace(plan, to_read=tuple(mine))

    async def call(self, worker: int, task: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Runs task(store, ...) and returns its result."""
        if task not in _STORING:
            raise TypeError(f"workers do not call {task}")
        if task is Store.put_off:
            self._marks[worker].discard((args[1], args[2]))
            self._leases.put_off(worker, args[1], args[2])
            return await self._ledger.call(task, *args, **kwargs)
        attempts: tuple[PageResult, ...] = args[2:]
        page = attempts[0].page
        if self._leases.is_stored(page.sha256, page.page_index):
            return None  # a row is never written twice
        await self._ledger.call(task, *args, **kwargs)
        if task is store_first:
            return None
        self._leases.stored(page.sha256, page.page_index)
        self._marks[worker].discard((page.sha256, page.page_index))
        self._status.stored(worker)
        count_page(self._ledger.config, self._ledger.summary, self._ledger.progress, attempts)
        return None
