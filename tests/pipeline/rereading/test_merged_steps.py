"""Which pages are read again, and which reading is kept."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from pipeline.config.retry_steps import Step, steps_of
from pipeline.config.schema import Config, render_settings
from pipeline.rereading.comparing import without_scrap
from pipeline.rereading.joining import join
from pipeline.rereading.merged_steps import merged_steps
from pipeline.rereading.retry import PageState, RetryStep, Tools, retry
from pipeline.types import EmbeddedPage, Page, PageResult, PageStatus, ReadablePage, ReadyPage, RenderedPage
from storage.types import PageError, StageTiming
from tests.pipeline.rereading.test_joining import PAGE, divided, read, rendered

DECODE = StageTiming(stage="decode_generate", share_s=2.0, wall_s=2.0)
TWO_CROPS = divided((0, 0), (0, 500))


UNREADABLE = PageError(stage="render", category="unreadable", message="the file is gone")


class Model:
    """Answers with given results, and counts what it was asked."""

    def __init__(
        self, fine: ReadyPage | PageError, *results: PageResult, whole: ReadyPage | PageError = UNREADABLE
    ) -> None:
        self.fine, self.whole, self.results = fine, whole, list(results)
        self.rendered: list[str] = []

    def render(self, page: Page, step: Step) -> Future[ReadyPage | PageError]:
        assert page == PAGE
        assert step.tile.fine == step.tile.crops
        self.rendered.append("fine" if step.tile.fine else "whole")
        return done(self.fine if step.tile.fine else self.whole)

    async def read(self, crops: Sequence[RenderedPage], step: Step) -> list[PageResult]:
        await asyncio.sleep(0)
        taken, self.results = self.results[: len(crops)], self.results[len(crops) :]
        assert len(taken) == len(crops)
        return taken

    def look(self, *first: PageResult, page: ReadyPage | None = None, below: float = 0.9) -> PageResult:
        ready = page or rendered()
        assert not isinstance(ready, EmbeddedPage)
        state = PageState(ready=ready, readings=first, attempts=[join(ready, first)])
        steps = merged(self.render, self.read, below)
        is_wanted = any(step.applies(state) for step in steps)
        asyncio.run(retry(state, steps))
        assert is_wanted == bool(self.rendered)
        (found,) = state.attempts
        found = found if ready.shows_print else without_scrap(found, below)
        assert not self.results, "everything was read"
        return found


def merged(render: Any, read: Any, below: float) -> Sequence[RetryStep]:
    config = Config(reader="page")
    first = steps_of(config, "pdf", render_settings(config))[0]
    return merged_steps(Tools(render=render, read=read, judge=never_judged), first, below)


def never_judged(ready: ReadablePage) -> Future[ReadablePage | PageError]:
    raise AssertionError("no layer is asked for")


def done(page: ReadyPage | PageError) -> Future[ReadyPage | PageError]:
    future: Future[ReadyPage | PageError] = Future()
    future.set_result(page)
    return future


def text(result: PageResult) -> str:
    assert result.parsed is not None
    return result.parsed.text


def seconds(result: PageResult) -> dict[str, float]:
    stages = [timing.stage for timing in result.timings]
    assert len(stages) == len(set(stages)), "one timing a stage"
    return {timing.stage: timing.share_s for timing in result.timings}


@pytest.mark.parametrize(("confidence", "below"), [(0.9, 0.9), (0.95, 0.9), (0.1, 0.0), (None, 0.9)])
def test_a_page_that_is_not_doubtful_is_left_alone(confidence: float | None, below: float) -> None:
    model, first = Model(TWO_CROPS), read("all of it", confidence=confidence)
    assert model.look(first, below=below) is first
    assert model.rendered == []


def test_the_better_reading_is_kept_with_the_time_of_both() -> None:
    model = Model(
        TWO_CROPS,
        read("upper", confidence=0.97, timings=(DECODE,)),
        read("lower", confidence=0.95, timings=(DECODE,)),
    )
    kept = model.look(read("up up up", confidence=0.5, timings=(DECODE,)))
    assert model.rendered == ["fine"]
    assert text(kept) == "upper\n\nlower"
    assert kept.confidence == pytest.approx(0.96)
    assert seconds(kept)["decode_generate"] == 6.0


def test_a_second_reading_that_is_no_better_is_dropped() -> None:
    model = Model(TWO_CROPS, read("upper", confidence=0.5), read("lower", confidence=0.6))
    assert text(model.look(read("all of it", confidence=0.8))) == "all of it"


def test_a_reading_to_its_end_wins_over_one_that_repeats_itself() -> None:
    model = Model(TWO_CROPS, read("upper", confidence=0.6), read("lower", confidence=0.6))
    assert model.look(read("up up up", "repeated", confidence=0.8)).status == "ok"
    model = Model(TWO_CROPS, read("upper", "repeated", confidence=0.9), read("lower", confidence=0.9))
    assert model.look(read("all of it", confidence=0.8)).status == "ok"


def test_a_reading_that_did_not_end_is_doubtful_however_sure() -> None:
    again = read("upper", confidence=0.91), read("lower", confidence=0.91)
    first = read("up up up", "repeated", confidence=0.95)
    assert text(Model(TWO_CROPS, *again).look(first)) == "upper\n\nlower"
    assert Model(TWO_CROPS).look(first, below=0.0) is first


def test_of_a_page_in_crops_only_the_doubtful_crop_is_read_again() -> None:
    fine = replace(divided((0, 0), (0, 1000), (0, 1500), within=(0, 1, 1)), width_px=2000, height_px=4000)
    model = Model(
        fine,
        read("third", confidence=0.98, timings=(DECODE,)),
        read("fourth", confidence=0.98, timings=(DECODE,)),
    )
    first = [read("upper", confidence=0.95, timings=(DECODE,)), read("lo lo lo", confidence=0.4, timings=())]
    kept = model.look(*first, page=TWO_CROPS)
    assert text(kept) == "upper\n\nthird\n\nfourth"
    assert kept.parsed is not None
    # The second rendering had twice the resolution.
    boxes = [block.box_px for block in kept.parsed.blocks]
    assert boxes == [(10, 20, 60, 40), (5, 510, 30, 520), (5, 760, 30, 770)]
    assert (kept.width_px, kept.height_px) == (1000, 2000)
    assert seconds(kept) == {"render": 1.0, "tile": 0.5, "decode_generate": 6.0}
    assert model.rendered == ["fine"]


def test_a_crop_that_cannot_be_cut_further_is_not_read_again() -> None:
    model = Model(divided((0, 0), (0, 500), within=(0, 1)))
    assert text(model.look(read("upper"), read("lower", confidence=0.8), page=TWO_CROPS)) == "upper\n\nlower"
    assert model.rendered == ["fine", "whole"]


def test_a_page_that_is_doubtful_in_crops_is_read_whole() -> None:
    fine = divided((0, 0), (0, 200), (0, 500), within=(0, 0, 1))
    again = read("first", confidence=0.3), read("second", confidence=0.3)
    model = Model(fine, *again, read("all of it", confidence=0.85), whole=rendered())
    first = read("up up up", confidence=0.5), read("lower", confidence=0.9)
    assert text(model.look(*first, page=TWO_CROPS)) == "all of it"
    model = Model(fine, *again, read("all of it", confidence=0.6), whole=rendered())
    assert text(model.look(*first, page=TWO_CROPS)) == "up up up\n\nlower"


def test_a_page_in_crops_that_cannot_be_cut_further_is_read_whole() -> None:
    model = Model(rendered(), read("all of it", confidence=0.95), whole=rendered())
    first = read("up up up", confidence=0.5), read("lower", confidence=0.9)
    assert text(model.look(*first, page=TWO_CROPS)) == "all of it"


@pytest.mark.parametrize("again", [rendered(), UNREADABLE])
def test_a_page_that_cannot_be_cut_keeps_its_first_reading(again: ReadyPage | PageError) -> None:
    first = read("all of it", confidence=0.3)
    assert Model(again).look(first) is first


@pytest.mark.parametrize(
    ("written", "confidence", "status"),
    [("12\n\n2\n2", 0.4, "blank"), ("1", 0.8, "blank"), ("1", 0.95, "ok"), ("No. 2", 0.4, "ok")],
)
def test_a_doubtful_scrap_is_no_text(written: str, confidence: float, status: str) -> None:
    kept = Model(UNREADABLE).look(read(written, confidence=confidence))
    assert kept.status == status
    assert text(kept) == ("" if status == "blank" else written)


@pytest.mark.parametrize(
    "nothing",
    [
        read("", "blank", confidence=None),
        read("1 1", confidence=0.3),
        read("", "truncated", confidence=None),
        read("", "ok", confidence=0.95),
    ],
)
@pytest.mark.parametrize("status", ["truncated", "repeated"])
def test_a_reading_of_nothing_hides_no_text(status: PageStatus, nothing: PageResult) -> None:
    """Neither one of small crops, nor one of the page that was read in crops, nor one of a crop."""
    first = read("half of it", status, confidence=0.3)
    assert text(Model(TWO_CROPS, nothing, nothing).look(first)) == "half of it"
    whole = Model(rendered(), nothing, whole=rendered())
    kept = whole.look(first, read("", "blank", confidence=None), page=TWO_CROPS)
    assert (kept.status, text(kept)) == (status, "half of it")
    fine = divided((0, 0), (0, 200), (0, 500), within=(0, 0, 1))
    kept = Model(fine, nothing, nothing).look(first, read("lower", confidence=0.95), page=TWO_CROPS)
    assert text(kept) == "half of it\n\nlower"


def test_a_scrap_that_did_not_end_is_no_text() -> None:
    """One character over and over, as of a pattern."""
    blank = read("", "blank", confidence=None)
    for status in ("truncated", "repeated"):
        loop = read("1 1 1 1\n1", status, confidence=0.95)  # type: ignore[arg-type]
        assert Model(UNREADABLE).look(loop).status == "blank"
        kept = Model(TWO_CROPS, blank, blank).look(loop)
        assert (kept.status, text(kept)) == ("blank", "")
        kept = Model(TWO_CROPS, read("upper", confidence=0.3), blank).look(loop)
        assert (kept.status, text(kept)) == ("ok", "upper")


def test_a_waiting_run_can_be_stopped() -> None:
    """Whoever waits for a page to be rendered again can be cancelled, and the worker's future is given up."""
    asked: list[Future[ReadyPage | PageError]] = []

    def never(page: Page, step: Step) -> Future[ReadyPage | PageError]:
        asked.append(Future())
        return asked[-1]

    async def nothing(crops: Sequence[RenderedPage], step: Step) -> list[PageResult]:
        raise AssertionError("nothing was rendered")

    async def stopped() -> None:
        first = read("all of it", confidence=0.3)
        state = PageState(ready=rendered(), readings=[first], attempts=[first])
        looking = asyncio.create_task(retry(state, merged(never, nothing, 0.9)))
        await asyncio.sleep(0.01)
        assert not looking.done()
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking

    asyncio.run(stopped())
    assert len(asked) == 1
    assert asked[0].cancelled()
