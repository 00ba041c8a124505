"""decode_pages through the paged engine, on a CPU: the same pages as without, and what happens without memory."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from ocr.decoding import decode_pages as decoding
from ocr.decoding.decode_pages import decode_pages
from ocr.decoding.gpu import reader as paged_reader
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.reader import PagedReader, UnusableError
from ocr.decoding.gpu.schedule.entries import EngineSettings
from ocr.decoding.requests import PageRequest
from ocr.model.prompt import PromptError, encode_prompt, splice
from tests.ocr.decoding.drafts import Knowing
from tests.ocr.decoding.gpu.test_paged_engine import FREE, PAGES, PROMPT, SMALL, random_reader, same
from tests.ocr.tiny_reader import Reader

LIMITS = [replace(FREE, max_tokens=count) for count in (120, 22, 23, 10, 90, 34, 8, 64)]


@pytest.fixture
def reader() -> Reader:
    return random_reader(eos_id=-1)


def no_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    def unused(*_: Any, **__: Any) -> None:
        raise AssertionError("read without the paged engine")

    monkeypatch.setattr(decoding, "Engine", unused)


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 3, 8])
@pytest.mark.parametrize("eos_id", [-1, 20])
def test_the_same_pages_batch_after_batch(slots: int, eos_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = random_reader(eos_id)
    expected = decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS)
    no_slots(monkeypatch)
    paged = PagedReader(reader, replace(SMALL, slots=slots))
    output = decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS, paged=paged)
    same(output.transcripts, expected.transcripts)
    assert output.num_steps == expected.num_steps
    assert output.num_tokens == expected.num_tokens
    assert output.prefill_s > 0
    assert output.generate_s > 0
    turned = decode_pages(reader, PAGES[::-1], prompt=PROMPT, settings=LIMITS[::-1], paged=paged)
    same(turned.transcripts[::-1], expected.transcripts)
    assert turned.prefill_s < output.prefill_s + output.generate_s + turned.generate_s


def test_no_pages_and_a_wrong_prompt(reader: Reader) -> None:
    paged = PagedReader(reader, SMALL)
    assert decode_pages(reader, [], prompt=PROMPT, settings=[], paged=paged).transcripts == []
    with pytest.raises(PromptError):
        decode_pages(reader, PAGES[:1], prompt="none", settings=[FREE], paged=paged)


def test_memory_that_runs_out_reaches_the_caller_and_the_next_batch_has_an_engine(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS).transcripts
    paged = PagedReader(reader, SMALL)

    def failing(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(reader.model.language_model, "forward", failing)
        with pytest.raises(torch.OutOfMemoryError):
            decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS, paged=paged)
    no_slots(monkeypatch)
    same(decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS, paged=paged).transcripts, expected)


@pytest.mark.slow
def test_without_room_for_an_engine_pages_are_read_all_the_same(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS).transcripts
    paged = PagedReader(reader, SMALL)
    paged.close()

    def too_little(*_: Any, **__: Any) -> None:
        raise ValueError("does not hold one page")

    monkeypatch.setattr(paged_reader, "PagedEngine", too_little)
    assert not paged.ready()
    same(decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS, paged=paged).transcripts, expected)


def test_without_kernels_none_is_opened(reader: Reader) -> None:
    with pytest.raises(UnusableError, match="here 16"):
        PagedReader.open(reader, slots=4, max_tokens=128)


def test_opening_tries_the_engine(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[EngineSettings] = []

    class Watched(PagedEngine):
        def __init__(self, loaded: Any, settings: EngineSettings) -> None:
            made.append(settings)
            super().__init__(loaded, settings)

    monkeypatch.setattr(paged_reader, "kernels_take", lambda *_: True)
    monkeypatch.setattr(paged_reader, "PagedEngine", Watched)
    paged = PagedReader.open(reader, slots=4, max_tokens=128)
    assert (made[0].slots, made[0].max_tokens, made[0].kv_share) == (4, 128, 0.5)
    assert paged.ready()
    assert paged.stats.steps > 0

    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(reader.model.language_model, "forward", failing)
    with pytest.raises(RuntimeError, match="no such kernel"):
        PagedReader.open(reader, slots=4, max_tokens=128)


def requests(limits: Any = LIMITS) -> list[PageRequest]:
    return [PageRequest(vision=page, settings=limit) for page, limit in zip(PAGES, limits, strict=True)]


@pytest.mark.slow
def test_pages_come_out_as_they_finish(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", time.thread_time)  # what other processes take is left out
    expected = decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS).transcripts
    asked = 0

    def source() -> Iterator[PageRequest | None]:
        nonlocal asked
        for request in requests():
            yield None
            asked += 1
            yield request

    paged = PagedReader(reader, replace(SMALL, slots=2))
    started = time.perf_counter()
    reads, when = [], []
    for read in paged.read(source(), PROMPT):
        reads.append(read)
        when.append(asked)
    wall_s = time.perf_counter() - started
    assert sorted(read.index for read in reads) == list(range(len(PAGES)))
    assert [read.index for read in reads] != list(range(len(PAGES)))
    assert when[0] < len(PAGES), "long before the last page was asked for"
    same([read.transcript for read in sorted(reads, key=lambda read: read.index)], expected)
    for read in reads:
        if read.transcript.token_ids:
            assert read.prefill_s > 0
            assert read.generate_s > 0
            assert read.num_steps == len(read.transcript.token_ids) - 1
    shared = sum(read.prefill_s + read.generate_s for read in reads)
    assert 0.7 * wall_s < shared < wall_s


@pytest.mark.slow
def test_a_reading_that_is_broken_off_leaves_the_reader_usable(reader: Reader) -> None:
    expected = decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS).transcripts
    paged = PagedReader(reader, SMALL)

    def failing() -> Iterator[PageRequest]:
        yield from requests()[:4]
        raise RuntimeError("no more")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="no more"):
            list(paged.read(failing(), PROMPT))
        broken = paged.read(requests(), PROMPT)
        next(broken)
        broken.close()  # type: ignore[attr-defined]
    assert paged.ready()
    same(decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS, paged=paged).transcripts, expected)


def test_drafts_reach_the_engine(reader: Reader) -> None:
    expected = decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS)
    drafts = [Knowing(page.token_ids) for page in expected.transcripts]
    paged = PagedReader(reader, SMALL)
    found = decode_pages(reader, PAGES, prompt=PROMPT, settings=LIMITS, drafts=drafts, paged=paged)
    same(found.transcripts, expected.transcripts)
    assert paged.stats.accepted > 0
    assert sum(found.num_steps) < sum(expected.num_steps)


def test_a_prompt_is_spliced_as_everywhere(reader: Reader) -> None:
    ids = encode_prompt(reader.tokenizer, "Read <image> Read w9", bos_id=reader.bos_id)
    made = paged_reader._Prompts(reader, ids)
    (expected,) = splice(reader.model.language_model.get_input_embeddings(), ids, [PAGES[0].tokens_TD])
    for _ in range(2):
        assert torch.equal(made.around(PAGES[0].tokens_TD), expected)
    assert made.num_tokens == len(ids)
