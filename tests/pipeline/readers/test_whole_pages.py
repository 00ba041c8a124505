"""A model's reading of a page and the words that are found beside it become one result."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pipeline.errors import WorkersError
from pipeline.outcome.doubt import NONE_READ
from pipeline.readers.whole_pages import WholePages
from pipeline.types import PageResult, RenderedPage, SeenWords
from storage.types import PageError
from tests.pipeline.rereading.readings import read, rendered

PAGE = replace(rendered(), ink=np.zeros((4, 5), np.uint8))


def reading(
    finding: Future[SeenWords],
    read_page: Callable[..., Any],
    dropped: Callable[[int], None],
    placed: PageError | None = None,
) -> PageResult:
    """What becomes of PAGE while its words are looked for; placed: how giving them places fails."""

    class Parts:
        """A model, what finds words, and the workers that place them."""

        async def read(
            self, asked: RenderedPage, dropped: Callable[[int], None], *_: Any, **__: Any
        ) -> PageResult:
            assert asked.ink is None
            return await read_page(dropped)  # type: ignore[no-any-return]

        def words(self, asked: Any, seen: SeenWords | None = None) -> Future[Any]:
            if seen is None:
                assert asked.ink is not None
                return finding
            future: Future[PageResult | PageError] = Future()
            future.set_result(asked if placed is None else placed)
            return future

    parts: Any = Parts()
    return asyncio.run(WholePages(parts, parts, parts).read(PAGE, dropped))


def test_words_are_found_while_a_model_reads_and_a_page_s_bytes_count_until_then() -> None:
    finding: Future[SeenWords] = Future()
    released: list[int] = []

    async def read_page(dropped: Callable[[int], None]) -> PageResult:
        dropped(7)
        await asyncio.sleep(0.01)
        assert not released, "the words are not found yet"
        finding.set_result(SeenWords())
        await asyncio.sleep(0.01)
        assert released == [7]
        return read("text")

    assert reading(finding, read_page, released.append).status == "ok"
    assert released == [7]


def with_words(
    found: SeenWords | WorkersError, result: PageResult, placed: PageError | None = None
) -> PageResult:
    finding = Future[SeenWords]()
    if isinstance(found, WorkersError):
        finding.set_exception(found)
    else:
        finding.set_result(found)

    async def read_page(dropped: Callable[[int], None]) -> PageResult:
        return result

    return reading(finding, read_page, lambda num_bytes: None, placed)


def test_without_processes_that_look_for_words_the_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    result = with_words(WorkersError("they do not start"), read("text", confidence=0.9))
    assert result.status == "ok"
    assert "words stay without boxes: they do not start" in caplog.text


def test_a_page_whose_words_crash_their_worker_fails_alone() -> None:
    error = PageError(stage="place", category="crash", message="placing the page's text crashed its worker")
    result = with_words(SeenWords(), read("text", confidence=0.9), error)
    assert (result.status, result.error) == ("failed", error)


@pytest.mark.parametrize(("shows_print", "status"), [(True, "doubtful"), (False, "blank")])
def test_a_page_of_pictures_alone_is_doubtful_where_print_was_seen(shows_print: bool, status: str) -> None:
    result = with_words(SeenWords(shows_print=shows_print), replace(read(""), status="blank"))
    assert (result.status, result.doubt) == (status, NONE_READ if shows_print else None)


def test_a_page_waits_for_those_of_its_prompt_unless_they_are_left_out() -> None:
    pages = [replace(PAGE.page, page_index=number) for number in range(3)]
    begun: list[tuple[int, object]] = []

    class Model:
        async def read(self, page: RenderedPage, *_: Any, lot: object, **__: Any) -> PageResult:
            begun.append((page.page.page_index, lot))
            return read("text")

    async def run() -> None:
        model: Any = Model()
        reader = WholePages(model, None, model)
        reader.expect(pages)
        reader.expect(pages[:1])  # alone, it waits for nothing
        reading = [
            asyncio.create_task(reader.read(replace(rendered(), page=pages[number]))) for number in (1, 0)
        ]
        await asyncio.sleep(0.01)
        assert not begun
        reader.leave_out(pages[2])
        await asyncio.gather(*reading)
        reader.leave_out(pages[0])
        await reader.read(replace(rendered(), page=pages[0]))

    asyncio.run(run())
    assert [number for number, _ in begun] == [1, 0, 0]
    assert begun[0][1] is begun[1][1] is not None
    assert begun[2][1] is None
