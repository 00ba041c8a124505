"""Steps with drafts write what steps without them write, whatever the drafts, and are used where they pay."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from ocr.decoding.decode_pages import decode_pages
from ocr.decoding.gpu.forward import step_graphs, steps
from ocr.decoding.gpu.forward.block_pool import PoolShape
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.schedule import drafting, launcher
from ocr.decoding.gpu.schedule.entries import Ended, EngineSettings, Page
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.speculative.draft import Draft
from ocr.types import Transcript
from tests.ocr.decoding.drafts import Knowing, Malicious
from tests.ocr.decoding.gpu.test_paged_engine import (
    FREE,
    PAGES,
    PROMPT,
    SMALL,
    chain_reader,
    in_order,
    items,
    random_reader,
    same,
)
from tests.ocr.tiny_reader import EOS, READ, VOCAB, ChainReader, Reader, vision

LIMITS = [replace(FREE, max_tokens=count) for count in (80, 40, 60, 10, 70, 34, 75, 50)]
KINDS = ("knowing", "erring", "malicious", "some", "silent")
CHAIN = EngineSettings(slots=2, kv_bytes=1 << 24)


class Silent:
    """Has no idea."""

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        return []


def drafts_of(pages: Sequence[Transcript], kind: str) -> list[Draft | None]:
    if kind == "malicious":
        return [Malicious(seed) for seed in range(len(pages))]
    if kind == "silent":
        return [Silent() for _ in pages]
    errors = 0.0 if kind == "knowing" else 0.2
    knowing: list[Draft | None] = [Knowing(page.token_ids, errors) for page in pages]
    if kind == "some":
        knowing[::2] = [None] * len(knowing[::2])
    return knowing


@pytest.fixture(scope="module")
def reader() -> Reader:
    return random_reader(eos_id=20)


@pytest.fixture(scope="module")
def expected(reader: Reader) -> list[Transcript]:
    found = decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS).transcripts
    assert {page.finish for page in found} == {"eos", "length"}
    return found


@pytest.fixture(autouse=True)
def halves_of_few_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "_LEAST_HALVED", 4)


@pytest.mark.slow
@pytest.mark.parametrize(("slots", "lag"), [(1, 1), (3, 0), (3, 1), (8, 1)])
@pytest.mark.parametrize("kind", KINDS)
def test_every_draft_leaves_the_text_as_it_is(
    reader: Reader, expected: list[Transcript], kind: str, slots: int, lag: int
) -> None:
    for step_tokens in (None, 4 if slots == 3 else 16):
        paged = PagedEngine(reader, replace(SMALL, slots=slots, lag=lag, step_tokens=step_tokens))
        same(in_order(paged, items(reader, PAGES, LIMITS, drafts=drafts_of(expected, kind))), expected)
        stats = paged.stats
        assert stats.tokens == sum(len(page.token_ids) + (page.finish == "eos") for page in expected)
        assert 0 <= stats.accepted <= stats.drafted
        if step_tokens is not None:
            assert stats.draft_steps > 0
        if kind == "knowing" and step_tokens == 4:
            assert stats.accepted > 0.8 * stats.drafted, "but for bans"


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1])
def test_a_cache_too_small_for_all_pages(lag: int) -> None:
    """Pages are taken off and go on, and drafts make do with what blocks there are."""
    reader = random_reader(eos_id=-1)
    limits = [FREE] * len(PAGES)
    expected = decode_pages(reader, PAGES, prompt=PROMPT, settings=limits).transcripts
    shape = PoolShape.of(reader.model.language_model, torch.float32, 16)
    small = replace(SMALL, slots=8, lag=lag, kv_bytes=24 * shape.block_bytes, step_tokens=16)
    paged = PagedEngine(reader, small)
    same(in_order(paged, items(reader, PAGES, limits, drafts=drafts_of(expected, "erring"))), expected)
    assert paged.stats.preemptions > 0
    assert paged.stats.accepted > 0


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("fails_at", [2, 3, 6, 9])
def test_memory_that_runs_out(
    reader: Reader, expected: list[Transcript], monkeypatch: pytest.MonkeyPatch, lag: int, fails_at: int
) -> None:
    paged = PagedEngine(reader, replace(SMALL, slots=8, lag=lag, step_tokens=4))
    calls = iter(range(1, 10**6))
    forward = reader.model.language_model.forward

    def failing(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == fails_at:
            raise torch.OutOfMemoryError("none left")
        return forward(*args, **kwargs)

    monkeypatch.setattr(reader.model.language_model, "forward", failing)
    same(in_order(paged, items(reader, PAGES, LIMITS, drafts=drafts_of(expected, "some"))), expected)
    assert (paged.slots, paged.stats.shrinks) == (4, 1)


def counting(length: int) -> tuple[Reader, list[int]]:
    """A model that writes w5 w6 w7 ..., and what it writes."""
    followers = {READ: 5, **{token: 5 + (token - 4) % 58 for token in range(5, 63)}}
    tokens, text = READ, []
    for _ in range(length):
        tokens = followers[tokens]
        text.append(tokens)
    return chain_reader(ChainReader(followers)), text


def read_counting(drafts: Sequence[Draft | None], **changes: Any) -> tuple[PagedEngine, list[Ended]]:
    reader, text = counting(300)
    limits = [DecodeSettings(max_tokens=306, ngram_size=0, loop_tokens=0)] * len(drafts)
    paged = PagedEngine(reader, replace(CHAIN, slots=len(drafts), max_tokens=512, **changes))
    pages = [vision(4, width=VOCAB)] * len(drafts)
    ended = list(paged.read(items(reader, pages, limits, drafts=drafts)))
    assert all(list(page.transcript.token_ids) == text for page in ended)
    return paged, ended


@pytest.mark.parametrize("lag", [0, 1])
def test_right_drafts_are_found_and_used(lag: int) -> None:
    _, text = counting(300)
    paged, ended = read_counting([Knowing(text) for _ in range(5)], lag=lag)
    assert paged.stats.steps < 100
    assert all(page.num_steps < 50 for page in ended), "of 299 without drafts"
    assert paged.stats.accepted == paged.stats.drafted


@pytest.mark.parametrize("lag", [0, 1])
def test_wrong_drafts_cost_no_step(lag: int) -> None:
    paged, ended = read_counting([Knowing([3] * 300) for _ in range(5)], lag=lag)
    assert paged.stats.draft_steps == 0
    assert all(page.num_steps == 299 for page in ended)
    assert paged.stats.steps <= 299 + 2


def test_a_draft_that_finds_its_way_late_is_used_and_dropped_again() -> None:
    _, text = counting(300)
    late = [*[3] * 100, *text[100:220], *[3] * 80]
    paged, ended = read_counting([Knowing(late) for _ in range(4)], lag=1)
    assert 180 < ended[0].num_steps < 250
    assert paged.stats.accepted > 200


def test_only_pages_with_good_drafts_pay_for_the_others() -> None:
    _, text = counting(300)
    most, _ = read_counting([Knowing(text), Knowing(text), None], lag=1)
    assert most.stats.draft_steps > 10
    few, _ = read_counting([Knowing(text), *[None] * 15], lag=1)
    assert few.stats.draft_steps * 4 < few.stats.steps


def test_what_a_draft_proposes_is_cut() -> None:
    page = Page(
        index=0,
        prompt=lambda: torch.empty(0),
        num_prompt=4,
        reading=items(counting(4)[0], [vision(4, width=VOCAB)], [DecodeSettings(max_tokens=11)])[0].reading,
        draft=Knowing([5, 6, 7, -1, 9, 10, 11]),
    )
    asked = drafting.Drafting(64, 8)
    assert page.reading.budget == 5
    assert asked.propose(page, 7) == [5, 6, 7]
    assert asked.propose(page, 2) == [5, 6]
    page.reading.tokens.extend([5, 6, 7])
    page.draft = Knowing([5, 6, 7, 8, 9])
    assert asked.propose(page, 7) == [8], "the fifth token is chosen after the fourth"
    page.reading.tokens.append(8)
    assert asked.propose(page, 7) == []


def test_guesses_are_asked_when_due_and_poor_ones_seldom() -> None:
    _, text = counting(300)
    good, chance = dues_of(Knowing(text), text)
    assert chance > 0.9
    assert good[:4] == [9, 17, 25, 33], "8 tokens are guessed, and 8 later the next"
    poor, chance = dues_of(Knowing([3] * 300), text)
    assert chance < 0.1
    assert len(poor) < len(good) / 2


def dues_of(draft: Draft, text: Sequence[int]) -> tuple[list[int], float]:
    """Returns when an unused draft is asked while the text is written, and its hit rate in the end."""
    limits = [DecodeSettings(max_tokens=400, ngram_size=0)]
    reading = items(counting(4)[0], [vision(4, width=VOCAB)], limits)[0].reading
    page = Page(index=0, prompt=lambda: torch.empty(0), num_prompt=4, reading=reading, draft=draft)
    asked, due = drafting.Drafting(64), [0]
    for number, token in enumerate(text, start=1):
        reading.take(token, -0.5, EOS)
        found = asked.follow(page)
        assert found > number
        if found != due[-1]:
            due.append(found)
    return due[1:], page.hits.chance


def test_a_decision_against_drafts_holds_for_a_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    decided = []
    monkeypatch.setattr(drafting, "best_step", lambda *args, **kwargs: decided.append(0) or 1)
    asked = drafting.Drafting(64)
    for _ in range(20):
        assert asked.step_tokens([], 4, drafting=False) == 1
    reading = items(counting(4)[0], [vision(4, width=VOCAB)], [DecodeSettings(max_tokens=11)])[0].reading
    page = Page(index=0, prompt=lambda: torch.empty(0), num_prompt=4, reading=reading, draft=Knowing([5]))
    for _ in range(16):
        assert asked.step_tokens([page], 4, drafting=False) == 1
    assert len(decided) == 2
    assert asked.step_tokens([page], 4, drafting=True) == 1
    assert len(decided) == 3, "with drafts each step is decided"


class EagerGraphs(step_graphs.StepGraphs):
    """Runs the step that it should have captured, and spoils what capturing spoils."""

    def capture(self, step: Any, rows: int, tokens: int, device: torch.device) -> None:
        step()
        self._captured[rows, tokens] = step

    def replay(self, rows: int, tokens: int = 1) -> None:
        self._captured[rows, tokens]()


def test_steps_with_drafts_that_cannot_be_captured_are_left(
    reader: Reader,
    expected: list[Transcript],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Unable(EagerGraphs):
        def capture(self, step: Any, rows: int, tokens: int, device: torch.device) -> None:
            if tokens > 1:
                raise RuntimeError("operation not permitted when stream is capturing")
            super().capture(step, rows, tokens, device)

    monkeypatch.setattr(steps, "StepGraphs", Unable)
    caplog.set_level("WARNING", logger="ocrbatch")
    paged = PagedEngine(reader, replace(SMALL, slots=3, lag=1, graphs=True, step_tokens=4))
    same(in_order(paged, items(reader, PAGES, LIMITS, drafts=drafts_of(expected, "knowing"))), expected)
    assert paged.stats.draft_steps == 0
    assert caplog.text.count("going on without drafts") == 1


@pytest.mark.parametrize("step_tokens", [None, 4, 1])
def test_sizes_of_captured_steps(
    reader: Reader, expected: list[Transcript], monkeypatch: pytest.MonkeyPatch, step_tokens: int | None
) -> None:
    """More rows than there are pages, sizes captured on the way, and as many tokens a row as there are graphs for."""
    monkeypatch.setattr(steps, "StepGraphs", EagerGraphs)
    monkeypatch.setattr(step_graphs, "_WANTED", 3)
    order = list(range(len(PAGES)))
    random.Random(0).shuffle(order)
    limits, texts = [LIMITS[n] for n in order], [expected[n] for n in order]
    for lag in (0, 1):
        paged = PagedEngine(reader, replace(SMALL, slots=8, lag=lag, graphs=True, step_tokens=step_tokens))
        drafts = drafts_of(texts, "erring")
        same(in_order(paged, items(reader, [PAGES[n] for n in order], limits, drafts=drafts)), texts)
        captured = set(paged._steps._graphs._captured)
        sizes = sorted(rows for rows, tokens in captured if tokens == (step_tokens or 1))
        assert sizes[-1] == 8
        assert len(captured) > 1 or step_tokens is None
