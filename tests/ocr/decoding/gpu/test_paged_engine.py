"""The engine writes what plain decoding writes, whatever the slots, the lag, the cache and the order."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ocr.decoding.gpu.forward.block_pool import PoolShape
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.schedule import clock
from ocr.decoding.gpu.schedule.entries import EngineSettings, Page
from ocr.decoding.gpu.schedule.in_flight import InFlight
from ocr.decoding.sequence.page_reading import DecodeSettings, start_reading
from ocr.model.prompt import encode_prompt
from ocr.types import Transcript
from tests.ocr.decoding.plain import plain_texts, splice
from tests.ocr.tiny_reader import READ, VOCAB, ChainReader, RandomReader, Reader, tokenizer, vision

PROMPT = "<image>\nRead"
FREE = DecodeSettings(max_tokens=80, ngram_size=3, ngram_window=20, loop_tokens=0)
PAGES = [vision(length, seed) for seed, length in enumerate((20, 31, 20, 5, 31, 12, 20, 7))]
SMALL = EngineSettings(slots=3, block_tokens=16, max_tokens=128, kv_bytes=1 << 21)


def noted(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[Any]:
    """The first argument of each call of a method, from now on."""
    plain, calls = getattr(owner, name), []

    def noting(self: Any, first: Any, *others: Any) -> Any:
        calls.append(first)
        return plain(self, first, *others)

    monkeypatch.setattr(owner, name, noting)
    return calls


def items(
    reader: Any,
    pages: Sequence[Any],
    limits: Sequence[DecodeSettings],
    prompt: str = PROMPT,
) -> list[Page]:
    ids = encode_prompt(reader.tokenizer, prompt, bos_id=reader.bos_id)
    embed = reader.model.language_model.get_input_embeddings()
    prompts = splice(embed, ids, [page.tokens_TD for page in pages])
    return [
        Page(
            prompt=partial(torch.clone, embeds),
            num_prompt=len(embeds),
            reading=start_reading(reader, len(embeds), limit),
        )
        for embeds, limit in zip(prompts, limits, strict=True)
    ]


def in_order(engine: PagedEngine, readings: Sequence[Page]) -> list[Transcript]:
    found = {page.index: page.transcript for page in engine.read(readings)}
    assert sorted(found) == list(range(len(readings)))
    return [found[index] for index in range(len(readings))]


def same(one: Sequence[Transcript], other: Sequence[Transcript], within: float = 1e-4) -> None:
    """The same tokens; log probabilities up to rounding, as engines sum in different orders."""
    assert [page.token_ids for page in one] == [page.token_ids for page in other]
    assert [(page.raw, page.finish) for page in one] == [(page.raw, page.finish) for page in other]
    for ours, theirs in zip(one, other, strict=True):
        assert ours.logprobs == pytest.approx(theirs.logprobs, abs=within)


def random_reader(eos_id: int, **kwargs: Any) -> Reader:
    return Reader(model=RandomReader(**kwargs), tokenizer=tokenizer(), eos_id=eos_id)


@pytest.fixture(scope="module")
@cache  # another module's tests use it too
def stopping() -> Reader:
    """A random model that ends its pages after different numbers of tokens."""
    reader = random_reader(eos_id=-1)
    limits = [FREE] * len(PAGES)
    free = plain_texts(reader, PAGES, prompt=PROMPT, settings=limits)
    counts = {
        token: {page.token_ids.index(token) for page in free if token in page.token_ids}
        for token in range(VOCAB)
    }
    return random_reader(max(counts, key=lambda token: len(counts[token])))


@pytest.fixture(scope="module")
def expected(stopping: Reader) -> list[Transcript]:
    found = plain_texts(stopping, PAGES, prompt=PROMPT, settings=[FREE] * len(PAGES))
    assert len({len(page.token_ids) for page in found}) > 2
    return found


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("slots", [1, 3, 8])
def test_equals_plain_decoding(
    stopping: Reader, expected: list[Transcript], slots: int, lag: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewinds = noted(monkeypatch, InFlight, "_choose_again")
    engine = PagedEngine(stopping, replace(SMALL, slots=slots, lag=lag))
    same(in_order(engine, items(stopping, PAGES, [FREE] * len(PAGES))), expected)
    assert rewinds


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1])
def test_pages_without_end_and_their_own_limits(lag: int) -> None:
    reader = random_reader(eos_id=-1)
    limits = [replace(FREE, max_tokens=count) for count in (120, 22, 23, 10, 90, 34, 8, 64)]
    expected = plain_texts(reader, PAGES, prompt=PROMPT, settings=limits)
    engine = PagedEngine(reader, replace(SMALL, lag=lag))
    same(in_order(engine, items(reader, PAGES, limits)), expected)
    assert len(expected[0].token_ids) == 98
    assert expected[1].token_ids == ()


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1])
def test_pages_that_are_sampled_beside_those_that_are_not(stopping: Reader, lag: int) -> None:
    limits = [replace(FREE, temperature=(number % 3) / 2, seed=number) for number in range(len(PAGES))]
    expected = plain_texts(stopping, PAGES, prompt=PROMPT, settings=limits)
    greedy = plain_texts(stopping, PAGES, prompt=PROMPT, settings=[FREE] * len(PAGES))
    assert [one.token_ids != other.token_ids for one, other in zip(expected, greedy, strict=True)] == [
        bool(limit.temperature) for limit in limits
    ]
    engine = PagedEngine(stopping, replace(SMALL, lag=lag))
    same(in_order(engine, items(stopping, PAGES, limits)), expected)


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1])
def test_a_cache_too_small_for_all_slots(lag: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are taken off and go on later, to the same text."""
    preempted = noted(monkeypatch, PagedEngine, "_preempted")
    reader = random_reader(eos_id=-1)
    limits = [FREE] * len(PAGES)
    expected = plain_texts(reader, PAGES, prompt=PROMPT, settings=limits)
    shape = PoolShape.of(reader.model.language_model, torch.float32, 16)
    engine = PagedEngine(reader, replace(SMALL, slots=8, lag=lag, kv_bytes=24 * shape.block_bytes + 5))
    same(in_order(engine, items(reader, PAGES, limits)), expected)
    assert preempted
    same(in_order(engine, items(reader, PAGES[::-1], limits))[::-1], expected)


