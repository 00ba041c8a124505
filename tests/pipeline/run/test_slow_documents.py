"""A document whose pages time out one after the other waits for all others; every page is read once."""

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from pipeline.ingest.workers.pool import WorkerPool
from pipeline.reports.progress import Silent
from pipeline.run.discovery import IN_A_ROW, IN_ALL, SlowDocuments
from pipeline.run.runner import run
from pipeline.stop import Stop
from pipeline.types import Page, PageResult, ReadyPage
from storage.types import PageError
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import changed, rows

_LATE = PageError(stage="render", category="timeout", message="took longer than 60 s")
_BROKEN = PageError(stage="render", category="broken", message="damaged")


def _page(index: int, document: str = "a") -> Page:
    return Page(path=f"{document}.pdf", sha256=document, kind="pdf", page_index=index)


def test_two_in_a_row_end_a_document_s_turn_and_no_other_s() -> None:
    slow = SlowDocuments()
    slow.rendered(_page(0), _LATE)
    assert not slow.puts_off(_page(1))
    slow.rendered(_page(1), _LATE)
    assert [slow.puts_off(_page(index)) for index in (3, 2)] == [True, True]
    assert not slow.puts_off(_page(2, "b"))
    assert list(slow.rest()) == [_page(2), _page(3)]
    assert not slow.puts_off(_page(4)), "in the last round every page is read"


def test_a_page_between_begins_the_row_anew_but_not_for_ever() -> None:
    slow = SlowDocuments()
    for number in range(IN_ALL):
        assert not slow.puts_off(_page(2 * number))
        slow.rendered(_page(2 * number), _LATE)
        slow.rendered(_page(2 * number + 1), _BROKEN)
    assert slow.puts_off(_page(2 * IN_ALL))
    assert IN_A_ROW < IN_ALL


def test_documents_that_were_put_off_take_turns() -> None:
    slow = SlowDocuments()
    for document in "ab":
        for index in range(2):
            slow.rendered(_page(index, document), _LATE)
    for page in (_page(2, "a"), _page(3, "a"), _page(4, "a"), _page(2, "b")):
        assert slow.puts_off(page)
    assert list(slow.rest()) == [_page(2, "a"), _page(2, "b"), _page(3, "a"), _page(4, "a")]


def test_the_rest_of_a_costly_document_is_read_last(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    batch.pdf("0-costly.pdf", ["costly"] * 12)
    for number in range(6):
        batch.pdf(f"{number + 1}-good.pdf", [f"good {number}"])
    render, order = WorkerPool.render, []

    def rendered(self: WorkerPool, page: Page, **how: Any) -> "Future[ReadyPage | PageError]":
        if Path(page.path).name != "0-costly.pdf":
            return render(self, page, **how)
        late: Future[ReadyPage | PageError] = Future()
        late.set_result(_LATE)
        return late

    class Told(Silent):
        def page_done(self, result: PageResult) -> None:
            order.append(Path(result.page.path).name)

    monkeypatch.setattr(WorkerPool, "render", rendered)
    one_worker = changed(batch.config, render={"workers": 1})
    summary = run(one_worker, Told(), Stop())
    assert summary.pages == {"failed": 12, "ok": 6}
    assert len(rows(batch.database)) == 18
    # What two workers' worth of pages was under way, and then the others.
    assert order.index("6-good.pdf") < order.index("0-costly.pdf", 4)
    assert set(order[-8:]) == {"0-costly.pdf"}
