"""Runs a batch with workers: each reads with models of its own, and this process stores all that they read.

What is done is what the database says. A worker that is lost costs the pages that it had; its files go to another.
"""

import asyncio
import contextlib
import logging
import threading
import time
from typing import Any

from pipeline.cluster.attendance import FINISHED, LOST, Attendance
from pipeline.cluster.crew import Crew, Peer, WorkerLostError
from pipeline.cluster.desk import Desk
from pipeline.cluster.leases import Leases
from pipeline.cluster.merging import merged_figures, merged_stages
from pipeline.cluster.worker_messages import Answer, Asked, Failed, Finished, Report, StopNow
from pipeline.config.schema import Config
from pipeline.errors import DeviceLostError, ModelProcessError, StopRequest, WorkersError, exit_code
from pipeline.ingest.inputs import Inputs
from pipeline.reports.summary import Progress, RunSummary
from pipeline.run.ending import check_database, count_left, finish, mark_missing
from pipeline.run.ledger import Ledger
from pipeline.run.runner import prepared
from pipeline.run.writer import Writer
from pipeline.stop import Stop
from pipeline.timing import Stopwatch
from storage.errors import DatabaseGoneError
from storage.records.store import Store

LOGGER = logging.getLogger("ocrbatch")
POLL_S = 0.1
_LOOK_S = 1.0
# How often the progress of each worker is told.
_TELL_S = 5.0
# How long workers that are told to stop may take to store what they have.
_END_S = 30.0
# Most messages of a worker that wait here for their answers; it waits itself with what it says then.
_MOST_OPEN = 512
# A place whose workers were lost so often, and stored nothing in between, is given up.
_MOST_LOSSES = 5


def run(
    crew: Crew, config: Config, progress: Progress, stop: Stop, summary: RunSummary | None = None
) -> RunSummary:
    """Reads every page that the configuration names with a crew's workers, and returns the run's summary.

    As `runner.run`, and raises what that raises; WorkersError where no worker is left.
    """
    ready = prepared(config, stop)
    with contextlib.ExitStack() as closing:
        writer = closing.enter_context(Writer(config.store.database))
        inputs = closing.enter_context(contextlib.closing(Inputs(ready.found)))
        run_id = writer.call(Store.start_run, ready.record).result()
        summary = summary or RunSummary(database=config.store.database)
        summary.run_id = run_id
        ledger = Ledger(ready.config, writer, run_id, ready.record.settings_hash, progress, summary)
        closing.callback(crew.close)
        return _Run(ledger, crew, stop, inputs).execute(inputs)


