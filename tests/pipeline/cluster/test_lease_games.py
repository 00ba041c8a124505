"""Workers that come, read at their own speeds and are lost, at random: every page is read by one of them, once."""

import asyncio
import itertools
import random
from collections import Counter
from contextlib import closing

import pytest

from pipeline.cluster import leases as module
from pipeline.cluster.leases import Leases
from pipeline.ingest.inputs import Inputs
from pipeline.ingest.walk import Found
from tests.pipeline.cluster.test_leases import files


class Game:
    """A run. pages: path -> how many it has. stored: how often each page was."""

    def __init__(self, leases: Leases, pages: dict[str, int], chance: random.Random) -> None:
        self.leases, self.pages, self.chance = leases, pages, chance
        self.planned: set[str] = set()
        self.stored: Counter[tuple[str, int]] = Counter()
        self.numbers = itertools.count()
        self.deaths_left = 12

    async def place(self) -> None:
        """Starts a worker again until all is read; some die."""
        while not self.leases.is_done:
            number = next(self.numbers)
            await Player(self, number).play()
            self.check()
            while not (self.leases.is_done or self.leases.is_worth_a_start):
                await asyncio.sleep(0)

    def check(self) -> None:
        """Counts what may be shared anew."""
        spare, owned, reading = Counter[int](), Counter[int](), Counter[int]()
        for file in self.leases._files.values():
            for worker, pages in file.owned.items():
                spare[worker] += len(file.spare(worker))
                owned[worker] += len(pages)
                reading[worker] += len((pages & file.begun) - file.apart)
        assert +spare == +self.leases._spare
        assert +owned == +self.leases._num_owned
        assert +reading == +self.leases._reading
        assert reading.total() == self.leases._num_reading


class Player:
    """A worker, as pipeline.run.flow is one: looks into files while it reads pages in their order."""

    def __init__(self, game: Game, number: int) -> None:
        self.game, self.number, self.speed = game, number, game.chance.random()
        self.queue: asyncio.Queue[tuple[str, int] | None] = asyncio.Queue()
        self.reading: set[tuple[str, int]] = set()

    async def play(self) -> None:
        tasks = [asyncio.create_task(self.discover()), asyncio.create_task(self.read())]
        try:
            await asyncio.gather(*tasks)
        except ZeroDivisionError:  # it dies
            for task in tasks:
                task.cancel()
            self.game.leases.leaves(self.number)
            await asyncio.gather(*tasks, self.taking, return_exceptions=True)
            self.game.leases.lost(self.number)

    def take(self) -> "asyncio.Task[list[Found]]":
        self.taking = asyncio.create_task(self.game.leases.take(self.number, 2))
        return self.taking

    async def discover(self) -> None:
        while found := await asyncio.shield(self.take()):
            for one in found:
                await self.pause()
                num_pages = self.game.pages[one.path]
                again = one.path in self.game.planned
                self.game.planned.add(one.path)
                for page in self.game.leases.planned(
                    self.number, one.path, one.path.upper(), range(num_pages), again=again
                ):
                    self.queue.put_nowait((one.path.upper(), page))
        self.queue.put_nowait(None)

    async def read(self) -> None:
        while (page := await self.queue.get()) is not None:
            await self.pause()
            if not self.game.leases.claim(self.number, *page):
                continue
            assert page not in self.reading
            self.reading.add(page)
            await self.pause()
            assert not self.game.leases.is_stored(*page)
            self.game.leases.stored(*page)
            self.game.stored[page] += 1
            self.reading.discard(page)

    async def pause(self) -> None:
        """Takes some turns of the others, and dies now and then."""
        while self.game.chance.random() > self.speed:
            await asyncio.sleep(0)
        if self.game.deaths_left and self.game.chance.random() < 0.01:
            self.game.deaths_left -= 1
            raise ZeroDivisionError


@pytest.mark.parametrize("seed", range(12))
def test_every_page_is_read_once(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_POLL_S", 0)
    monkeypatch.setattr(module, "_WORTH_LOADING", 1)
    monkeypatch.setattr(module, "_COUNT_S", 0)
    chance = random.Random(seed)
    pages = {name: chance.choice((0, 1, 1, 3, 40)) for name in "abcdefgh"}

    async def play() -> None:
        game = Game(Leases(inputs), pages, chance)
        await asyncio.wait_for(asyncio.gather(*(game.place() for _ in range(4))), 30)
        assert game.stored == Counter((path.upper(), page) for path in pages for page in range(pages[path]))

    with closing(Inputs(files(*pages))) as inputs:
        asyncio.run(play())
