"""A run's parts that no real worker shows in a short time."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.cluster import cluster_run
from pipeline.cluster.cluster_run import _listen
from pipeline.cluster.request_handler import RequestHandler
from pipeline.cluster.worker_backend import Peer, WorkerLostError
from pipeline.cluster.worker_messages import Asked, FromWorker, ToWorker


class Talkative(Peer):
    """Says a hundred things as fast as it is heard, then ends."""

    def __init__(self) -> None:
        self.num_said = 0

    def receive(self) -> list[FromWorker]:
        if self.num_said == 100:
            raise WorkerLostError("it has ended")
        self.num_said += 1
        return [Asked(number=None, ask=RequestHandler.at_work, args=("reading", self.num_said))]

    def send(self, message: ToWorker) -> None:
        raise AssertionError

    def kill(self) -> None:
        raise AssertionError


def test_a_worker_is_not_heard_further_while_much_of_it_waits_for_answers() -> None:
    async def all_heard() -> list[int]:
        peer, room = Talkative(), threading.Semaphore(3)
        messages: asyncio.Queue[list[FromWorker] | WorkerLostError] = asyncio.Queue()
        arguments = (peer, messages, asyncio.get_running_loop(), room)
        threading.Thread(target=_listen, args=arguments, daemon=True).start()
        heard = []
        while not isinstance(received := await messages.get(), WorkerLostError):
            heard += [asked.args[1] for asked in received if isinstance(asked, Asked)]
            if len(heard) == 3:
                await asyncio.sleep(0.05)
                assert (peer.num_said, messages.empty()) == (4, True)
            if len(heard) >= 3:
                room.release()
        return heard

    assert asyncio.run(all_heard()) == list(range(1, 101))


class Slot(cluster_run.Workers):
    """Workers with one slot, whose workers are all lost. at_each: pages that each stores before. lost: which were."""

    def __init__(self, at_each: int, num_pages: int) -> None:
        peer = SimpleNamespace(kill=lambda: None)
        backend: Any = SimpleNamespace(size=1, start=lambda *_: peer)
        ledger: Any = SimpleNamespace(config=None, run_id=1, settings_hash="")
        super().__init__(ledger, backend, Any)
        self._at_each, self.num_left = at_each, num_pages
        self.lost: list[int] = []

    @property
    def is_done(self) -> bool:
        return self.num_left <= 0

    async def _serve(self, number: int, peer: Any, handler: Any) -> None:
        for _ in range(self._at_each):
            self._status.stored(number)
        self.num_left -= self._at_each
        raise WorkerLostError("the machine is gone")

    async def play(self) -> None:
        async def lose(number: int) -> int:
            self.lost.append(number)
            return 0

        handler: Any = SimpleNamespace(lost=lose)
        leases: Any = self
        await self._slot(0, handler, leases)

    is_worth_a_start = True


@pytest.mark.parametrize(
    ("at_each", "num_lost"), [(1, 3 * cluster_run._MOST_LOSSES), (0, cluster_run._MOST_LOSSES)]
)
def test_a_slot_is_given_up_only_where_workers_are_lost_without_getting_anywhere(
    at_each: int, num_lost: int
) -> None:
    slot = Slot(at_each, 3 * cluster_run._MOST_LOSSES)
    asyncio.run(slot.play())
    assert slot.lost == list(range(num_lost)), "each is told to the handler, which gives its pages to others"
