"""What the run does with what its workers say: each page is stored once, and a lost worker's pages go to others."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import closing
from typing import Any

import pytest

from pipeline.cluster.leases import Leases
from pipeline.cluster.request_handler import RequestHandler
from pipeline.cluster.worker_status import WorkerStatus
from pipeline.config.schema import Config
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import Candidate
from pipeline.outcome.results import failed_result
from pipeline.reports.progress import Silent
from pipeline.reports.summary import RunSummary
from pipeline.run.ledger import Ledger
from pipeline.run.writer import Writer
from pipeline.stages.store import store_page
from pipeline.timing import single
from pipeline.types import InputFile, Page
from storage.records.store import Store
from tests.storage.sample_records import FAILURE, SHA_A, a_run, rows

PAGE = Page(path="/in/a.pdf", sha256=SHA_A, kind="pdf", page_index=0)
DOCUMENT = InputFile(path=PAGE.path, sha256=SHA_A, size_bytes=1, kind="pdf", num_pages=2, status="ok")


class Played:
    """A handler with one file of two pages, and the run's database behind it."""

    def __init__(self, database: str, writer: Writer, inputs: Inputs) -> None:
        self.database, self.summary = database, RunSummary(database=database)
        self.run_id = writer.call(Store.start_run, a_run()).result()
        self.settings = "s" * 64
        ledger = Ledger(Config(), writer, self.run_id, self.settings, Silent(), self.summary)
        self.leases, self.status = Leases(inputs), WorkerStatus()
        self.handler = RequestHandler(ledger, self.leases, self.status)
        for worker in (0, 1):
            self.status.began(worker)

    async def begun(self, worker: int) -> None:
        """Has a worker take the file, and begin its first page."""
        assert [found.path for found in await self.handler.take(worker, 1)] == [PAGE.path]
        plan = await self.handler.plan(worker, DOCUMENT)
        assert plan.to_read == (0, 1)
        assert await self.handler.claim(worker, (SHA_A, 0))
        await self.handler.begin(worker, [(SHA_A, 0)], alone=False)

    def stored(self, worker: int) -> Coroutine[Any, Any, Any]:
        """Has a worker store the first page."""
        attempt = failed_result(PAGE, FAILURE, (single("render", 0.1),))
        arguments = (self.run_id, self.settings, attempt)
        return self.handler.call(worker, store_page, *arguments, attempt_limit=3)


@pytest.fixture
def played(database: str) -> Iterator[Played]:
    with (
        Writer(database) as writer,
        closing(Inputs(iter([Candidate(path=PAGE.path, relative="a")]))) as inputs,
    ):
        yield Played(database, writer, inputs)


def test_a_page_that_two_workers_read_is_stored_once(played: Played) -> None:
    """As where one was taken for lost, and was only slow."""

    async def play() -> None:
        await played.begun(0)
        await played.stored(0)
        await played.stored(1)

    asyncio.run(play())
    assert rows(played.database, "SELECT count(*) FROM attempts") == [(1,)]
    assert played.summary.pages == {"failed": 1}
    assert [played.status.num_stored(worker) for worker in (0, 1)] == [1, 0]


def test_a_lost_worker_s_pages_are_there_for_others_at_once(played: Played) -> None:
    async def play() -> None:
        await played.begun(0)
        await played.stored(0)
        assert played.leases.num_waiting(0) == 1
        assert await played.handler.lost(0) == 0
        assert not played.leases.is_done
        assert played.leases.num_waiting(0) == 0
        taking = asyncio.create_task(played.handler.take(1, 1))
        for _ in range(100):  # as many turns of the loop, and no time: it waits for nothing
            await asyncio.sleep(0)
        assert taking.done(), "nobody gets them"
        assert [found.path for found in taking.result()] == [PAGE.path]
        plan = await played.handler.plan(1, DOCUMENT)
        assert plan.to_read == (1,)

    asyncio.run(play())
