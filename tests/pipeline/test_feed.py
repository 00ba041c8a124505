"""The feed over workers that run in this process, so that every interleaving is ours to choose."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.views import PageViews
from ocr.parts.plan import MAX_PARTS, MAX_TILES
from pipeline.errors import StopRequest
from pipeline.feed import PROBES_AHEAD, Feed, Taken, heaviest_page_bytes
from pipeline.stages.settings import TileSettings
from pipeline.types import Document, Page, PageError, RenderedPage
from pipeline.walk import Candidate

PAGE_BYTES = 1000


def document(path: str, num_pages: int) -> Document:
    return Document(
        path=path, sha256=path, size_bytes=1, kind="pdf", num_pages=num_pages, status="ok", seconds=1.0
    )


def rendered(page: Page, num_bytes: int, blank: bool = False) -> RenderedPage:
    views = PageViews(
        global_view=np.zeros(num_bytes, dtype=np.uint8), local_views=np.zeros(0, dtype=np.uint8), grid=(1, 1)
    )
    return RenderedPage(
        page=page, views=views, width_px=1, height_px=1, dpi=None, blank=blank, seconds={"render": 0.1}
    )


class InlineWorkers:
    """Finishes a page at once: pages 0, 1, 2, ... are 1 to PAGE_BYTES big, every 5th blank, every 7th fails."""

    def __init__(self) -> None:
        self.feed: Feed | None = None
        self.most_bytes = self.most_probes = 0
        self.rendered: list[Page] = []

    def probe(self, path: str) -> Future[Document]:
        future: Future[Document] = Future()
        future.set_result(document(path, int(path)))
        return future

    def render(self, page: Page) -> Future[RenderedPage | PageError]:
        self.rendered.append(page)
        assert self.feed is not None
        self.most_bytes = max(self.most_bytes, self.feed.held_bytes + PAGE_BYTES)
        number = page.page_index
        future: Future[RenderedPage | PageError] = Future()
        if number % 7 == 6:
            future.set_result(PageError(stage="render", category="broken", message="it is"))
        else:
            future.set_result(rendered(page, 1 + number * 37 % PAGE_BYTES, blank=number % 5 == 4))
        return future


def pages_of(found: Document) -> Sequence[Page]:
    assert found.sha256 is not None
    return [
        Page(path=found.path, sha256=found.sha256, kind="pdf", page_index=index)
        for index in range(found.num_pages)
    ]


def make_feed(inputs: Iterator[Candidate | Document], workers: InlineWorkers, budget_bytes: int) -> Feed:
    workers.feed = Feed(
        inputs,
        workers,
        plan=pages_of,
        check=lambda: None,
        budget_bytes=budget_bytes,
        page_bytes=PAGE_BYTES,
    )
    return workers.feed


def drain(feed: Feed, num_pages: int) -> list[Taken]:
    batches = []
    while taken := feed.take(num_pages):
        batches.append(taken)
    return batches


@given(
    st.lists(st.integers(0, 40), max_size=6),
    st.integers(1, 9),
    st.integers(1, 20 * PAGE_BYTES),
)
def test_every_page_comes_once_within_the_budget(lengths: list[int], batch: int, budget_bytes: int) -> None:
    inputs = iter([Candidate(path=str(length), relative="") for length in lengths])
    workers = InlineWorkers()
    batches = drain(make_feed(inputs, workers, budget_bytes), batch)
    to_read = [item.page for taken in batches for item in taken.to_read]
    ended = [item.page for taken in batches for item in taken.ended]
    expected = [page for length in lengths for page in pages_of(document(str(length), length))]
    assert sorted(map(str, to_read + ended)) == sorted(map(str, expected))
    assert all(len(taken.to_read) <= batch for taken in batches)
    assert workers.most_bytes <= max(budget_bytes, PAGE_BYTES)


def test_blank_and_failed_pages_never_reach_the_model() -> None:
    workers = InlineWorkers()
    batches = drain(make_feed(iter([document("35", 35)]), workers, 10**6), 8)
    assert all(not item.blank for taken in batches for item in taken.to_read)
    by_status: dict[str, set[int]] = {"blank": set(), "failed": set()}
    for taken in batches:
        for result in taken.ended:
            by_status[result.status].add(result.page.page_index)
    assert by_status["failed"] == {6, 13, 20, 27, 34}
    assert by_status["blank"] == {4, 9, 14, 19, 24, 29} - by_status["failed"]


def test_full_batches_while_there_are_pages() -> None:
    pages = [page for page in range(40) if page % 5 != 4 and page % 7 != 6]
    batches = drain(make_feed(iter([document("40", 40)]), InlineWorkers(), 10**6), 8)
    sizes = [len(taken.to_read) for taken in batches]
    assert sum(sizes) == len(pages)
    assert sizes.count(8) >= len(pages) // 8 - 1


def test_files_are_not_walked_far_ahead() -> None:
    walked = 0

    def inputs() -> Iterator[Candidate | Document]:
        nonlocal walked
        for _ in range(10_000):
            walked += 1
            yield Candidate(path="3", relative="")

    make_feed(inputs(), InlineWorkers(), 4 * PAGE_BYTES).take(2)
    assert walked < 10 * PROBES_AHEAD


def test_a_slow_page_does_not_hold_up_those_that_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.feed.POLL_S", 0.01)
    monkeypatch.setattr("pipeline.feed.PATIENCE_S", 0.05)

    class OneHangs(InlineWorkers):
        def render(self, page: Page) -> Future[RenderedPage | PageError]:
            return Future() if page.page_index == 1 else super().render(page)

    taken = make_feed(iter([document("4", 4)]), OneHangs(), 10**6).take(8)
    assert [item.page.page_index for item in taken.to_read] == [0, 2, 3]


def test_a_stop_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.feed.POLL_S", 0.01)

    class Hangs(InlineWorkers):
        def render(self, page: Page) -> Future[RenderedPage | PageError]:
            return Future()

    checks = iter(range(5))

    def check() -> None:
        if next(checks, None) is None:
            raise StopRequest("SIGTERM")

    workers = Hangs()
    feed = Feed(
        iter([document("4", 4)]),
        workers,
        plan=pages_of,
        check=check,
        budget_bytes=9000,
        page_bytes=PAGE_BYTES,
    )
    with pytest.raises(StopRequest):
        feed.take(8)


def test_the_heaviest_page() -> None:
    assert heaviest_page_bytes(TileSettings(mode="gundam", max_tiles=6)) == 3 * (1024**2 + 6 * 640**2)
    assert heaviest_page_bytes(TileSettings(mode="tiny", max_tiles=6)) == 3 * 512**2
    in_parts = heaviest_page_bytes(TileSettings(mode="gundam", max_tiles=6, parts=True))
    assert in_parts == 3 * (MAX_PARTS * 1024**2 + MAX_TILES * 640**2)
