"""Workers that read nothing: they say what real ones say, at a set rate, from a few threads of the run's own process.

What goes between them and the run is pickled, as by a pipe, so that the run's part of that is measured too.
"""

import heapq
import itertools
import pickle
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pipeline.cluster.request_handler import RequestHandler
from pipeline.cluster.worker_backend import Peer, WorkerBackend, WorkerLostError
from pipeline.cluster.worker_messages import Answer, Asked, FromWorker, Report, ToWorker
from pipeline.config.schema import Config
from pipeline.ingest.walk import Found
from storage.types import PagePlan
from tests.benchmarks.scale.made_pages import Corpus, Pages, sha256_of

# As the real ones: files asked for at a time, and how often they report what they do (pipeline.cluster.worker_channel).
_FILES, _REPORT_S = 2, 1.0
# Pages that a worker has planned before it takes another file, has in its model, and waits to see stored, at most.
_AHEAD, _IN_MODEL, _UNSTORED = 40, 16, 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How workers read. pages_per_s: each; None: as fast as pages are stored. report_s: between reports.

    lose_at: pages after which one of all workers is lost; None: none is.
    """

    pages_per_s: float | None = 22.0
    report_s: float = _REPORT_S
    lose_at: int | None = None


class StandIns(WorkerBackend):
    """A backend of workers that read nothing. num_stored: pages that were stored so far."""

    def __init__(self, size: int, corpus: Corpus, pages: Pages, pace: Pace, num_threads: int = 1) -> None:
        self.size, self.corpus, self.pages, self.pace = size, corpus, pages, pace
        self.num_stored = self.num_lost = 0
        self._clocks = [Clock() for _ in range(num_threads)]

    def start(self, place: int, config: Config, run_id: int, settings_hash: str) -> Peer:
        """Returns a worker that begins to read."""
        return _StandIn(place, self, self._clocks[place % len(self._clocks)], run_id)

    def close(self) -> None:
        """Ends the threads."""
        for clock in self._clocks:
            clock.close()

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the stand-ins themselves, which are none of the run's."""
        return sum(clock.cpu_s for clock in self._clocks)

    def stored(self) -> bool:
        """Counts a page; returns whether its worker is lost now."""
        self.num_stored += 1
        if self.pace.lose_at is None or self.num_lost or self.num_stored < self.pace.lose_at:
            return False
        self.num_lost += 1
        return True


