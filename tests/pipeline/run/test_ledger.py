"""A page's attempts are stored, counted and reported, also where the run ends meanwhile."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from ocr.types import ParsedText
from pipeline.config.schema import Config
from pipeline.errors import PipelineError
from pipeline.outcome.results import failed_result
from pipeline.reports.progress import Silent
from pipeline.reports.summary import RunSummary
from pipeline.run.ledger import Ledger
from pipeline.run.writer import Writer
from pipeline.stages.store import store_document
from pipeline.timing import single
from pipeline.types import InputFile, Page, PageResult
from storage.errors import DatabaseAccessError
from storage.records.store import Store
from storage.recovery.in_flight import Marker
from storage.types import PageError
from tests.pipeline.runs import WAIT_S, rows
from tests.storage.sample_records import a_run
from tests.storage.sample_records import rows as database_rows

PAGES = [Page(path="a.pdf", sha256="0" * 64, kind="pdf", page_index=index) for index in range(2)]
READ = PageResult(
    page=PAGES[0],
    status="ok",
    parsed=ParsedText(text="read", markdown="read"),
    error=None,
    confidence=0.5,
    timings=(single("decode_generate", 1.0),),
)
FAILED = failed_result(PAGES[0], PageError(stage="decode", category="internal", message="a bug"))


class Told(Silent):
    def __init__(self) -> None:
        self.done: list[str] = []
        self.rescued: list[tuple[str, str | None]] = []

    def page_done(self, result: PageResult) -> None:
        self.done.append(result.status)

    def page_rescued(self, first: PageResult, result: PageResult) -> None:
        self.rescued.append((first.status, result.rung))


@pytest.fixture
def ledger(database: str) -> Iterator[Ledger]:
    """Yields the ledger of a document of two pages that are to be read."""
    document = InputFile(path="a.pdf", sha256="0" * 64, size_bytes=1, kind="pdf", num_pages=2, status="ok")
    with Writer(database) as writer:
        run_id = writer.call(Store.start_run, a_run()).result()
        writer.call(store_document, run_id, document).result()
        summary = RunSummary(database=database, num_to_read=2)
        found = Ledger(Config(), writer, run_id, "s" * 64, Told(), summary)
        found.expect(PAGES, [single("discover", 0.25)] * 2)
        yield found


def do(work: Callable[[], Awaitable[Any]]) -> Any:
    async def flow() -> Any:
        return await work()

    return asyncio.run(flow())


def told(ledger: Ledger) -> Told:
    assert isinstance(ledger.progress, Told)
    return ledger.progress


def test_pages_that_come_while_others_are_marked_are_marked_together(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, go_on, lots = threading.Event(), threading.Event(), list[tuple[list[int], bool]]()
    real = Marker.begin_pages

    def begin_pages(self: Marker, run_id: int, pages: list[tuple[str, int]], *, alone: bool) -> None:
        entered.set()
        assert go_on.wait(WAIT_S)
        lots.append(([index for _, index in pages], alone))
        real(self, run_id, pages, alone=alone)

    monkeypatch.setattr(Marker, "begin_pages", begin_pages)
    first, second = PAGES

    async def flow() -> None:
        marking = [asyncio.create_task(ledger.begin(first))]
        while not entered.is_set():
            await asyncio.sleep(0.005)
        marking += [asyncio.create_task(ledger.begin(page)) for page in (first, second, second)]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in marking), "the model is not given what is not marked"
        go_on.set()
        await asyncio.gather(*marking)
        await ledger.begin(first, alone=True)

    do(flow)
    assert lots == [([0], False), ([0, 1, 1], False), ([0], True)]


def test_a_mark_that_fails_is_told_to_all_who_wait_and_holds_up_no_end(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise DatabaseAccessError("the disk is full")

    monkeypatch.setattr(Marker, "begin_pages", refuses)

    async def flow() -> list[BaseException | None]:
        told = await asyncio.gather(*(ledger.begin(page) for page in PAGES), return_exceptions=True)
        assert await ledger.finish() == []
        return told

    assert [type(error) for error in do(flow)] == [DatabaseAccessError] * 2


def test_the_end_of_a_run_waits_for_marks_that_nobody_waits_for(
    ledger: Ledger, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, real = threading.Event(), Marker.begin_pages

    def begin_pages(*args: Any, **keys: Any) -> None:
        assert go_on.wait(WAIT_S)
        real(*args, **keys)

    monkeypatch.setattr(Marker, "begin_pages", begin_pages)

    async def flow() -> None:
        marking = asyncio.create_task(ledger.begin(PAGES[0]))
        await asyncio.sleep(0.05)
        marking.cancel()
        await asyncio.wait((marking,))
        go_on.set()
        await ledger.finish()
        await ledger.call(Store.finish_run, ledger.run_id, exit_code=5, counts={})

    do(flow)
    assert database_rows(database, "SELECT * FROM in_flight") == []


def test_a_page_is_stored_then_counted_and_told_of(ledger: Ledger, database: str) -> None:
    do(lambda: ledger.store([READ]))
    assert (ledger.summary.pages, ledger.summary.num_left) == ({"ok": 1}, 1)
    assert (ledger.summary.num_low_confidence, ledger.summary.num_rescued) == (1, 0)
    assert (told(ledger).done, told(ledger).rescued) == (["ok"], [])
    assert [(row["status"], row["text"]) for row in rows(database)] == [("ok", "read")]


def test_a_page_whose_pictures_are_read_is_not_one_that_needed_no_reading(ledger: Ledger) -> None:
    taken = replace(READ, status="embedded", timings=(single("layer", 0.1),))
    do(lambda: ledger.store([taken]))
    assert ledger.summary.num_unread == 1
    do(lambda: ledger.store([replace(taken, page=PAGES[1], timings=(*taken.timings, single("read", 1.0)))]))
    assert (ledger.summary.pages, ledger.summary.num_unread) == ({"embedded": 2}, 1)


@pytest.mark.parametrize(
    ("attempts", "rescued"),
    [
        ([FAILED, replace(READ, rung="ngram")], [("failed", "ngram")]),
        ([replace(READ, status="repeated"), replace(READ, status="embedded", rung="layer")], [("repeated", "layer")]),
        ([READ, replace(READ, rung="ngram", confidence=0.9)], []),
        ([FAILED, replace(FAILED, rung="ngram")], []),
        ([FAILED, replace(READ, status="truncated", rung="ngram")], []),
    ],
)  # fmt: skip
def test_rescued_is_what_was_not_read_at_first_and_is_done_now(
    attempts: list[PageResult], rescued: list[tuple[str, str]], ledger: Ledger
) -> None:
    do(lambda: ledger.store(attempts))
    assert told(ledger).rescued == rescued
    assert ledger.summary.num_rescued == len(rescued)


def test_a_page_is_stored_also_where_nobody_waits_any_more(ledger: Ledger, database: str) -> None:
    go_on = threading.Event()
    ledger.writer.call(lambda store: go_on.wait(WAIT_S))

    async def flow() -> list[BaseException]:
        storing = asyncio.create_task(ledger.store([READ]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        storing.cancel()
        await asyncio.wait((storing,))
        assert storing.cancelled()
        go_on.set()
        return await ledger.finish()

    assert do(flow) == []
    assert ledger.summary.pages == {"ok": 1}
    assert rows(database)[0]["text"] == "read"


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [(DatabaseAccessError("the disk is full"), DatabaseAccessError, "full"), (KeyError("x"), PipelineError, "page 1")],
)  # fmt: skip
def test_what_cannot_be_stored_at_all_is_said_and_counts_for_nothing(
    error: Exception,
    kind: type[Exception],
    message: str,
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Store, "record_page", refuses)
    with pytest.raises(kind, match=message):
        do(lambda: ledger.store([READ]))
    assert (ledger.summary.num_pages, told(ledger).done) == (0, [])


def test_a_result_that_is_refused_is_a_failure(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Store.record_page

    def refuses(self: Store, run_id: int, *tries: Any, **limits: Any) -> int:
        if tries[0].status == "ok":
            raise ValueError("a surrogate")
        return real(self, run_id, *tries, **limits)

    monkeypatch.setattr(Store, "record_page", refuses)
    do(lambda: ledger.store([READ]))
    assert told(ledger).done == ["failed"]


def test_a_first_reading_is_stored_before_the_page_ends(ledger: Ledger, database: str) -> None:
    async def work() -> None:
        ledger.keep_first(READ)
        await ledger.finish()

    ledger.expect([PAGES[0]], [single("discover", 1.0)])
    do(work)
    sql = "SELECT a.text, a.settings_hash FROM pages p JOIN attempts a ON a.id = p.current_attempt_id"
    assert database_rows(database, sql) == [("read", f"{'s' * 64}+first")]
    assert (told(ledger).done, ledger.summary.pages.total()) == ([], 0), "its end is still to come"


@pytest.mark.parametrize("error", [ValueError("odd"), DatabaseAccessError("full")])
def test_a_first_reading_that_cannot_be_stored_harms_nothing(
    ledger: Ledger, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise error

    async def work() -> list[BaseException]:
        ledger.keep_first(READ)
        return await ledger.finish()

    monkeypatch.setattr(Store, "record_first", refuses)
    ledger.expect([PAGES[0]], [single("discover", 1.0)])
    assert do(work) == []
