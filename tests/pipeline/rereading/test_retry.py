"""Which pages are read again, by which retry steps, and which attempt is kept."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace

import pytest

from pipeline.config.retry_steps import Step, steps_of
from pipeline.config.schema import Config, render_settings
from pipeline.rereading.comparing import best
from pipeline.rereading.retry import PageState, Tools, retry, retry_steps
from pipeline.types import EmbeddedPage, Layer, Page, PageResult, ReadyPage, RenderedPage
from storage.types import PageError, StageTiming
from tests.pipeline.checkpoints import PAGE_MODEL
from tests.pipeline.rereading.readings import PAGE, broken, read, rendered

LAYER = Layer(
    text="as printed", markdown="as printed", blocks=(), is_trustworthy=True, reason="", script="Latn"
)
GONE = PageError(stage="render", category="unreadable", message="the file is gone")


def steps(**keys: object) -> tuple[Step, ...]:
    config = Config.model_validate({"model": PAGE_MODEL, "text_layer": "fallback", **keys})
    return steps_of(config, "pdf", render_settings(config))


class Model:
    """Answers each retry step with the results given for it, and notes which steps came.

    layer: what the text layer is found to be, None for a page without any.
    """

    def __init__(
        self,
        layer: Layer | PageError | None = None,
        **results: PageResult | PageError,
    ) -> None:
        self.layer, self.results = layer, results
        self.steps: list[str] = []
        self.num_judged = 0

    def judge(self, ready: RenderedPage) -> Future[RenderedPage | PageError]:
        self.num_judged += 1
        future: Future[RenderedPage | PageError] = Future()
        judged = replace(ready, layer=self.layer, seconds={**ready.seconds, "layer": 0.25})  # type: ignore[arg-type]
        future.set_result(self.layer if isinstance(self.layer, PageError) else judged)
        return future

    def render(self, page: Page, step: Step) -> Future[ReadyPage | PageError]:
        assert page == PAGE
        assert step.name is not None
        self.steps.append(step.name)
        answer = self.results[step.name]
        future: Future[ReadyPage | PageError] = Future()
        future.set_result(answer if isinstance(answer, PageError) else rendered())
        return future

    async def read(self, page: RenderedPage, step: Step) -> PageResult:
        await asyncio.sleep(0)
        assert step.name is not None
        answer = self.results[step.name]
        assert isinstance(answer, PageResult)
        return answer

    def retried(
        self, first: PageResult, ready: RenderedPage | None = None, **keys: object
    ) -> list[PageResult]:
        tools = Tools(render=self.render, read=self.read, judge=self.judge)
        page = PageState(ready=ready or rendered(), attempts=[first])
        asyncio.run(retry(page, retry_steps(tools, steps(**keys), below=0.5)))
        self.ready = page.ready
        return page.attempts


def seen(attempts: Sequence[PageResult]) -> list[tuple[str | None, str]]:
    return [(attempt.rung, attempt.status) for attempt in attempts]


@pytest.mark.parametrize(
    "first",
    [
        read("sure", confidence=0.5),
        read("not known", confidence=None),
        read("", "blank", confidence=None),
        replace(broken(), error=GONE),
    ],
)
def test_a_page_that_is_good_enough_or_cannot_be_rendered_is_left_alone(first: PageResult) -> None:
    model = Model()
    assert model.retried(first) == [first]
    assert model.steps == []


@pytest.mark.parametrize(
    "first",
    [
        read("lo lo lo", "repeated", confidence=0.95),
        read("cut", "truncated", confidence=0.95),
        read("unsure", confidence=0.49),
        broken(),
    ],
)
def test_steps_are_taken_until_one_is_good_enough(first: PageResult) -> None:
    model = Model(ngram=read("again", "truncated"), mode=read("all of it", confidence=0.8))
    attempts = model.retried(first)
    assert seen(attempts) == [(None, first.status), ("ngram", "truncated"), ("mode", "ok")]
    assert best(attempts) is attempts[2]
    assert model.steps == ["ngram", "mode"]


def test_a_page_that_repeats_itself_twice_goes_to_the_next_model() -> None:
    another = {"name": "large", "model": PAGE_MODEL}
    rungs = [{"name": "mode", "mode": "base"}, {"name": "temperature", "temperature": 0.4}, another]
    looped = read("lo lo", "repeated")
    attempts = Model(mode=looped, large=read("all of it", confidence=0.8)).retried(
        looped, ladder={"rungs": rungs}
    )
    assert seen(attempts) == [(None, "repeated"), ("mode", "repeated"), ("large", "ok")]


def test_status_counts_before_confidence_and_the_earlier_of_equals_is_kept() -> None:
    looped, cut = read("lo lo", "repeated", confidence=0.9), read("cut", "truncated", confidence=0.9)
    unsure, same = read("one", confidence=0.2), read("two", confidence=0.2)
    assert best([looped, unsure]) is unsure
    assert best([broken(), cut, looped]) is cut
    assert best([unsure, same, read("", "blank", confidence=None)]) is unsure
    assert best([broken(), broken()]).status == "failed"


def test_the_document_s_own_text_comes_last_and_only_where_it_can_be_trusted() -> None:
    worse = {name: read("lo lo", "repeated", confidence=0.3) for name in ("ngram", "mode", "temperature")}
    first = read("lo lo lo", "repeated", confidence=0.4)
    attempts = Model(LAYER, **worse).retried(first)
    assert seen(attempts)[-1] == ("layer", "embedded")
    assert attempts[-1].timings == (StageTiming(stage="layer", share_s=0.25, wall_s=0.25),)
    assert best(attempts).source == "layer"
    assert best(attempts).parsed is not None
    assert best(attempts).parsed.text == "as printed"  # type: ignore[union-attr]
    untrusted = replace(LAYER, is_trustworthy=False, reason="holes")
    for found in (untrusted, None):
        model = Model(found, **worse)
        attempts = model.retried(first)
        assert [rung for rung, _ in seen(attempts)] == [None, "ngram"], (
            "it repeats itself whatever is changed"
        )
        assert best(attempts) is first
        assert model.ready.layer == found, "whoever asks next finds it"


def test_the_layer_is_judged_only_when_nothing_else_helped() -> None:
    model = Model(LAYER, ngram=read("all of it", confidence=0.9))
    model.retried(read("lo lo", "repeated"))
    assert model.num_judged == 0
    model = Model(LAYER)
    attempts = model.retried(read("lo lo", "repeated"), ladder={"rungs": []}, text_layer="prefer")
    assert (seen(attempts), model.num_judged) == ([(None, "repeated")], 0), "it was turned down before"


def test_a_layer_that_cannot_be_judged_is_a_failed_attempt() -> None:
    """Such as that of a file that was changed since the page was drawn."""
    changed = PageError(stage="layer", category="changed", message="the file was changed; run again")
    first = read("lo lo", "repeated")
    attempts = Model(changed).retried(first, ladder={"rungs": []})
    assert seen(attempts) == [(None, "repeated"), ("layer", "failed")]
    assert attempts[1].error == changed
    assert best(attempts) is first


def test_a_step_that_fails_is_an_attempt_too() -> None:
    attempts = Model(ngram=GONE, mode=broken(), temperature=read("all", confidence=0.9)).retried(broken())
    assert seen(attempts) == [
        (None, "failed"),
        ("ngram", "failed"),
        ("mode", "failed"),
        ("temperature", "ok"),
    ]
    assert attempts[1].error == GONE


def test_nothing_written_hides_no_failure() -> None:
    """An end before the first word is a failure, and a doubtful scrap is no text."""
    cut = read("", "truncated", confidence=None)
    attempts = Model(ngram=cut, mode=cut, temperature=cut).retried(broken())
    assert {attempt.status for attempt in attempts} == {"failed"}
    assert best(attempts) is attempts[0]
    scrap = read("11 1", confidence=0.2)
    attempts = Model(ngram=scrap, mode=scrap, temperature=scrap).retried(read("lo lo", "repeated"))
    assert seen(attempts)[1] == ("ngram", "failed")
    assert best(attempts) is attempts[0], "a text is never hidden by none"


def test_a_page_in_doubt_is_first_read_the_other_way_up() -> None:
    model = Model(turn=read("upright", confidence=0.9))
    attempts = model.retried(read("ʇxǝʇ", confidence=0.1), replace(rendered(), runner_up_deg=180))
    assert seen(attempts) == [(None, "ok"), ("turn", "ok")]
    assert best(attempts) is attempts[1]


def test_without_steps_nothing_is_read_again() -> None:
    model = Model()
    first = read("lo lo", "repeated")
    assert model.retried(first, ladder={"rungs": []}, text_layer="ignore") == [first]


def test_fallback_takes_the_layer_also_without_steps() -> None:
    first = read("lo lo", "repeated")
    attempts = Model(LAYER).retried(first, ladder={"rungs": []})
    assert seen(attempts) == [(None, "repeated"), ("layer", "embedded")]


def test_a_page_that_turns_out_to_need_no_reading_ends_no_retry() -> None:
    embedded = EmbeddedPage(page=PAGE, layer=LAYER, width_px=1, height_px=1, dpi=72.0, seconds={})

    class Odd(Model):
        def render(self, page: Page, step: Step) -> Future[ReadyPage | PageError]:
            future = super().render(page, step)
            if step.name == "ngram":
                future = Future()
                future.set_result(embedded)
            return future

    model = Odd(ngram=broken(), mode=read("all", confidence=0.9))
    assert seen(model.retried(broken())) == [(None, "failed"), ("mode", "ok")]


def test_of_a_page_that_the_model_cannot_read_only_the_layer_is_taken() -> None:
    tools = Tools(render=never, read=nothing, judge=Model(LAYER).judge)
    ready, first = replace(rendered(), runner_up_deg=90), read("?", confidence=0.1)
    page = PageState(ready=ready, attempts=[first], is_legible=False)
    asyncio.run(retry(page, retry_steps(tools, steps(), below=0.5)))
    assert seen(page.attempts) == [(None, "ok"), ("layer", "embedded")]


def never(page: Page, step: Step) -> Future[ReadyPage | PageError]:
    raise AssertionError("nothing is to be rendered")


async def nothing(page: RenderedPage, step: Step) -> PageResult:
    raise AssertionError("nothing is to be read")