class Clock:
    """A thread that does things at their time."""

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._new: queue.SimpleQueue[tuple[float, Callable[[], None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="stand-ins", daemon=True)
        self._thread.start()

    def at(self, due: float, task: Callable[[], None]) -> None:
        """Does something at a time of time.monotonic(). For any thread."""
        self._new.put((due, task))

    def close(self) -> None:
        """Ends the thread."""
        self._new.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            wait_s = self._due[0][0] - time.monotonic() if self._due else None
            try:
                new = (
                    self._new.get(timeout=wait_s) if wait_s is None or wait_s > 0 else self._new.get_nowait()
                )
            except queue.Empty:
                if self._due and self._due[0][0] <= time.monotonic():
                    heapq.heappop(self._due)[2]()
                    self.cpu_s = time.thread_time()
                continue
            if new is None:
                return
            heapq.heappush(self._due, (new[0], next(self._numbers), new[1]))


class _StandIn(Peer):
    """One worker. All but what a Peer has is done in its clock's thread."""

    def __init__(self, place: int, backend: StandIns, clock: Clock, run_id: int) -> None:
        self.number, self._backend, self._clock, self._run_id = place, backend, clock, run_id
        self._said: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._is_gone = False
        self._numbers = itertools.count()
        self._asked: dict[int, Callable[[Any], None]] = {}
        self._planned: deque[tuple[str, str, int]] = deque()
        self._in_model: deque[tuple[str, str, int]] = deque()
        self._claimed: deque[tuple[str, str, int]] = deque()
        self._num_planning = self._num_claiming = self._num_marking = self._num_storing = self._num_tokens = 0
        self._is_taking = self._has_all = False
        self._next_at = 0.0
        clock.at(0.0, self._begin)

    def receive(self) -> list[FromWorker]:
        """Returns the next message."""
        content = self._said.get()
        if content is None:
            raise WorkerLostError("it was lost")
        found: FromWorker = pickle.loads(content)
        return [found]

    def send(self, message: ToWorker) -> None:
        """Takes an answer; told to stop, it ends."""
        content = pickle.dumps(message)
        self._clock.at(0.0, lambda: self._take(pickle.loads(content)))

    def kill(self) -> None:
        """Ends it."""
        self._is_gone = True
        self._said.put(None)

    def _take(self, message: ToWorker) -> None:
        if self._is_gone:
            return
        if not isinstance(message, Answer):
            self._finish()
            return
        if message.error is not None:
            raise message.error
        self._asked.pop(message.number)(message.value)
        self._go_on()

    def _ask(self, then: Callable[[Any], None], ask: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self._say(pickle.dumps(Asked(number=self._number(then), ask=ask, args=args, kwargs=kwargs)))

    def _number(self, then: Callable[[Any], None]) -> int:
        number = next(self._numbers)
        self._asked[number] = then
        return number

    def _say(self, content: bytes) -> None:
        if not self._is_gone:
            self._said.put(content)

    def _begin(self) -> None:
        pace = self._backend.pace
        # Workers do not start in step.
        self._next_at = time.monotonic() + (self.number % 97) / 97 / (pace.pages_per_s or 1e3)
        self._say(pickle.dumps(Asked(number=None, ask=RequestHandler.started, args=("nowhere",))))
        self._report()
        self._go_on()

    def _report(self) -> None:
        if not self._is_gone:
            now = ("reading", self._num_tokens)
            self._say(pickle.dumps(Asked(number=None, ask=RequestHandler.at_work, args=now)))
            self._clock.at(time.monotonic() + self._backend.pace.report_s, self._report)

    def _go_on(self) -> None:
        """Asks for all that it lacks; returns while it waits for answers."""
        if not (self._has_all or self._is_taking or self._num_planning) and len(self._planned) < _AHEAD:
            self._is_taking = True
            self._ask(self._took, RequestHandler.take, _FILES)
        while self._planned and self._num_begun() < _IN_MODEL:
            page = self._planned.popleft()
            self._num_claiming += 1
            self._ask(partial(self._claim, page), RequestHandler.claim, page[1:])
        if self._claimed and not self._num_marking:
            pages = list(self._claimed)
            self._claimed.clear()
            self._num_marking = len(pages)
            keys = tuple(page[1:] for page in pages)
            self._ask(partial(self._marked, pages), RequestHandler.begin, keys, alone=False)
        self._read()
        if self._has_all and not (
            self._planned or self._num_begun() or self._num_planning or self._num_storing
        ):
            self._finish()

    def _num_begun(self) -> int:
        return self._num_claiming + len(self._claimed) + self._num_marking + len(self._in_model)

    def _claim(self, page: tuple[str, str, int], is_ours: bool) -> None:
        self._num_claiming -= 1
        if is_ours:
            self._claimed.append(page)

    def _took(self, files: list[Found]) -> None:
        self._is_taking, self._has_all = False, not files
        for file in files:
            self._num_planning += 1
            document = self._backend.corpus.document(file.path)
            self._ask(partial(self._plan, file.path), RequestHandler.plan, document)

    def _plan(self, path: str, plan: PagePlan) -> None:
        self._num_planning -= 1
        sha256 = sha256_of(path)
        self._planned.extend((path, sha256, index) for index in plan.to_read)

    def _marked(self, pages: list[tuple[str, str, int]], _: object) -> None:
        self._num_marking = 0
        self._in_model.extend(pages)

    def _read(self) -> None:
        pages_per_s, now = self._backend.pace.pages_per_s, time.monotonic()
        while self._in_model and self._num_storing < _UNSTORED:
            if pages_per_s is not None:
                if self._next_at > now:
                    if not self._is_gone:
                        self._wake(self._next_at)
                    return
                self._next_at = max(self._next_at, now - 1.0) + 1 / pages_per_s
            path, sha256, index = self._in_model.popleft()
            self._num_storing += 1
            self._num_tokens += 640
            number = self._number(self._stored)
            self._say(self._backend.pages.store(number, self._run_id, path, sha256, index))

    def _wake(self, due: float) -> None:
        if getattr(self, "_woken_at", None) != due:
            self._woken_at = due
            self._clock.at(due, self._go_on)

    def _stored(self, _: object) -> None:
        self._num_storing -= 1
        if self._backend.stored():
            self.kill()

    def _finish(self) -> None:
        if not self._is_gone:
            self._say(pickle.dumps(Report(wall_s=1.0)))
            self.kill()
