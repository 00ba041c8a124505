"""Runs the model in several processes: each page goes to the one that has the fewest pages.

An error in one of them ends the run, as with a model in this process. Only a process that finds no memory to load is
left out if there is another.
"""

import itertools
import logging
import multiprocessing
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import InvalidStateError
from contextlib import suppress
from functools import reduce
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from pipeline.config.schema import Config
from pipeline.device.processes.messages import (
    Close,
    Dropped,
    Ended,
    Failed,
    FromModel,
    Load,
    Loaded,
    Opened,
    Read,
    Said,
    Settled,
    ToModel,
)
from pipeline.device.processes.replica import serve
from pipeline.device.service import ModelService
from pipeline.device.sizes import decode_slots, encode_pages
from pipeline.device.threads.gate import Gate
from pipeline.device.threads.handover import Handover
from pipeline.device.tickets import LoadedOn, ReadOut, Ticket
from pipeline.errors import ModelMemoryError, ModelProcessError
from pipeline.ingest.workers.failed_tasks import death
from pipeline.ingest.workers.shared_memory import share
from pipeline.meter import StageUse
from storage.types import PageError

if TYPE_CHECKING:
    from encoders.graphs.stats import PathStats

LOGGER = logging.getLogger("ocrbatch")
# How long a process may take to end, including the time it waits for its own threads.
_END_S, _LOADING_END_S = 8.0, 0.5
_LAST_WORDS_S = 1.0
_PATIENCE_S = 0.1


class Replica:
    """One of the model's processes, as the run sees it. given: the pages that it has, by number."""

    def __init__(self, process: Any, connection: Connection, number: int) -> None:
        self.process, self.connection, self.number = process, connection, number
        self.given: dict[int, Ticket] = {}
        self.device: str | None = None
        self.decoded = (0, 0)
        self.ended: Ended | None = None
        self.is_gone = False
        self._sending = threading.Lock()

    def send(self, message: ToModel) -> None:
        """Sends a message; does nothing if the process is gone, which its listener will notice. For any thread."""
        with suppress(OSError), self._sending:
            self.connection.send(message)

    def has_room(self, config: Config) -> bool:
        """Returns whether it has fewer pages than it decodes at once plus two batches for its encoder."""
        if self.is_gone or self.device is None:
            return False
        return len(self.given) < decode_slots(config, self.device) + 2 * encode_pages(config, self.device)


