"""Files go to one worker at a time, and come back from a lost one until all of their pages are stored."""

import asyncio
from collections.abc import Iterator
from contextlib import closing

from pipeline.cluster.leases import Leases
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import Candidate, Found


def files(*paths: str) -> Iterator[Found]:
    yield from (Candidate(path=path, relative=path) for path in paths)


def names(found: list[Found]) -> list[str]:
    return [one.path for one in found]


def test_a_lost_worker_s_files_go_to_another_but_for_those_that_are_done() -> None:
    async def play() -> None:
        leases = Leases(inputs)
        assert names(await leases.take(0, 3)) == ["a", "b", "c"]
        leases.planned(0, "a", [0, 1])
        leases.planned(0, "b", [])
        leases.stored(0, "a", 0)
        assert names(await leases.take(1, 3)) == ["d"]
        assert leases.is_over
        leases.stored(0, "a", 1)
        assert leases.lost(0) == 1
        assert not leases.is_over
        assert names(await leases.take(1, 3)) == ["c"]
        assert await leases.take(1, 3) == []
        assert leases.lost(1) == 2
        assert names(await leases.take(2, 1)) == ["d"]

    with closing(Inputs(files("a", "b", "c", "d"))) as inputs:
        asyncio.run(play())


def test_workers_that_ask_at_once_get_different_files() -> None:
    async def play() -> list[list[str]]:
        leases = Leases(inputs)
        return [names(got) for got in await asyncio.gather(*(leases.take(worker, 2) for worker in range(4)))]

    with closing(Inputs(files(*"abcdef"))) as inputs:
        taken = asyncio.run(play())
    assert sorted(name for got in taken for name in got) == list("abcdef")
