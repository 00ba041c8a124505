"""A run's parts that no real worker shows in a short time."""

import asyncio
import threading

from pipeline.cluster.cluster_run import _listen
from pipeline.cluster.crew import Peer, WorkerLostError
from pipeline.cluster.worker_messages import Asked, AtWork, ToWorker


class Talkative(Peer):
    """Says a hundred things as fast as it is heard, then ends."""

    number = 0

    def __init__(self) -> None:
        self.num_said = 0

    def receive(self) -> list[Asked]:
        if self.num_said == 100:
            raise WorkerLostError("it has ended")
        self.num_said += 1
        return [Asked(number=None, request=AtWork(phase="reading", num_tokens=self.num_said))]

    def send(self, message: ToWorker) -> None:
        raise AssertionError

    def kill(self) -> None:
        raise AssertionError


def test_a_worker_is_not_heard_further_while_much_of_it_waits_for_answers() -> None:
    async def all_heard() -> list[int]:
        peer, room = Talkative(), threading.Semaphore(3)
        messages: asyncio.Queue[list[Asked] | WorkerLostError] = asyncio.Queue()
        arguments = (peer, messages, asyncio.get_running_loop(), room)
        threading.Thread(target=_listen, args=arguments, daemon=True).start()
        heard = []
        while not isinstance(received := await messages.get(), WorkerLostError):
            heard += [asked.request.num_tokens for asked in received if isinstance(asked.request, AtWork)]
            if len(heard) == 3:
                await asyncio.sleep(0.05)
                assert (peer.num_said, messages.empty()) == (4, True)
            if len(heard) >= 3:
                room.release()
        return heard

    assert asyncio.run(all_heard()) == list(range(1, 101))