class Replicas(ModelService):
    """The configured model in several processes.

    number: how many. when_loaded: called, in any thread, once the first has the model on its device.
    """

    def __init__(
        self, config: Config, number: int, when_loaded: Callable[[LoadedOn], None] | None = None
    ) -> None:
        super().__init__()
        self._config, self._number, self._when_loaded = config, number, when_loaded
        self._rendered: Handover[Ticket] = Handover()
        self._replicas: list[Replica] = []
        self._changed, self._loading = threading.Condition(), threading.Lock()
        self._encodes = Gate()
        self._decodes = [Gate() for _ in range(number)]
        self._is_started = self._is_closing = False
        self._said: set[str] = set()
        self._numbers = itertools.count()

    def prepare(self) -> None:
        """Starts the processes, which begin their imports; for a run that will almost certainly read something."""
        if self._replicas:
            return
        context = multiprocessing.get_context("spawn")
        level = LOGGER.getEffectiveLevel()
        for number in range(self._number):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=serve, args=(theirs, self._config, level, number), name=f"model {number}", daemon=True
            )
            process.start()
            theirs.close()
            replica = Replica(process, ours, number)
            self._replicas.append(replica)
            self._begin("listener", lambda replica=replica: self._listen(replica))  # type: ignore[misc]

    def start(self) -> None:
        """Begins to load the model if it has not been started: a run with nothing to read never loads it."""
        if self._is_started:
            return
        self._is_started = True
        self.prepare()
        for replica in self._replicas:
            replica.send(Load())
        self._begin("dispatcher", self._dispatch)

    @property
    def is_loading(self) -> bool:
        """Tells whether the model was started and does not take pages yet."""
        return self._is_started and not self._encodes.is_open

    @property
    def is_ready(self) -> bool:
        """Tells whether one of the processes takes pages."""
        return self._encodes.is_open

    async def ready(self, *, alone: bool = False) -> None:
        """Waits until the first process takes pages. alone: until all do, and all their decoders are ready."""
        self.start()
        await self._encodes.passed()
        if alone:
            for gate in self._decodes:
                await gate.passed()

    def submit(self, ticket: Ticket) -> None:
        """Queues a page to be read; its ticket is settled when it is done. For any thread."""
        self._rendered.put(ticket, ticket.rendered.num_bytes, first=ticket.is_urgent)

    def close(self) -> None:
        """Ends the processes, giving up pages that are not read yet."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._rendered.abandon()
        deadline = time.monotonic() + (_END_S if self._encodes.is_open else _LOADING_END_S)
        for replica in self._replicas:
            replica.send(Close())
        for replica in self._replicas:
            replica.process.join(max(0.0, deadline - time.monotonic()))
            if replica.process.is_alive():
                LOGGER.debug("%s is still at work, and is terminated", replica.process.name)
                replica.process.kill()
                replica.process.join()
            self._heard_out(replica)
        if self._localizer is not None:
            self._localizer.close()

    def _heard_out(self, replica: Replica) -> None:
        """Waits for the last messages of a process that has ended, which may still be in the pipe."""
        with self._changed:
            self._changed.wait_for(lambda: replica.is_gone, timeout=_LAST_WORDS_S)

    @property
    def capture_s(self) -> float:
        """The seconds that capturing the encoder's graphs took, in the process where it took longest."""
        return max((ended.capture_s for ended in self._ended()), default=0.0)

    def encoder_stats(self) -> "dict[str, PathStats] | None":
        """Returns the statistics of each encoder path over all processes; None where none of them sent any."""
        found = [ended.encoder for ended in self._ended() if ended.encoder is not None]
        if not found:
            return None
        return {
            name: reduce(lambda one, other: one.merge(other), (its[name] for its in found))
            for name in found[0]
        }

    def decoded(self) -> tuple[int, int]:
        """Returns the tokens written and the steps that pages took for them."""
        tokens, steps = zip((0, 0), *(replica.decoded for replica in self._replicas), strict=True)
        return sum(tokens), sum(steps)

    def _used(self, wall_s: float) -> list[StageUse]:
        """Returns where the encoders' and decoders' time went, on average; call it after close()."""
        used: dict[str, list[StageUse]] = {}
        for ended in self._ended():
            for stage in ended.used:
                used.setdefault(stage.name, []).append(stage)
        whole_s = wall_s * max(1, len(self._replicas))
        return [_average(name, stages, whole_s) for name, stages in used.items()]

    def _ended(self) -> list[Ended]:
        return [replica.ended for replica in self._replicas if replica.ended is not None]

    def _dispatch(self) -> None:
        """Gives each page to the process that has the fewest, as soon as one has room."""
        while not self._rendered.is_over:
            if (replica := self._with_room()) is not None:
                for ticket in self._rendered.take(1, timeout_s=_PATIENCE_S):
                    self._give(replica, ticket)

    def _with_room(self) -> Replica | None:
        with self._changed:
            self._changed.wait_for(self._have_room, timeout=_PATIENCE_S)
            return min(self._have_room(), key=lambda replica: len(replica.given), default=None)

    def _have_room(self) -> list[Replica]:
        return [replica for replica in self._replicas if replica.has_room(self._config)]

    def _give(self, replica: Replica, ticket: Ticket) -> None:
        number = next(self._numbers)
        replica.given[number] = ticket
        rendered = share(ticket.rendered) if self.arena is None else self.arena.share(ticket.rendered)
        replica.send(Read(number=number, rendered=rendered, step=ticket.step, is_urgent=ticket.is_urgent))

    def _listen(self, replica: Replica) -> None:
        try:
            while True:
                message: FromModel = replica.connection.recv()
                self._take(replica, message)
        except (EOFError, OSError):
            self._gone(replica)

    def _take(self, replica: Replica, message: FromModel) -> None:
        match message:
            case Settled():
                self._settle(replica, message)
            case Dropped():
                _drop(replica.given.get(message.number))
            case Loaded():
                self._has_loaded(replica, message)
            case Opened(stage="encoder"):
                self._encodes.open()
            case Opened():
                self._decodes[replica.number].open()
            case Said():
                self._say(message)
            case Failed():
                self._failed(replica, message)
            case Ended():
                replica.ended, self.gpu = message, self.gpu or message.gpu

    def _settle(self, replica: Replica, message: Settled) -> None:
        replica.decoded = message.decoded
        ticket = replica.given.pop(message.number)
        with self._changed:
            self._changed.notify_all()
        outcome = message.outcome
        if isinstance(outcome, ReadOut):
            outcome = outcome.of(ticket.rendered)
        ticket.settle(outcome)

    def _has_loaded(self, replica: Replica, message: Loaded) -> None:
        """Notes that a process has loaded the model; sets up what this process needs before the first page comes."""
        with self._loading:  # each process has a listener thread of its own
            if self.device is None:
                self._first_has_loaded(message)
        with self._changed:
            replica.device = message.on.device
            self._changed.notify_all()

    def _first_has_loaded(self, message: Loaded) -> None:
        self.load_s = message.load_s
        LOGGER.info("model loaded in %.1f s", message.load_s)
        if self._when_loaded is not None:
            self._when_loaded(message.on)
        with self._changed:
            if not self._is_closing:
                self._open_localizer(message.wording, message.on.device)
        self.device = message.on.device

    def _say(self, message: Said) -> None:
        """Logs a message once, however many processes send it."""
        if message.message not in self._said and not message.message.startswith("model loaded in"):
            self._said.add(message.message)
            LOGGER.log(message.level, "%s", message.message)

    def _failed(self, replica: Replica, message: Failed) -> None:
        if isinstance(message.error, ModelMemoryError) and replica.device is None and self._others(replica):
            LOGGER.warning(
                "there is no room for a second model; going on without it, only slower: %s", message.error
            )
            self._do_without(replica)
            return
        lost = {
            replica.given[number]: error for number, error in message.lost.items() if number in replica.given
        }
        self._fail(message.error, lost)

    def _gone(self, replica: Replica) -> None:
        """Handles the end of a process, which ends the run unless it was expected."""
        was_gone = replica.is_gone
        with self._changed:
            replica.is_gone = True
            self._changed.notify_all()
        if self._is_closing or was_gone or replica.ended is not None or self.failed.done():
            return
        replica.process.join(_PATIENCE_S)
        happened = death(replica.process.exitcode)
        num_pages = len({ticket.rendered.page for ticket in replica.given.values()})
        beside = f", with {num_pages - 1} others" if num_pages > 1 else ""
        said = f"the model's process ended ({happened}) while this page was in it{beside}"
        error = PageError(
            stage="decode", category="model_ended", message=said
        )  # storage.types.LOST_CATEGORIES
        self._fail(
            ModelProcessError(
                f"the model's process ended ({happened}), perhaps for lack of memory; finished pages are stored, run "
                "again to read the others; run.replicas: 1 needs the least memory"
            ),
            dict.fromkeys(replica.given.values(), error),
        )

    def _others(self, replica: Replica) -> list[Replica]:
        return [other for other in self._replicas if other is not replica and not other.is_gone]

    def _do_without(self, replica: Replica) -> None:
        with self._changed:
            replica.is_gone = True
        replica.send(Close())
        self._decodes[replica.number].open()

    def _fail(self, error: BaseException, lost: Mapping[Ticket, PageError]) -> None:
        """Ends the run with the first error that is passed here."""
        if not self.failed.done():
            self._lost = lost
        self._rendered.abandon()
        with suppress(InvalidStateError):
            self.failed.set_exception(error)

    def _begin(self, name: str, work: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                self._fail(error, {})

        threading.Thread(target=guarded, name=name, daemon=True).start()


def _drop(ticket: Ticket | None) -> None:
    """Releases a page's views, which are no longer needed, and tells the ticket's owner."""
    if ticket is not None and ticket.dropped is not None:
        num_bytes, ticket.rendered = ticket.rendered.num_bytes, ticket.rendered.without_views()
        ticket.dropped(num_bytes)


def _average(name: str, stages: list[StageUse], whole_s: float) -> StageUse:
    """Returns a stage's average use over all processes. stages: of each, in seconds. whole_s: their time together."""
    return StageUse(
        name=name,
        busy=sum(stage.busy for stage in stages) / whole_s if whole_s else 0.0,
        waiting_input=sum(stage.waiting_input for stage in stages) / whole_s if whole_s else 0.0,
        waiting_output=sum(stage.waiting_output for stage in stages) / whole_s if whole_s else 0.0,
    )
