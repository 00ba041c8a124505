"""Runs a Model in a process of its own, which gets the pages to read in messages.

A run's interpreter has much to do besides feeding a GPU: its event loop, the pipes of its workers, the database. A
thread that launches kernels there waits for each of them whenever it needs the interpreter. In a process of its own it
waits only for the other thread that launches kernels.
"""

import contextlib
import logging
import os
import pickle
import signal
import threading
import time
from concurrent.futures import Future
from multiprocessing.connection import Connection
from queue import SimpleQueue
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
from pipeline.device.service import read_out
from pipeline.device.startup.loading import calm_threads, load_model
from pipeline.device.threads.preload import import_ahead
from pipeline.device.threads.threaded_model import Model
from pipeline.device.tickets import LoadedOn, Outcome, ReadOut, Ticket
from pipeline.errors import ModelMemoryError
from pipeline.types import PageResult, RenderedPage

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

LOGGER = logging.getLogger("ocrbatch")
# The keys and values of 256 pages take 19 GiB where there is that much, and an encoder's batch 4 GiB.
_LEAST_GPU_BYTES = 16 << 30


def serve(connection: Connection, config: Config, level: int, number: int) -> None:
    """Reads pages as messages ask for until it is told to end or the sender is gone. Does not return.

    level: the least logging level to hand on. number: of this process among those with this model, from 0.
    """
    # Ctrl-C reaches the whole group; the run decides when its model ends, and can kill it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # So does SIGTERM where a service manager sends it.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    replica = _Replica(connection, config, number)
    LOGGER.handlers[:], LOGGER.propagate = [_Handler(replica)], False
    LOGGER.setLevel(level)
    import_ahead(config.device)
    replica.run()


class _Replica:
    def __init__(self, connection: Connection, config: Config, number: int) -> None:
        self._connection, self._number = connection, number
        self._outbox: SimpleQueue[FromModel | _Unsent | None] = SimpleQueue()
        self._model = Model(config, self._load, places=False)
        self._model.failed.add_done_callback(self._failed)
        self._tickets: dict[int, Ticket] = {}
        self._sender = threading.Thread(target=self._send_all, name="sender", daemon=True)
        self._sender.start()

    def run(self) -> None:
        """Handles messages until the process is to end."""
        try:
            while True:
                message: ToModel = self._connection.recv()
                if isinstance(message, Close):
                    break
                if isinstance(message, Load):
                    self._model.start()
                    self._tell_when_open()
                else:
                    self._read(message)
        except (EOFError, OSError):  # the run's process is gone
            os._exit(1)
        self._close()

    def say(self, message: FromModel) -> None:
        """Sends a message to the run. For any thread."""
        self._outbox.put(message)

    def _load(self, config: Config) -> "PageModel":
        start = time.perf_counter()
        calm_threads()
        from pipeline.device.threads.streams import gpu_bytes, gpu_name
        from pipeline.stages.decode import wording_of

        imported_at = time.perf_counter()
        loaded = load_model(config)
        device, now = loaded.device, time.perf_counter()
        if self._number and config.run.replicas is None:
            _check_room(gpu_bytes(device))
        on = LoadedOn(device=device.type, gpu=gpu_name(device), imported_at=imported_at, loaded_at=now)
        self.say(Loaded(on=on, load_s=now - start, wording=wording_of(loaded)))
        return loaded

    def _tell_when_open(self) -> None:
        self._model.when_open("encoder", lambda: self.say(Opened(stage="encoder")))
        self._model.when_open("decoder", lambda: self.say(Opened(stage="decoder")))

    def _read(self, message: Read) -> None:
        rendered: RenderedPage = message.rendered.open()
        number = message.number
        ticket = Ticket(rendered=rendered, step=message.step, is_urgent=message.is_urgent)
        ticket.dropped = lambda num_bytes: self.say(Dropped(number=number))
        self._tickets[number] = ticket
        # The outcome is prepared in the sender's thread: this callback may run in one that feeds the GPU. It must not
        # refer to the ticket, whose views would then live until the next garbage collection.
        ticket.outcome.add_done_callback(lambda outcome: self._outbox.put(_Unsent(number, outcome)))
        self._model.submit(ticket)

    def _settled(self, unsent: "_Unsent") -> Settled:
        outcome = unsent.outcome.result()
        if not isinstance(outcome, PageResult):
            out = read_out(outcome)
            outcome = ReadOut(read=out.read.without_views(), ended_at=out.ended_at)
        self._tickets.pop(unsent.number)
        return Settled(number=unsent.number, outcome=outcome, decoded=self._model.decoded())

    def _failed(self, failed: Future[None]) -> None:
        error = failed.exception()
        assert error is not None, "it is never settled otherwise"
        by_ticket = self._model.lost_tickets
        lost = {number: by_ticket[its] for number, its in [*self._tickets.items()] if its in by_ticket}
        self.say(Failed(error=_picklable(error), lost=lost))

    def _close(self) -> None:
        """Ends the process at once, whatever its threads are still computing."""
        self._model.close()
        model = self._model
        self.say(
            Ended(
                capture_s=model.capture_s,
                encoder=model.encoder_stats(),
                used=model.stages(1.0),
                gpu=model.gpu,
            )
        )
        self._outbox.put(None)
        self._sender.join()
        os._exit(0)

    def _send_all(self) -> None:
        with contextlib.suppress(OSError):  # the receiving thread notices too
            while (message := self._outbox.get()) is not None:
                self._connection.send(self._settled(message) if isinstance(message, _Unsent) else message)


def _check_room(num_bytes: int | None) -> None:
    """Raises ModelMemoryError where two models would only slow each other down. num_bytes: the GPU's memory."""
    if num_bytes is not None and num_bytes < _LEAST_GPU_BYTES:
        raise ModelMemoryError(
            f"the GPU has {num_bytes / 2**30:.0f} GiB, and {_LEAST_GPU_BYTES >> 30} are wanted; run.replicas: 1 says "
            "so from the start"
        )


class _Unsent:
    """A page's outcome that is still to be prepared for sending."""

    def __init__(self, number: int, outcome: "Future[Outcome]") -> None:
        self.number, self.outcome = number, outcome


class _Handler(logging.Handler):
    """Sends the log messages of the model's code to the run."""

    def __init__(self, replica: _Replica) -> None:
        super().__init__()
        self._replica = replica

    def emit(self, record: logging.LogRecord) -> None:
        self._replica.say(Said(level=record.levelno, message=self.format(record)))


def _picklable(error: BaseException) -> BaseException:
    """Returns the error, or one with the same message where it would not survive pickling."""
    try:
        back: Any = pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error if isinstance(back, type(error)) and str(back) == str(error) else RuntimeError(str(error))
