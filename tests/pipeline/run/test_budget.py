"""Who may hold how many bytes, and in which order; cancelled waiters leave nothing behind."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.settings import MAX_INK_PX, TileSettings
from pipeline.run.budget import Budget, Share, heaviest_page_bytes
from tests.pipeline.runs import in_loop


async def settle() -> None:
    """Lets every task go on until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


@given(
    st.lists(st.tuples(st.integers(1, 100), st.integers(1, 100)), max_size=30),
    st.integers(1, 300),
)
@in_loop
async def test_every_page_comes_in_turn_and_within_the_budget(
    pages: list[tuple[int, int]], max_bytes: int
) -> None:
    """pages: what each takes at first, and what it turns out to weigh, as a rendered page does."""
    budget, entered = Budget(max_bytes), []
    held: dict[int, int] = {}

    async def page(number: int, most: int, real: int) -> None:
        await budget.take(most)
        entered.append(number)
        held[number] = most
        assert sum(held.values()) <= max_bytes or len(held) == 1
        for _ in range(number * 7 % 5):
            await asyncio.sleep(0)
        budget.add(min(real, most) - most)
        held[number] = min(real, most)
        for _ in range(number * 11 % 7):
            await asyncio.sleep(0)
        budget.add(-held.pop(number))

    async with asyncio.TaskGroup() as tasks:
        for number, (most, real) in enumerate(pages):
            tasks.create_task(page(number, most, real))
    assert entered == list(range(len(pages)))
    assert budget.held_bytes == 0


@in_loop
async def test_a_single_page_may_be_heavier_than_the_budget() -> None:
    budget = Budget(10)
    await asyncio.wait_for(budget.take(50), 1)
    second = asyncio.create_task(budget.take(1))
    await settle()
    assert not second.done()
    budget.add(-50)
    await asyncio.wait_for(second, 1)
    assert budget.held_bytes == 1


@in_loop
async def test_nobody_small_gets_in_front_of_somebody_heavy() -> None:
    budget = Budget(10)
    await budget.take(8)
    heavy, small = asyncio.create_task(budget.take(9)), asyncio.create_task(budget.take(1))
    await settle()
    assert not heavy.done()
    assert not small.done()
    budget.add(-8)
    await asyncio.wait_for(asyncio.gather(heavy, small), 1)
    assert budget.held_bytes == 10


@pytest.mark.parametrize("granted", [False, True])
def test_a_cancelled_waiter_holds_nothing(granted: bool) -> None:
    async def flow() -> None:
        budget = Budget(10)
        await budget.take(10)
        waiter = asyncio.create_task(budget.take(4))
        await settle()
        if granted:  # its turn has come, but it is cancelled before it could go on
            budget.add(-10)
            assert budget.held_bytes == 4
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
        assert budget.held_bytes == (0 if granted else 10)
        if not granted:
            budget.add(-10)
        await asyncio.wait_for(budget.take(10), 1)
        assert budget.held_bytes == 10

    asyncio.run(flow())


@in_loop
async def test_where_a_heavy_waiter_is_cancelled_those_behind_it_go_on() -> None:
    budget = Budget(10)
    await budget.take(6)
    heavy, small = asyncio.create_task(budget.take(8)), asyncio.create_task(budget.take(4))
    await settle()
    heavy.cancel()
    await asyncio.wait_for(small, 60)
    assert budget.held_bytes == 10


@in_loop
async def test_the_time_that_was_waited_is_counted() -> None:
    budget = Budget(10)
    await budget.take(10)
    assert budget.waited_s == 0
    began = time.monotonic()
    waiter = asyncio.create_task(budget.take(1))
    await settle()
    waits = time.monotonic()
    await asyncio.sleep(0.05)
    waited_s = time.monotonic() - waits
    budget.add(-10)
    await waiter
    assert waited_s <= budget.waited_s <= time.monotonic() - began


def test_the_heaviest_page() -> None:
    assert heaviest_page_bytes(TileSettings(mode="gundam", max_tiles=6)) == 3 * (1024**2 + 6 * 640**2)
    assert heaviest_page_bytes(TileSettings(mode="tiny", max_tiles=6)) == 3 * 512**2
    words = heaviest_page_bytes(TileSettings(mode="tiny", words="lines"))
    assert words == 3 * 512**2 + MAX_INK_PX
    assert heaviest_page_bytes(TileSettings(mode="tiny", words="layer")) == 3 * 512**2


def test_a_share_gives_back_what_it_holds_and_no_more() -> None:
    async def use() -> list[int]:
        budget = Budget(100)
        await budget.take(60)
        share, held = Share(budget, 60, 10), []
        for change in (lambda: share.change_to(40), lambda: share.give_back(15), lambda: share.give_back(99)):
            change()
            held.append(budget.held_bytes)
        return held

    assert asyncio.run(use()) == [40, 25, 10]
