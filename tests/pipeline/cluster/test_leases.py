"""Pages go to one worker at a time, and come back from a lost one until they are stored."""

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest

from pipeline.cluster.leases import Leases
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import Candidate, Found
from tests.pipeline.runs import in_loop


def files(*paths: str) -> Iterator[Found]:
    yield from (Candidate(path=path, relative=path) for path in paths)


def names(found: list[Found]) -> list[str]:
    return [one.path for one in found]


@pytest.fixture
def leases() -> Iterator[Leases]:
    """Leases of the files a to d."""
    with closing(Inputs(files("a", "b", "c", "d"))) as inputs:
        yield Leases(inputs)


def plan(leases: Leases, worker: int, path: str, num_pages: int, *, again: bool = False) -> list[int]:
    return leases.planned(worker, path, path.upper(), range(num_pages), again=again)


async def with_all(leases: Leases, worker: int, num_pages: int) -> None:
    """Gives a worker all files, of which only the first has pages."""
    await leases.take(worker, 4)
    for path, pages in zip("abcd", (num_pages, 0, 0, 0), strict=True):
        plan(leases, worker, path, pages)


@in_loop
async def test_a_lost_worker_s_files_go_to_another_but_for_those_that_are_done(leases: Leases) -> None:
    assert names(await leases.take(0, 3)) == ["a", "b", "c"]
    assert plan(leases, 0, "a", 2) == [0, 1]
    assert plan(leases, 0, "b", 0) == []
    leases.stored("A", 0)
    assert names(await leases.take(1, 3)) == ["d"]
    assert leases.is_over
    leases.stored("A", 1)
    assert leases.lost(0) == 1
    assert not leases.is_over
    assert names(await leases.take(1, 3)) == ["c"]
    assert await leases.take(1, 3) == []
    assert leases.lost(1) == 2
    assert names(await leases.take(2, 1)) == ["d"]
    assert not leases.is_done


def test_workers_that_ask_at_once_get_different_files(leases: Leases) -> None:
    async def play() -> list[list[str]]:
        return [names(got) for got in await asyncio.gather(*(leases.take(worker, 2) for worker in range(4)))]

    assert sorted(name for got in asyncio.run(play()) for name in got) == list("abcd")


@in_loop
async def test_a_worker_with_nothing_to_do_gets_half_of_what_another_has_not_begun(leases: Leases) -> None:
    await with_all(leases, 0, 9)
    assert all(leases.claim(0, "A", page) for page in (0, 1, 2))
    assert names(await leases.take(1, 2)) == ["a"]
    assert plan(leases, 1, "a", 9, again=True) == [6, 7, 8]
    assert [leases.claim(0, "A", page) for page in (3, 6)] == [True, False]
    assert leases.claim(1, "A", 6)
    assert (leases.num_waiting(0), leases.num_waiting(1)) == (6, 3)
    for page in range(9):
        assert not leases.is_done
        leases.stored("A", page)
    assert leases.is_done


@in_loop
async def test_a_worker_waits_for_a_share_of_what_another_still_looks_into(leases: Leases) -> None:
    await leases.take(0, 4)
    for path in "abc":
        plan(leases, 0, path, 0)
    taking = asyncio.create_task(leases.take(1, 1))
    await asyncio.sleep(0.1)
    assert not taking.done()
    plan(leases, 0, "d", 6)
    assert names(await taking) == ["d"]
    assert plan(leases, 1, "d", 6, again=True) == [3, 4, 5]


@in_loop
async def test_a_lost_worker_loses_only_its_share_of_a_file(leases: Leases) -> None:
    await with_all(leases, 0, 8)
    await leases.take(1, 1)
    assert plan(leases, 1, "a", 8, again=True) == [4, 5, 6, 7]
    leases.claim(0, "A", 0)
    leases.claim(0, "A", 1)
    leases.stored("A", 0)
    assert leases.lost(0) == 1
    assert names(await leases.take(1, 1)) == ["a"]
    assert plan(leases, 1, "a", 8, again=True) == [1, 2, 3]
    assert leases.claim(1, "A", 1)  # though another had begun it
    assert (leases.is_stored("A", 0), leases.is_stored("A", 1)) == (True, False)


@in_loop
async def test_pages_that_a_worker_gets_back_are_not_lost_with_it(leases: Leases) -> None:
    await leases.take(0, 4)
    for path, pages in zip("abcd", (6, 2, 0, 0), strict=True):
        plan(leases, 0, path, pages)
    assert names(await leases.take(1, 2)) == ["b", "a"]
    assert all(leases.claim(0, "A", page) for page in range(4))
    assert names(await leases.take(2, 2)) == ["b"]
    assert plan(leases, 2, "b", 2, again=True) == [0, 1]
    assert leases.lost(2) == 1
    assert plan(leases, 1, "b", 2, again=True) == [0, 1]  # before it knew that they were another's
    assert leases.lost(1) == 2


