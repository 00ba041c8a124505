"""The reader around the paged engine, on a CPU: the same pages batch after batch, and what happens without memory."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from ocr.decoding.gpu import reader as paged_reader
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.reader import PagedReader, UnusableError
from ocr.decoding.gpu.schedule.entries import EngineSettings
from ocr.decoding.requests import PageRequest
from ocr.model.prompt import PromptError, encode_prompt
from ocr.types import Transcript
from tests.ocr.decoding.gpu.test_paged_engine import FREE, PAGES, PROMPT, SMALL, random_reader, same
from tests.ocr.decoding.plain import plain_texts, splice
from tests.ocr.decoding.test_reading import in_order, requests
from tests.ocr.tiny_reader import Reader

LIMITS = [replace(FREE, max_tokens=count) for count in (120, 22, 23, 10, 90, 34, 8, 64)]


def texts(paged: PagedReader) -> list[Transcript]:
    return in_order(paged.read(requests(PAGES, LIMITS)))


@pytest.fixture
def reader() -> Reader:
    return random_reader(eos_id=-1)


def test_no_pages_and_a_wrong_prompt(reader: Reader) -> None:
    paged = PagedReader(reader, SMALL, PROMPT)
    assert list(paged.read([])) == []
    with pytest.raises(PromptError):
        PagedReader(reader, SMALL, "none")


def test_memory_that_runs_out_reaches_the_caller_and_the_next_batch_has_an_engine(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = plain_texts(reader, PAGES, prompt=PROMPT, settings=LIMITS)
    paged = PagedReader(reader, SMALL, PROMPT)

    def failing(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(reader.model.language_model, "forward", failing)
        with pytest.raises(torch.OutOfMemoryError):
            texts(paged)
    assert paged.ready()
    same(texts(paged), expected)


def test_without_room_for_an_engine_it_is_not_ready(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    paged = PagedReader(reader, SMALL, PROMPT)
    paged.close()

    def too_little(*_: Any, **__: Any) -> None:
        raise ValueError("does not hold one page")

    monkeypatch.setattr(paged_reader, "PagedEngine", too_little)
    assert not paged.ready()


def test_without_kernels_none_is_opened(reader: Reader) -> None:
    with pytest.raises(UnusableError, match="here 16"):
        PagedReader.open(reader, prompt=PROMPT, slots=4, max_tokens=128)


def test_opening_tries_the_engine(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[EngineSettings] = []

    class Watched(PagedEngine):
        def __init__(self, loaded: Any, settings: EngineSettings) -> None:
            made.append(settings)
            super().__init__(loaded, settings)

    monkeypatch.setattr(paged_reader, "kernels_take", lambda *_: True)
    monkeypatch.setattr(paged_reader, "PagedEngine", Watched)
    paged = PagedReader.open(reader, prompt=PROMPT, slots=4, max_tokens=128)
    assert (made[0].slots, made[0].max_tokens, made[0].kv_share) == (4, 128, 0.5)
    assert paged.ready()
    assert paged._engine is not None
    assert paged._engine._in_flight.launched > 0

    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(reader.model.language_model, "forward", failing)
    with pytest.raises(RuntimeError, match="no such kernel"):
        PagedReader.open(reader, prompt=PROMPT, slots=4, max_tokens=128)


@pytest.mark.slow
def test_pages_come_out_as_they_finish(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", time.thread_time)  # what other processes take is left out
    expected = plain_texts(reader, PAGES, prompt=PROMPT, settings=LIMITS)
    asked = 0

    def source() -> Iterator[PageRequest | None]:
        nonlocal asked
        for request in requests(PAGES, LIMITS):
            yield None
            asked += 1
            yield request

    paged = PagedReader(reader, replace(SMALL, slots=2), PROMPT)
    started = time.perf_counter()
    reads, when = [], []
    for read in paged.read(source()):
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
    shared = sum(read.prefill_s + read.generate_s for read in reads)
    assert 0.7 * wall_s < shared < wall_s


@pytest.mark.slow
def test_a_reading_that_is_broken_off_leaves_the_reader_usable(reader: Reader) -> None:
    expected = plain_texts(reader, PAGES, prompt=PROMPT, settings=LIMITS)
    paged = PagedReader(reader, SMALL, PROMPT)

    def failing() -> Iterator[PageRequest]:
        yield from requests(PAGES, LIMITS)[:4]
        raise RuntimeError("no more")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="no more"):
            list(paged.read(failing()))
        broken = paged.read(requests(PAGES, LIMITS))
        next(broken)
        broken.close()  # type: ignore[attr-defined]
    assert paged.ready()
    same(texts(paged), expected)


def test_a_page_stands_within_its_prompt(reader: Reader) -> None:
    ids = encode_prompt(reader.tokenizer, "Read <image> Read w9", bos_id=reader.bos_id)
    made = paged_reader.Prompts(reader, ids)
    (expected,) = splice(reader.model.language_model.get_input_embeddings(), ids, [PAGES[0].tokens_TD])
    for _ in range(2):
        assert torch.equal(made.around(PAGES[0].tokens_TD), expected)
    assert made.num_tokens == len(ids)
