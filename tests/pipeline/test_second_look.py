"""Which pages are read again, and which reading is kept."""

from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from pipeline.second_look import SecondLook
from pipeline.types import Page, PageError, PageResult, ReadyPage, RenderedPage, StageTiming
from tests.pipeline.test_joining import PAGE, divided, read, rendered

DECODE = StageTiming(stage="decode_generate", share_s=2.0, wall_s=2.0)
TWO_PARTS = divided((0, 0), (0, 500))


class Model:
    """Answers with given results, and counts what it was asked."""

    def __init__(self, again: ReadyPage | PageError, *results: PageResult) -> None:
        self.again, self.results = again, list(results)
        self.rendered: list[Page] = []
        self.checks = 0

    def render(self, page: Page) -> Future[ReadyPage | PageError]:
        self.rendered.append(page)
        future: Future[ReadyPage | PageError] = Future()
        future.set_result(self.again)
        return future

    def read(self, parts: Sequence[RenderedPage]) -> list[PageResult]:
        assert len(parts) == len(self.results)
        return self.results

    def check(self) -> None:
        self.checks += 1

    def look(self, first: PageResult, below: float = 0.9) -> PageResult:
        return SecondLook(render=self.render, read=self.read, check=self.check, below=below)(first)


@pytest.mark.parametrize(("confidence", "below"), [(0.9, 0.9), (0.95, 0.9), (0.1, 0.0), (None, 0.9)])
def test_a_page_that_is_not_doubtful_is_left_alone(confidence: float | None, below: float) -> None:
    model, first = Model(TWO_PARTS), read("all of it", confidence=confidence)
    assert model.look(first, below) is first
    assert model.rendered == []


def test_the_better_reading_is_kept_with_the_time_of_both() -> None:
    model = Model(
        TWO_PARTS,
        read("upper", confidence=0.97, timings=(DECODE,)),
        read("lower", confidence=0.95, timings=(DECODE,)),
    )
    kept = model.look(read("up up up", confidence=0.5, timings=(DECODE,)))
    assert model.rendered == [PAGE]
    assert kept.parsed is not None
    assert kept.parsed.text == "upper\n\nlower"
    assert kept.confidence == pytest.approx(0.96)
    generate = next(timing for timing in kept.timings if timing.stage == "decode_generate")
    assert generate.share_s == 6.0


def test_a_second_reading_that_is_no_better_is_dropped() -> None:
    model = Model(TWO_PARTS, read("upper", confidence=0.5), read("lower", confidence=0.6))
    kept = model.look(read("all of it", confidence=0.8))
    assert kept.parsed is not None
    assert kept.parsed.text == "all of it"


def test_a_reading_to_its_end_wins_over_one_that_repeats_itself() -> None:
    model = Model(TWO_PARTS, read("upper", confidence=0.6), read("lower", confidence=0.6))
    kept = model.look(read("up up up", "repeated", confidence=0.8))
    assert kept.status == "ok"
    model = Model(TWO_PARTS, read("upper", "repeated", confidence=0.9), read("lower", confidence=0.9))
    assert model.look(read("all of it", confidence=0.8)).status == "ok"


@pytest.mark.parametrize(
    "again", [rendered(), PageError(stage="render", category="unreadable", message="the file is gone")]
)
def test_a_page_that_cannot_be_cut_keeps_its_first_reading(again: ReadyPage | PageError) -> None:
    first = read("all of it", confidence=0.3)
    assert Model(again).look(first) is first


def test_a_waiting_run_can_be_stopped() -> None:
    def check() -> None:
        raise KeyboardInterrupt

    look = SecondLook(render=lambda page: Future(), read=lambda parts: [], check=check, below=0.9)
    with pytest.raises(KeyboardInterrupt):
        look(read("all of it", confidence=0.3))