@in_loop
async def test_a_page_that_comes_back_before_its_turn_is_read_once(leases: Leases) -> None:
    await with_all(leases, 0, 4)
    await leases.take(1, 1)
    assert plan(leases, 1, "a", 4, again=True) == [2, 3]
    assert not leases.claim(0, "A", 2)
    leases.lost(1)
    assert names(await leases.take(0, 1)) == ["a"]
    assert plan(leases, 0, "a", 4, again=True) == [2]  # the turn of 3 is still to come
    assert all(leases.claim(0, "A", page) for page in (0, 1, 2, 3))


@in_loop
async def test_a_page_that_is_given_back_while_its_turn_comes_is_read_once(leases: Leases) -> None:
    await with_all(leases, 0, 4)
    await leases.take(1, 1)
    assert plan(leases, 1, "a", 4, again=True) == [2, 3]
    assert all(leases.claim(0, "A", page) for page in (0, 1))
    assert names(await leases.take(0, 1)) == ["a"]  # 3 again, of which it was told before
    assert leases.claim(0, "A", 3)
    assert plan(leases, 0, "a", 4, again=True) == []
    assert not leases.claim(1, "A", 3)


@in_loop
async def test_a_worker_gets_nothing_of_others_before_it_has_begun_its_own(leases: Leases) -> None:
    await leases.take(0, 2)
    await leases.take(1, 2)
    for worker, path, num_pages in ((0, "a", 9), (0, "b", 0), (1, "c", 1), (1, "d", 0)):
        plan(leases, worker, path, num_pages)
    taking = asyncio.create_task(leases.take(1, 1))
    await asyncio.sleep(0.1)
    assert not taking.done()
    leases.claim(1, "C", 0)
    assert names(await taking) == ["a"]
    taking = asyncio.create_task(leases.take(0, 1))
    await asyncio.sleep(0.1)
    leases.leaves(0)
    assert await taking == []
    assert leases.lost(0) == 1


@in_loop
async def test_pages_that_are_given_up_are_waited_for_no_more(leases: Leases) -> None:
    await with_all(leases, 0, 2)
    leases.lost(0)
    await leases.take(1, 2)
    assert leases.planned(1, "a", "A", [1], again=True) == [1]
    leases.stored("A", 1)
    assert leases.is_done


@in_loop
async def test_a_copy_takes_no_pages_from_the_file_that_is_read(leases: Leases) -> None:
    await leases.take(0, 1)
    await leases.take(1, 1)
    assert plan(leases, 0, "a", 3) == [0, 1, 2]
    leases.lost(0)
    assert leases.planned(1, "b", "A", []) == []
    await leases.take(1, 1)
    assert plan(leases, 1, "a", 3, again=True) == [0, 1, 2]


@in_loop
async def test_a_file_that_is_done_is_not_planned_anew(leases: Leases) -> None:
    await with_all(leases, 0, 2)
    await leases.take(1, 1)
    leases.stored("A", 0)
    leases.stored("A", 1)
    assert leases.planned(1, "a", "A", [0, 1], again=True) == []
    assert leases.is_done


@in_loop
async def test_few_pages_and_those_read_last_stay_where_they_are(leases: Leases) -> None:
    await leases.take(0, 4)
    for path in "bcd":
        plan(leases, 0, path, 0)
    leases.planned(0, "a", "A", range(5), apart=[1, 2, 3, 4])
    assert await leases.take(1, 1) == []
    assert not leases.is_worth_a_start
    assert not leases.is_done


@in_loop
async def test_a_worker_with_nothing_to_do_waits_for_what_others_read_and_gets_it_if_they_are_lost(
    leases: Leases,
) -> None:
    await with_all(leases, 0, 3)
    assert all(leases.claim(0, "A", page) for page in range(3))
    leases.stored("A", 0)
    waiting = asyncio.create_task(leases.take(1, 2))
    await asyncio.sleep(0.15)
    assert not waiting.done()
    leases.lost(0)
    assert names(await asyncio.wait_for(waiting, 5)) == ["a"]
    assert leases.planned(1, "a", "A", [1, 2], apart=[1, 2], again=True) == [1, 2]
    # They were in the model of the one that was lost: they are read last, once there are no more files.
    assert await asyncio.wait_for(leases.take(1, 2), 5) == []


@in_loop
async def test_a_worker_that_waits_goes_on_once_all_is_stored(leases: Leases) -> None:
    await with_all(leases, 0, 1)
    assert leases.claim(0, "A", 0)
    waiting = asyncio.create_task(leases.take(1, 2))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    leases.stored("A", 0)
    assert await asyncio.wait_for(waiting, 5) == []


@in_loop
async def test_workers_that_have_put_off_pages_do_not_wait_for_each_other(leases: Leases) -> None:
    for worker, path in ((0, "a"), (1, "b")):
        assert names(await leases.take(worker, 1)) == [path]
        plan(leases, worker, path, 2)
    assert names(await leases.take(0, 2)) == ["c", "d"]
    for path in "cd":
        plan(leases, 0, path, 0)
    for worker, content in ((0, "A"), (1, "B")):
        assert all(leases.claim(worker, content, page) for page in range(2))
        leases.put_off(worker, content, 0)
    assert await asyncio.wait_for(asyncio.gather(leases.take(0, 2), leases.take(1, 2)), 5) == [[], []]
