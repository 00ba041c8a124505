"""decode_pages through the paged engine, on a CPU: the same pages as without, and what happens without memory."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from ocr import decoding
from ocr.decoding import decode_pages
from ocr.paged import reader as paged_reader
from ocr.paged.engine import PagedEngine
from ocr.paged.reader import PagedReader, UnusableError
from ocr.paged.types import EngineSettings
from ocr.prompt import PromptError
from tests.ocr.paged.test_engine import FREE, PAGES, PROMPT, SMALL, random_reader, same
from tests.ocr.tiny_reader import Reader

LIMITS = [replace(FREE, max_tokens=count) for count in (120, 22, 23, 10, 90, 34, 8, 64)]


@pytest.fixture
def reader() -> Reader:
    return random_reader(eos_id=-1)


def no_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    def unused(*_: Any, **__: Any) -> None:
        raise AssertionError("read without the paged engine")

    monkeypatch.setattr(decoding, "Engine", unused)


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
    tried: list[int] = []

    class Watched(PagedEngine):
        def __init__(self, loaded: Any, settings: EngineSettings) -> None:
            made.append(settings)
            super().__init__(loaded, settings)

        def warm_up(self, rows: Any = ()) -> None:
            tried.extend(rows)

    monkeypatch.setattr(paged_reader, "kernels_take", lambda *_: True)
    monkeypatch.setattr(paged_reader, "PagedEngine", Watched)
    paged = PagedReader.open(reader, slots=4, max_tokens=128)
    assert (made[0].slots, made[0].max_tokens, made[0].kv_share) == (4, 128, 0.5)
    assert {1, 2, 4} <= set(tried)
    assert paged.ready()

    def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no such kernel")

    monkeypatch.setattr(reader.model.language_model, "forward", failing)
    with pytest.raises(RuntimeError, match="no such kernel"):
        PagedReader.open(reader, slots=4, max_tokens=128)
