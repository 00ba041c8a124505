"""A worker's channel to its run: questions and their answers, and what a run's parts ask of it."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, Concatenate, ParamSpec, TypeVar

from pipeline.cluster.request_handler import RequestHandler
from pipeline.cluster.worker_messages import Asked, FromWorker, StopNow, ToWorker
from pipeline.ingest.walk import Candidate, Found
from pipeline.meter import StageUse
from pipeline.reports.progress import Silent
from pipeline.stages.store import packed
from pipeline.stop import Stop
from pipeline.types import InputFile, Page, PageResult, Phase
from storage.records.store import Store
from storage.types import PagePlan

P = ParamSpec("P")
R = TypeVar("R")
# A method of the run's handler: of the worker that asks, and more.
Ask = Callable[Concatenate[RequestHandler, int, P], Coroutine[Any, Any, R]]
# Few, so that no worker has files waiting while another has none.
_FILES = 2
# Seconds between two reports of what a worker does: a thousand workers are a thousand messages in each.
_REPORT_S = 1.0


class WorkerChannel:
    """Asks the run. send: delivers a message; for any thread. stop: requested when the run tells the worker to end."""

    def __init__(self, send: Callable[[FromWorker], None]) -> None:
        self.send, self._numbers, self.stop = send, itertools.count(), Stop()
        self._open: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()

    def ask(self, what: Ask[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Has the run's handler answer a question, and returns the future of the answer."""
        future: Future[Any] = Future()
        with self._lock:
            number = next(self._numbers)
            self._open[number] = future
        self.send(Asked(number=number, ask=what, args=args, kwargs=kwargs))
        return future

    def tell(self, what: Ask[P, R], *args: P.args, **kwargs: P.kwargs) -> None:
        """Tells the run's handler what needs no answer."""
        self.send(Asked(number=None, ask=what, args=args, kwargs=kwargs))

    def hear(self, message: ToWorker) -> None:
        """Takes what the run sends: an answer settles its question. For any thread."""
        if isinstance(message, StopNow):
            self.stop.request(message.reason)
            return
        with self._lock:
            future = self._open.pop(message.number)
        if not future.set_running_or_notify_cancel():
            return
        if message.error is not None:
            future.set_exception(message.error)
        else:
            future.set_result(message.value)


class RemoteRecords:
    """The run's database, as pipeline.run.writer.Records."""

    def __init__(self, channel: WorkerChannel) -> None:
        self._channel = channel

    def call(self, task: Callable[Concatenate[Store, P], R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Has the run call task(store, ...)."""
        args = tuple(packed(one) if isinstance(one, PageResult) else one for one in args)  # type: ignore[assignment]
        return self._channel.ask(RequestHandler.call, task, *args, **kwargs)

    def begin(self, run_id: int, pages: Sequence[tuple[str, int]], *, alone: bool = False) -> Future[None]:
        """Has the run mark pages."""
        return self._channel.ask(RequestHandler.begin, tuple(pages), alone=alone)

    def end(self, run_id: int) -> Future[None]:
        """Has the run remove this worker's marks."""
        return self._channel.ask(RequestHandler.end_marks)

    def look(self) -> Future[None]:
        """The run looks after its database."""
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def use(self, wall_s: float) -> StageUse:
        """Storing takes the run's time, none of the worker's."""
        return StageUse(name="store", busy=0.0, waiting_input=1.0, waiting_output=0.0)


class RemoteInputs:
    """The run's files, as pipeline.ingest.inputs.InputFiles."""

    def __init__(self, channel: WorkerChannel) -> None:
        self._channel = channel
        self._taken: list[Found] = []
        self.num_taken = 0

    def begin(self) -> bool:
        """Waits for the first files; returns whether there are any."""
        self._taken = self._channel.ask(RequestHandler.take, _FILES).result()
        return bool(self._taken)

    def take(self) -> Future[Found | None]:
        """Returns the future of the next file."""
        found: Future[Found | None] = Future()
        if self._taken:
            found.set_result(self._next())
        else:
            self._channel.ask(RequestHandler.take, _FILES).add_done_callback(
                lambda asked: self._fill(asked, found)
            )
        return found

    def _fill(self, asked: Future[list[Found]], found: Future[Found | None]) -> None:
        if (error := asked.exception()) is not None:
            found.set_exception(error)
            return
        self._taken = asked.result()
        found.set_result(self._next())

    def _next(self) -> Found | None:
        if not self._taken:
            return None
        self.num_taken += 1
        return self._taken.pop(0)


class RemoteProgress(Silent):
    """Tells the run what is being done; the run itself counts documents and pages."""

    def __init__(self, channel: WorkerChannel) -> None:
        self._channel = channel
        self._told: tuple[Phase, int] | None = None
        self._told_at = float("-inf")

    def at_work(self, phase: Phase, num_tokens: int) -> None:
        """Tells phase and tokens where they changed: a new phase at once, tokens now and then."""
        now, seconds = (phase, num_tokens), time.monotonic()
        is_new = self._told is None or phase != self._told[0]
        if is_new or (now != self._told and seconds - self._told_at >= _REPORT_S):
            self._told, self._told_at = now, seconds
            self._channel.tell(RequestHandler.at_work, *now)


class RemotePlanner:
    """The run's plans, as pipeline.run.discovery.Planner."""

    def __init__(self, channel: WorkerChannel) -> None:
        self._channel = channel

    async def known(self, found: Candidate) -> InputFile | None:
        """Returns a file that has not changed since a run looked into it; None: it must be probed."""
        return await asyncio.wrap_future(self._channel.ask(RequestHandler.known, found))

    async def plan(self, document: InputFile) -> PagePlan:
        """Returns the run's plan of a document: the pages that this worker is to read."""
        return await asyncio.wrap_future(self._channel.ask(RequestHandler.plan, document))

    async def claim(self, page: Page) -> bool:
        """Returns whether no other worker was given the page."""
        key = (page.sha256, page.page_index)
        return await asyncio.wrap_future(self._channel.ask(RequestHandler.claim, key))
