"""Answers a run's workers: hands out files, plans documents, marks and stores pages, and counts."""

import asyncio
import dataclasses
import logging
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from pipeline.cluster.leases import Leases
from pipeline.cluster.worker_messages import (
    AtWork,
    Begin,
    Call,
    Claim,
    EndMarks,
    Known,
    LoadedOn,
    Plan,
    Request,
    Said,
    Started,
    Take,
)
from pipeline.cluster.worker_status import WorkerStatus
from pipeline.ingest.seen_names import SeenNames
from pipeline.ingest.walk import Found
from pipeline.run.discovery import Planning
from pipeline.run.ledger import Ledger, count_page
from pipeline.stages.store import store_first, store_page
from pipeline.types import Document, PageResult, Phase
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

    async def answer(self, worker: int, request: Request) -> Any:
        """Handles one worker request and returns its reply. Raises what that raises."""
        match request:
            case Take():
                return await self._take(worker, request.most)
            case Known():
                return await self._planning.known(request.found)
            case Plan():
                return await self._plan(worker, request.document)
            case Claim():
                return self._leases.claim(worker, *request.page)
            case Call():
                return await self._call(worker, request)
            case Begin():
                ledger = self._ledger
                marking = ledger.writer.begin(ledger.run_id, request.pages, alone=request.alone)
                self._marks[worker].update(request.pages)
                await asyncio.wrap_future(marking)
            case EndMarks():
                for key in self._marks.pop(worker, set()):
                    await self._ledger.call(Store.put_off, self._ledger.run_id, *key)
            case Started():
                self._status.stands(worker, request.where)
            case LoadedOn() if self._when_loaded is not None:
                self._when_loaded(request)
            case AtWork():
                self._status.at_work(worker, request)
            case Said() if self._said.add(request.message):  # once, though many workers say it
                LOGGER.log(request.level, "%s", request.message)
        return None

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

    async def _take(self, worker: int, most: int) -> list[Found]:
        self._status.waits(worker, is_waiting=True)
        try:
            return await self._leases.take(worker, most)
        finally:
            self._status.waits(worker, is_waiting=False)

    async def _plan(self, worker: int, document: Document) -> PagePlan:
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

    async def _call(self, worker: int, call: Call) -> Any:
        if call.task not in _STORING:
            raise TypeError(f"workers do not call {call.task}")
        if call.task is Store.put_off:
            self._marks[worker].discard((call.args[1], call.args[2]))
            self._leases.put_off(worker, call.args[1], call.args[2])
            return await self._ledger.call(call.task, *call.args, **call.kwargs)
        attempts: tuple[PageResult, ...] = call.args[2:]
        page = attempts[0].page
        if self._leases.is_stored(page.sha256, page.page_index):
            return None  # a row is never written twice
        await self._ledger.call(call.task, *call.args, **call.kwargs)
        if call.task is store_first:
            return None
        self._leases.stored(page.sha256, page.page_index)
        self._marks[worker].discard((page.sha256, page.page_index))
        self._status.stored(worker)
        count_page(self._ledger.config, self._ledger.summary, self._ledger.progress, attempts)
        return None
