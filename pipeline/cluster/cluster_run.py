"""Runs a batch with workers: each reads with models of its own, and this process stores all that they read.

What is done is what the database says. A worker that is lost costs the pages that it had; its files go to another.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator

from pipeline.cluster.leases import Leases
from pipeline.cluster.request_handler import RequestHandler
from pipeline.cluster.worker_backend import Peer, WorkerBackend, WorkerLostError
from pipeline.cluster.worker_messages import (
    Answer,
    Asked,
    Failed,
    FromWorker,
    LoadedOn,
    Report,
    StopNow,
    merged_figures,
    merged_stages,
)
from pipeline.cluster.worker_status import FINISHED, LOST, WorkerStatus
from pipeline.config.schema import Config
from pipeline.errors import DeviceLostError, ModelMemoryError, WorkersError
from pipeline.ingest.inputs import Inputs
from pipeline.meter import StageUse
from pipeline.reports.summary import ModelFigures, Progress, RunSummary
from pipeline.run.ending import POLL_S, watch
from pipeline.run.ledger import Ledger
from pipeline.run.runner import executed, prepared
from pipeline.stop import Stop
from storage.records.store import Store

LOGGER = logging.getLogger("ocrbatch")
# How often the progress of each worker is told.
_TELL_S = 5.0
# How long workers that are told to stop may take to store what they have.
_END_S = 30.0
# Most messages of a worker that wait here for their answers; it waits itself with what it says then.
_MOST_OPEN = 512
# A slot whose workers were lost so often, and stored nothing in between, is given up.
_MOST_LOSSES = 5


def run(
    backend: WorkerBackend,
    config: Config,
    progress: Progress,
    stop: Stop,
    summary: RunSummary | None = None,
    when_loaded: Callable[[LoadedOn], None] | None = None,
) -> RunSummary:
    """Reads every page that the configuration names with a backend's workers, and returns the run's summary.

    when_loaded: called whenever a worker has loaded its model. As `runner.run`, and raises what that raises;
    WorkersError where no worker is left.
    """

    @contextlib.contextmanager
    def opening(ledger: Ledger) -> Iterator[Workers]:
        with contextlib.closing(backend):
            yield Workers(ledger, backend, stop, when_loaded)

    return executed(prepared(config, stop), progress, stop, summary, opening)


class Workers:
    """The workers of one run, in as many slots as there is room for; as pipeline.run.runner.Reads."""

    def __init__(
        self,
        ledger: Ledger,
        backend: WorkerBackend,
        stop: Stop,
        when_loaded: Callable[[LoadedOn], None] | None = None,
    ) -> None:
        self._ledger, self._backend, self._stop, self._when_loaded = ledger, backend, stop, when_loaded
        self._reports: list[Report] = []
        self._peers: dict[int, Peer] = {}
        self._status = WorkerStatus()
        self._numbers = 0
        self._stopping = False
        self._told_at = float("-inf")
        self._ending: set[int] = set()
        # Slots that were not given up, also while a worker is only being started there.
        self._open_slots = set(range(backend.size))

    def read(self, inputs: Inputs) -> None:
        """Reads all inputs. Raises what ended it early; WorkersError where no worker is left."""
        self._leases = Leases(inputs)
        summary = self._ledger.summary
        try:
            asyncio.run(self._all())
        finally:
            summary.workers = self._status.uses(self._leases.num_waiting)

    def figures(self) -> ModelFigures:
        """Returns what all workers' models did."""
        return merged_figures(self._reports)

    def stages(self, wall_s: float) -> list[StageUse]:
        """Returns where the time of all workers' stages went, and that of storing."""
        return [*merged_stages(self._reports), self._ledger.writer.use(wall_s)]

    async def _all(self) -> None:
        leases = self._leases
        handler = RequestHandler(self._ledger, leases, self._status, self._when_loaded)
        watching = asyncio.create_task(watch(self._ledger, self._stop, lambda: self._look(handler)))
        slots = asyncio.gather(
            *(self._slot(slot, handler, leases) for slot in range(self._backend.size)),
            return_exceptions=False,
        )
        try:
            await asyncio.wait((watching, slots), return_when=asyncio.FIRST_COMPLETED)
            if not slots.done():  # told to stop, or the database is gone
                self._stopping = True
                for peer in self._peers.values():
                    peer.send(StopNow(reason=self._stop.reason or "the run ends"))
                await asyncio.wait((slots,), timeout=_END_S)
                watching.result()
            await slots
        finally:
            watching.cancel()
            slots.cancel()
            for peer in self._peers.values():
                peer.kill()
            await asyncio.gather(watching, slots, return_exceptions=True)
        if not leases.is_done:
            raise WorkersError("no worker is left: each was lost again and again; run again to go on")

    def _look(self, handler: RequestHandler) -> None:
        """Ends stalled workers; reports what all do, and now and then notes it in the database for `status`."""
        self._end_stalled()
        handler.show()
        now = time.monotonic()
        if now - self._told_at < _TELL_S:
            return
        self._told_at, ledger = now, self._ledger
        uses = self._status.uses(self._leases.num_waiting)
        ledger.progress.workers(self._status.uses(self._leases.num_waiting, with_ended=False))
        ledger.summary.workers = uses
        ledger.writer.call(Store.note_flow, ledger.run_id, ledger.summary.flow())

    def _end_stalled(self) -> None:
        """Kills workers without progress for `cluster.stall_s`; their pages are requeued."""
        if (stall_s := self._ledger.config.cluster.stall_s) is None:
            return
        for number, peer in list(self._peers.items()):
            num_pages = self._leases.num_waiting(number)
            if number not in self._ending and self._status.is_stalled(number, stall_s, num_pages):
                LOGGER.warning("a worker got nowhere for %.0f s and is ended (cluster.stall_s)", stall_s)
                self._ending.add(number)
                asyncio.get_running_loop().run_in_executor(None, peer.kill)

    async def _slot(self, slot: int, handler: RequestHandler, leases: Leases) -> None:
        """Runs a worker in one slot and restarts it when it is lost. Raises errors that a restart would not cure."""
        losses = 0
        while losses < _MOST_LOSSES and not self._stopping:
            number = self._numbers
            self._numbers += 1
            self._status.began(number)
            config = self._ledger.config
            peer = await asyncio.to_thread(
                self._backend.start, slot, config, self._ledger.run_id, self._ledger.settings_hash
            )
            self._peers[number] = peer
            try:
                await self._serve(number, peer, handler)
                self._leases.lost(number)  # it has nothing
                self._status.ended(number, FINISHED)
                losses = 0
            except ModelMemoryError as error:
                self._open_slots.discard(slot)
                if not self._open_slots:  # the last one is needed
                    raise
                LOGGER.warning(
                    "there is no room for a further model; going on without it, only slower: %s", error
                )
                await handler.lost(number)
                self._status.ended(number, LOST)
                return
            except WorkerLostError as error:
                num_pages = await handler.lost(number)
                losses = 1 if self._status.num_stored(number) else losses + 1
                self._status.ended(number, LOST)
                if not self._stopping:
                    LOGGER.warning("a worker was lost (%s) with %d pages; others read them", error, num_pages)
            finally:
                self._peers.pop(number, None)
                await asyncio.to_thread(peer.kill)
            while not (leases.is_done or leases.is_worth_a_start or self._stopping):
                await asyncio.sleep(POLL_S)  # others still read: what they leave may come back
            if leases.is_done:
                return
        self._open_slots.discard(slot)

    async def _serve(self, number: int, peer: Peer, handler: RequestHandler) -> None:
        """Answers a worker until it has finished. Raises: its error; WorkerLostError if it is gone before."""
        messages: asyncio.Queue[list[FromWorker] | WorkerLostError] = asyncio.Queue()
        loop, room = asyncio.get_running_loop(), threading.Semaphore(_MOST_OPEN)
        threading.Thread(
            target=_listen, args=(peer, messages, loop, room), name=f"peer-{number}", daemon=True
        ).start()
        answering: set[asyncio.Task[None]] = set()
        has_finished = False
        try:
            while not isinstance(received := await messages.get(), WorkerLostError):
                for message in received:
                    match message:
                        case Report():
                            has_finished = True
                            self._reports.append(message)
                        case Failed(error=DeviceLostError() as error):
                            raise WorkerLostError(str(error))
                        case Failed(error=error):
                            raise error
                        case Asked():
                            task = asyncio.create_task(self._answer(number, peer, handler, message))
                            answering.add(task)
                            task.add_done_callback(answering.discard)
                            task.add_done_callback(lambda _: room.release())
            if not has_finished:
                raise received
        finally:
            self._leases.leaves(number)
            room.release(_MOST_OPEN)  # what is still said is not answered
            await asyncio.gather(*answering)

    async def _answer(self, number: int, peer: Peer, handler: RequestHandler, asked: Asked) -> None:
        value, error = None, None
        try:
            value = await asked.ask(handler, number, *asked.args, **asked.kwargs)
        except Exception as raised:
            LOGGER.debug("a worker's request failed", exc_info=(error := raised))
        if asked.number is not None:
            peer.send(Answer(number=asked.number, value=value, error=error))


def _listen(
    peer: Peer,
    messages: "asyncio.Queue[list[FromWorker] | WorkerLostError]",
    loop: asyncio.AbstractEventLoop,
    room: threading.Semaphore,
) -> None:
    received: list[FromWorker] | WorkerLostError = []
    while not isinstance(received, WorkerLostError):
        try:
            received = peer.receive()
        except WorkerLostError as error:
            received = error
        else:
            for _ in received:
                room.acquire()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(messages.put_nowait, received)