class _Run:
    def __init__(self, ledger: Ledger, crew: Crew, stop: Stop, inputs: Inputs) -> None:
        self._ledger, self._crew, self._stop = ledger, crew, stop
        self._leases = Leases(inputs)
        self._reports: list[Report] = []
        self._peers: dict[int, Peer] = {}
        self._attendance = Attendance()
        self._numbers = 0
        self._stopping = False
        self._told_at = float("-inf")
        self._ending: set[int] = set()

    def execute(self, inputs: Inputs) -> RunSummary:
        """Reads all inputs and returns the summary; a requested stop is a normal end. Always closes the run's row."""
        watch, summary = Stopwatch(), self._ledger.summary
        try:
            with watch.measure():
                asyncio.run(self._all())
                mark_missing(self._ledger, self._stop)
        except StopRequest as request:
            summary.stopped = str(request)
            count_left(summary, inputs)
        except BaseException as error:
            try:
                count_left(summary, inputs)
                self._finish(exit_code(error), watch.seconds)
                check_database(self._ledger)
            except DatabaseGoneError as gone:
                raise gone from error
            except Exception:  # the error that ended the run is the one to report
                LOGGER.debug("the run's end could not be recorded", exc_info=True)
            raise
        self._finish(summary.exit_code, watch.seconds)
        check_database(self._ledger)
        return summary

    async def _all(self) -> None:
        leases = self._leases
        desk = Desk(self._ledger, leases, self._attendance)
        watching = asyncio.create_task(self._watch(desk))
        places = asyncio.gather(
            *(self._place(place, desk, leases) for place in range(self._crew.size)), return_exceptions=False
        )
        try:
            await asyncio.wait((watching, places), return_when=asyncio.FIRST_COMPLETED)
            if not places.done():  # told to stop, or the database is gone
                await self._end(places)
                watching.result()
            await places
        finally:
            watching.cancel()
            places.cancel()
            for peer in self._peers.values():
                peer.kill()
            await asyncio.gather(watching, places, return_exceptions=True)
        if not leases.is_done:
            raise WorkersError("no worker is left: each was lost again and again; run again to go on")

    async def _end(self, places: "asyncio.Future[Any]") -> None:
        self._stopping = True
        for peer in self._peers.values():
            peer.send(StopNow(reason=self._stop.reason or "the run ends"))
        await asyncio.wait((places,), timeout=_END_S)

    async def _watch(self, desk: Desk) -> None:
        """Polls until the run has to end early. Raises: StopRequest, or the database's error."""
        looked, look = time.monotonic(), asyncio.wrap_future(self._ledger.writer.look())
        while True:
            self._stop.check()
            if look.done() and time.monotonic() - looked >= _LOOK_S:
                look.result()
                looked, look = time.monotonic(), asyncio.wrap_future(self._ledger.writer.look())
            self._show(desk)
            self._end_stalled()
            await asyncio.sleep(POLL_S)

    def _show(self, desk: Desk) -> None:
        """Reports what the workers do, and now and then notes it in the database, where `status` finds it."""
        desk.show()
        now = time.monotonic()
        if now - self._told_at < _TELL_S:
            return
        self._told_at, ledger = now, self._ledger
        uses = self._attendance.uses(self._leases.num_waiting)
        ledger.progress.workers(self._attendance.uses(self._leases.num_waiting, with_ended=False))
        ledger.summary.workers = uses
        ledger.writer.call(Store.note_flow, ledger.run_id, ledger.summary.flow())

    def _end_stalled(self) -> None:
        """Ends workers that got nowhere for too long; they are lost then."""
        stall_s = self._ledger.config.cluster.stall_s
        for number, peer in list(self._peers.items()):
            if stall_s is not None and self._is_stalled(number, stall_s):
                LOGGER.warning("a worker got nowhere for %.0f s and is ended (cluster.stall_s)", stall_s)
                self._ending.add(number)
                asyncio.get_running_loop().run_in_executor(None, peer.kill)

    def _is_stalled(self, number: int, stall_s: float) -> bool:
        num_pages = self._leases.num_waiting(number)
        return number not in self._ending and self._attendance.is_stalled(number, stall_s, num_pages)

    async def _place(self, place: int, desk: Desk, leases: Leases) -> None:
        """Keeps a worker at a place for as long as there is something to read. Raises what workers cannot get over."""
        losses = 0
        while losses < _MOST_LOSSES and not self._stopping:
            number = self._numbers
            self._numbers += 1
            self._attendance.began(number)
            config = self._ledger.config
            peer = await asyncio.to_thread(
                self._crew.start, place, config, self._ledger.run_id, self._ledger.settings_hash
            )
            self._peers[number] = peer
            try:
                await self._serve(number, peer, desk)
                self._leases.lost(number)  # it has nothing
                self._attendance.ended(number, FINISHED)
                losses = 0
            except WorkerLostError as error:
                num_pages = await desk.lost(number)
                losses = 1 if self._attendance.num_stored(number) else losses + 1
                self._attendance.ended(number, LOST)
                if not self._stopping:
                    LOGGER.warning("a worker was lost (%s) with %d pages; others read them", error, num_pages)
            finally:
                self._peers.pop(number, None)
                await asyncio.to_thread(peer.kill)
            while not (leases.is_done or leases.is_worth_a_start or self._stopping):
                await asyncio.sleep(POLL_S)  # others still read: what they leave may come back
            if leases.is_done:
                return

    async def _serve(self, number: int, peer: Peer, desk: Desk) -> None:
        """Answers a worker until it has finished. Raises: its error; WorkerLostError if it is gone before."""
        messages: asyncio.Queue[list[Asked] | WorkerLostError] = asyncio.Queue()
        loop, room = asyncio.get_running_loop(), threading.Semaphore(_MOST_OPEN)
        threading.Thread(
            target=_listen, args=(peer, messages, loop, room), name=f"peer-{number}", daemon=True
        ).start()
        answering: set[asyncio.Task[None]] = set()
        try:
            await self._hear(number, peer, desk, messages, answering, room)
        finally:
            self._leases.leaves(number)
            room.release(_MOST_OPEN)  # what is still said is not answered
            await asyncio.gather(*answering)

    async def _hear(
        self,
        number: int,
        peer: Peer,
        desk: Desk,
        messages: "asyncio.Queue[list[Asked] | WorkerLostError]",
        answering: set[asyncio.Task[None]],
        room: threading.Semaphore,
    ) -> None:
        has_finished = False
        while True:
            received = await messages.get()
            if isinstance(received, WorkerLostError):
                if has_finished:
                    return
                raise received
            for asked in received:
                match asked.request:
                    case Finished(report=report):
                        has_finished = True
                        self._reports.append(report)
                    case Failed(error=DeviceLostError() | ModelProcessError() as error):
                        raise WorkerLostError(str(error))
                    case Failed(error=error):
                        raise error
                    case _:
                        task = asyncio.create_task(self._answer(number, peer, desk, asked))
                        answering.add(task)
                        task.add_done_callback(answering.discard)
                        task.add_done_callback(lambda _: room.release())

    async def _answer(self, number: int, peer: Peer, desk: Desk, asked: Asked) -> None:
        try:
            value = await desk.answer(number, asked.request)
        except Exception as error:
            LOGGER.debug("a worker's request failed", exc_info=error)
            if asked.number is not None:
                peer.send(Answer(number=asked.number, error=error))
            return
        if asked.number is not None:
            peer.send(Answer(number=asked.number, value=value))

    def _finish(self, code: int, wall_s: float) -> None:
        self._ledger.summary.workers = self._attendance.uses(self._leases.num_waiting)
        for report in self._reports:
            self._ledger.summary.stored_after.merge(report.stored_after)
        stages = [*merged_stages(self._reports), self._ledger.writer.use(wall_s)]
        finish(self._ledger, merged_figures(self._reports), stages, code, wall_s)


def _listen(
    peer: Peer,
    messages: "asyncio.Queue[list[Asked] | WorkerLostError]",
    loop: asyncio.AbstractEventLoop,
    room: threading.Semaphore,
) -> None:
    received: list[Asked] | WorkerLostError = []
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