def test_a_cache_that_does_not_hold_one_page_is_refused(stopping: Reader) -> None:
    shape = PoolShape.of(stopping.model.language_model, torch.float32, 16)
    with pytest.raises(ValueError, match="does not hold one page"):
        PagedEngine(stopping, replace(SMALL, kv_bytes=8 * shape.block_bytes))
    PagedEngine(stopping, replace(SMALL, kv_bytes=9 * shape.block_bytes))
    with pytest.raises(ValueError, match="fewer than two blocks"):
        PagedEngine(stopping, replace(SMALL, kv_bytes=shape.block_bytes))


@pytest.mark.parametrize(
    ("max_tokens", "slots", "blocks"),
    [(48, 3, 1 + 3 * 3), (128, 3, 1 + 3 * 4), (512, 5, 1 + 5 * 8), (512, 1, 1 + 32)],
    ids=["all of the most", "usual pages", "a quarter of the most", "one of the most"],
)
def test_without_a_size_the_cache_holds_usual_pages(
    stopping: Reader, max_tokens: int, slots: int, blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ocr.decoding.gpu.paged_engine._USUAL", 64)
    engine = PagedEngine(stopping, replace(SMALL, max_tokens=max_tokens, slots=slots, kv_bytes=None))
    assert engine._steps.pool.num_blocks == blocks


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("fails_at", [1, 2, 3, 5])
def test_memory_that_runs_out_halves_the_slots(
    stopping: Reader, expected: list[Transcript], monkeypatch: pytest.MonkeyPatch, lag: int, fails_at: int
) -> None:
    engine = PagedEngine(stopping, replace(SMALL, slots=4, lag=lag, refill=1))
    calls = iter(range(1, 10**6))
    forward = stopping.model.language_model.forward

    def failing(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == fails_at:
            raise torch.OutOfMemoryError("none left")
        return forward(*args, **kwargs)

    monkeypatch.setattr(stopping.model.language_model, "forward", failing)
    same(in_order(engine, items(stopping, PAGES, [FREE] * len(PAGES))), expected)
    assert engine.slots == 2


def test_memory_that_never_suffices_is_an_error(stopping: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("none left")

    engine = PagedEngine(stopping, SMALL)
    monkeypatch.setattr(stopping.model.language_model, "forward", failing)
    with pytest.raises(torch.OutOfMemoryError):
        list(engine.read(items(stopping, PAGES, [FREE] * len(PAGES))))
    assert engine.slots == 1


def test_a_source_without_anything_yet(stopping: Reader, expected: list[Transcript]) -> None:
    def source() -> Iterator[Any]:
        for item in items(stopping, PAGES, [FREE] * len(PAGES)):
            yield None
            yield item
            yield None

    found = {page.index: page.transcript for page in PagedEngine(stopping, SMALL).read(source())}
    same([found[index] for index in range(len(PAGES))], expected)


def test_pages_come_out_as_they_end() -> None:
    reader = random_reader(eos_id=-1)
    limits = [replace(FREE, max_tokens=count) for count in (100, 40, 25)]
    found = list(PagedEngine(reader, SMALL).read(items(reader, PAGES[:3], limits)))
    assert [page.index for page in found] == [2, 1, 0]
    assert all(page.generate_s > 0 for page in found)


def test_a_slow_prefill_is_no_debt_of_its_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    engine = PagedEngine(random_reader(eos_id=-1), SMALL)
    entries: Any = [
        SimpleNamespace(page=SimpleNamespace(prefill_s=0.0, entered=None), counts=True) for _ in range(3)
    ]
    now[0] = 9.0
    engine._prefilled(entries, 9.0)
    now[0] = 9.6
    shares = [engine._clock.leave(entry.page.entered) for entry in entries]
    assert shares == pytest.approx([0.2, 0.2, 0.2])


def test_a_reading_that_is_broken_off_leaves_the_engine_usable(
    stopping: Reader, expected: list[Transcript]
) -> None:
    engine = PagedEngine(stopping, replace(SMALL, lag=1))
    broken = engine.read(items(stopping, PAGES, [FREE] * len(PAGES)))
    next(broken)
    broken.close()
    same(in_order(engine, items(stopping, PAGES, [FREE] * len(PAGES))), expected)


def test_a_reading_that_was_left_is_ended_by_the_next(stopping: Reader, expected: list[Transcript]) -> None:
    engine = PagedEngine(stopping, replace(SMALL, lag=1))
    left = engine.read(items(stopping, PAGES, [FREE] * len(PAGES)))
    next(left)
    going_on = engine.read(items(stopping, PAGES, [FREE] * len(PAGES)))
    found = [next(going_on)]
    with pytest.raises(RuntimeError, match="another reading"):
        next(left)
    left.close()
    found += going_on
    same([page.transcript for page in sorted(found, key=lambda page: page.index)], expected)


@pytest.mark.parametrize("lag", [0, 1])
def test_loops_are_stopped(lag: int) -> None:
    successor = {READ: 20, 20: 21, 21: 5, **{token: token + 1 for token in range(5, 16)}, 16: 5}
    reader = Reader(model=ChainReader(successor), tokenizer=tokenizer())
    limits, pages = [DecodeSettings(ngram_size=0, loop_tokens=100)], [vision(4, width=VOCAB)]
    expected = plain_texts(reader, pages, prompt=PROMPT, settings=limits)
    engine = PagedEngine(reader, EngineSettings(slots=1, lag=lag, kv_bytes=1 << 24))
    same(in_order(engine, items(reader, pages, limits)), expected)
    assert expected[0].finish == "loop"
