"""Pages on their way to a slot."""

from collections.abc import Iterator

import pytest
import torch

from ocr.decoding.gpu.schedule import scheduler
from ocr.decoding.gpu.schedule.entries import Page
from ocr.decoding.gpu.schedule.scheduler import Arrivals
from ocr.decoding.sequence.page_reading import DecodeSettings, start_reading
from tests.ocr.tiny_reader import ChainReader, Reader, tokenizer


def item(max_tokens: int = 40) -> Page:
    reader = Reader(model=ChainReader({}), tokenizer=tokenizer())
    reading = start_reading(reader, 10, DecodeSettings(max_tokens=max_tokens))
    return Page(prompt=lambda: torch.zeros(10, 64), num_prompt=10, reading=reading)


def test_no_more_is_pulled_than_there_are_slots() -> None:
    asked = 0

    def source() -> Iterator[Page | None]:
        nonlocal asked
        while True:
            asked += 1
            yield item()

    found = Arrivals(source())
    assert found.pull(3) == []
    assert found.pull(3) == []
    assert [page.index for page in found.waiting] == [0, 1, 2]
    assert asked == 3


def test_nothing_yet_is_not_the_end_and_takes_no_place() -> None:
    found = Arrivals(iter([None, item(), None, None, item()]))
    for count in (0, 1, 1, 2):
        found.pull(4)
        assert len(found.waiting) == count
        assert found.exhausted == (count == 2)
    assert [page.index for page in found.waiting] == [0, 1]


def test_pages_without_room_come_back_at_once_and_keep_their_place() -> None:
    found = Arrivals(iter([item(10), item(), item(3), item()]))
    assert [page.index for page in found.pull(4)] == [0, 2]
    assert [page.index for page in found.waiting] == [1, 3]


@pytest.mark.parametrize("more", [True, False])
def test_few_pages_wait_a_while_for_others(more: bool) -> None:
    found = Arrivals(iter([item(), *[None] * (99 if more else 0)]))
    found.pull(4)
    answers = [found.are_enough(2) for _ in range(2 * scheduler._PATIENCE + 2)]
    patience = scheduler._PATIENCE if more else 0
    assert answers[: patience + 1] == [*[False] * patience, True]
    assert found.are_enough(1)


def test_what_the_source_raises_comes_out() -> None:
    def source() -> Iterator[Page | None]:
        yield item()
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        Arrivals(source()).pull(4)
