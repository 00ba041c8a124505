"""Runs a model in threads: encoder and decoder work concurrently, and the event loop awaits the pages."""

import asyncio
import contextlib
import ctypes
import gc
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING

from pipeline.config.retry_steps import Step
from pipeline.config.schema import Config
from pipeline.device.faults import before_any_page, failed_pages, lost_pages
from pipeline.device.startup.imports import one_at_a_time
from pipeline.device.threads.handover import Handover
from pipeline.device.threads.preload import import_ahead
from pipeline.device.tickets import Lot, Ticket
from pipeline.meter import Meter, StageUse
from pipeline.outcome.results import failed_result
from pipeline.stages.localize import ReadPage, place
from pipeline.timing import Stopwatch
from pipeline.types import PageResult, RenderedPage
from storage.types import PageError

if TYPE_CHECKING:
    from encoders.graphs.stats import PathStats
    from ocr.families.page_model import PageModel
    from pipeline.device.gpu_meter import GpuReading
    from pipeline.device.run_encoder import RunEncoder
    from pipeline.device.threads.decoder_thread import DecoderLoop
    from pipeline.device.threads.encoder_thread import EncoderLoop

LOGGER = logging.getLogger("ocrbatch")
# The most bytes of encoded pages that may wait for the decoder: two batches of pages and their tokens.
_ENCODED_BYTES = 768 << 20
# The most bytes of prepared pages that may wait for the encoder: a batch of pages of 5 MB, and half of the next one.
_PREPARED_BYTES = 256 << 20
# How long the end of a run waits for its threads, which may be computing: the whole end should take at most 10 s.
_JOIN_S = 6.0
# How long it waits while they are still loading, which is not worth waiting for.
_LOADING_JOIN_S = 0.5
_NAMES = ("model", "preparer", "decoder")


def is_at_work() -> bool:
    """Returns whether a model's thread is still computing: the interpreter must not be shut down meanwhile."""
    return any(thread.name in _NAMES for thread in threading.enumerate())


class PageReader:
    """Reads pages with a model, in threads: loads it when started. Use it from the event loop's thread only.

    load: returns the model. failed: settled with the error that ends the model, if any does. device: where the model
    is, None before it is loaded. load_s, capture_s: seconds of loading, and of the encoder's graphs, once the run is
    over.
    """

    def __init__(self, config: Config, load: "Callable[[Config], PageModel]") -> None:
        self.failed: Future[None] = Future()
        self.load_s = 0.0
        self.device: str | None = None
        self.gpu: GpuReading | None = None
        self._config = config
        self._load = load
        self._lost: Mapping[Ticket, PageError] = {}
        self._rendered: Handover[Ticket] = Handover()
        self._prepared: Handover[Ticket] = Handover(_PREPARED_BYTES)
        self._encoded: Handover[Ticket] = Handover(_ENCODED_BYTES)
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()
        self._encodes, self._decodes = Future[None](), Future[None]()  # done once each takes pages
        self._loaded: PageModel | None = None
        self._encoder: RunEncoder | None = None
        self._encoding: EncoderLoop | None = None
        self._decoding: DecoderLoop | None = None
        self._meters: dict[str, Meter] = {}  # of the stages that began
        self._placing = Meter()
        # Of a model that was let go: capture_s, encoder_stats() and num_tokens.
        self._kept: tuple[float, dict[str, PathStats] | None, int] = 0.0, None, 0

    def prepare(self) -> None:
        """Begins to import what the model needs, in a thread; for a run that will almost certainly read something."""
        import_ahead(self._config.device)

    def start(self) -> None:
        """Begins to load the model if it has not been started: a run with nothing to read never loads it."""
        if not self._threads:
            self._begin("model", self._run)

    @property
    def is_loading(self) -> bool:
        """Tells whether the model was started and does not take pages yet."""
        return bool(self._threads) and not self._encodes.done()

    @property
    def is_ready(self) -> bool:
        """Tells whether the model takes pages."""
        return self._encodes.done()

    async def ready(self, *, alone: bool = False) -> None:
        """Starts the model if need be, and waits until it takes pages; until then no page is in it.

        alone: also waits until nothing else is being set up whose failure could be blamed on a page, as the decoder's
        graphs are captured while the encoder has the first pages. If the model fails to load, this never returns, and
        `failed` has the error.
        """
        self.start()
        for takes_pages in (self._encodes, self._decodes) if alone else (self._encodes,):
            await asyncio.shield(asyncio.wrap_future(takes_pages))  # others wait for it too

    async def read(
        self,
        rendered: RenderedPage,
        dropped: Callable[[int], None] | None = None,
        step: Step | None = None,
        *,
        is_urgent: bool = False,
        lot: Lot | None = None,
    ) -> PageResult:
        """Reads a page and returns its result.

        dropped: called with the number of bytes of views that are released before the page is done; the caller must
        not hold them either. step: the retry step to read it with, None for the configured way. is_urgent: puts it
        before waiting pages that are not. lot: the pages that share its prompt, all of which have joined.
        """
        self.start()
        ticket = Ticket(rendered=rendered, step=step, is_urgent=is_urgent, lot=lot)
        if dropped is not None:
            loop = asyncio.get_running_loop()
            ticket.dropped = lambda num_bytes: _call_in(loop, dropped, num_bytes)
        self._rendered.put(ticket, ticket.num_bytes, first=is_urgent)
        del rendered
        outcome = await asyncio.wrap_future(ticket.outcome)
        return outcome if isinstance(outcome, PageResult) else self._placed(outcome)

    def _placed(self, read: ReadPage) -> PageResult:
        """Returns the result of a page that the model has read: one or two milliseconds of work."""
        assert self._loaded is not None, "it is let go once all that it has read is placed"
        watch = Stopwatch()
        try:
            with watch.measure():
                return place(read, self._loaded)
        except Exception as error:
            LOGGER.debug("a page's output could not be taken apart", exc_info=error)
            message = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            failure = PageError(stage="place", category="internal", message=message)
            return failed_result(read.rendered.page, failure, read.timings)
        finally:
            self._placing.add("busy", watch.seconds)

    def lost(self) -> list[PageResult]:
        """Returns the failures of the pages that were being computed when the model failed; once `failed` is settled.

        A page that crashed the device is among them, so that it will not always be the first page of the next run.
        """
        return failed_pages(self._lost)

    def close(self) -> None:
        """Ends the threads, giving up pages that are not read yet. Frees graphs and caches."""
        self._closing.set()
        self._abandon()
        deadline = time.monotonic() + (_LOADING_JOIN_S if self._loaded is None else _JOIN_S)
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                LOGGER.debug("the %s is still at work; the process ends without it", thread.name)

    def let_go(self) -> None:
        """Ends the model and frees its memory; counts and times stay. For any thread."""
        self.close()
        if self._loaded is None or any(thread.is_alive() for thread in self._threads):
            return
        self._kept = self.capture_s, self.encoder_stats(), self.num_tokens
        self._loaded = self._encoder = self._encoding = self._decoding = None
        _free_memory()

    @property
    def capture_s(self) -> float:
        """The seconds that capturing the encoder's graphs took."""
        return self._kept[0] if self._encoder is None else self._encoder.capture_s

    def encoder_stats(self) -> "dict[str, PathStats] | None":
        """Returns the statistics of each encoder path; None where no encoder was needed."""
        return self._kept[1] if self._encoder is None else self._encoder.stats()

    def stages(self, wall_s: float) -> list[StageUse]:
        """Returns where the time of the model's stages went; call it after close()."""
        meters = {**self._meters, "place": self._placing} if self._meters else {}
        return [meter.use(name, wall_s) for name, meter in meters.items()]

    @property
    def num_tokens(self) -> int:
        """The tokens written so far."""
        decoding = self._decoding
        return self._kept[2] if decoding is None else decoding.num_tokens

    def _run(self) -> None:
        """Runs the encoder's thread, which also loads the model and ends the decoder's thread."""
        with one_at_a_time():
            from pipeline.device.gpu_meter import GpuMeter
            from pipeline.device.startup.loading import open_encoder, threads_each
            from pipeline.device.threads.streams import gpu_name, quick_turns, share_cpus

        watch = Stopwatch()
        with watch.measure(), before_any_page():
            loaded = self._loaded = self._load(self._config)
            self._encoder = encoder = open_encoder(loaded, self._config)
            encoder.synchronize()  # other streams would not wait for this one
        try:
            self.load_s = watch.seconds
            LOGGER.info("model loaded in %.1f s", watch.seconds)
            if self._closing.is_set():
                return
            device = loaded.device
            self.device = device.type
            share_cpus(device, self._config.threads or threads_each())
            with GpuMeter(gpu_name(device)) as gpu, quick_turns(device):
                self._read_all(loaded, encoder)
            self.gpu = gpu.reading()
        finally:
            encoder.close()

    def _read_all(self, loaded: "PageModel", encoder: "RunEncoder") -> None:
        from pipeline.device.sizes import encode_pages
        from pipeline.device.threads.encoder_thread import EncoderLoop
        from pipeline.device.threads.preparer_thread import PreparerLoop
        from pipeline.device.threads.streams import own_stream, try_device

        watch = Stopwatch()
        with watch.measure():
            encoder.warm_up()
            with before_any_page():
                try_device(loaded.device)
        if encoder.prepares:
            preparing = PreparerLoop(encoder, incoming=self._rendered, outgoing=self._prepared)
            self._meters["prepare"] = preparing.meter
            self._begin("preparer", preparing.run)
        self._encoding = EncoderLoop(
            encoder,
            self._config.decode,
            incoming=self._prepared if encoder.prepares else self._rendered,
            outgoing=self._encoded,
            most=encode_pages(self._config, loaded.device.type) * encoder.num_ranks,
            prompt_for=getattr(loaded, "prompt_for", None),
        )
        self._meters["encode"] = self._encoding.meter
        self._encoding.meter.add("busy", watch.seconds)
        decoder = self._begin("decoder", lambda: self._decode_all(loaded))
        self._encodes.set_result(None)
        try:
            with own_stream(loaded.device):
                self._encoding.run()
        except BaseException as error:
            self._fail(error)  # at once, not only after the decoder has read its pages
        finally:
            self._encoded.finish()
            decoder.join()

    def _decode_all(self, loaded: "PageModel") -> None:
        """Runs the decoder's thread."""
        from pipeline.device.sizes import decode_slots, kv_bytes
        from pipeline.device.startup.loading import open_paged, threads_each
        from pipeline.device.threads.decoder_thread import DecoderLoop
        from pipeline.device.threads.streams import own_stream, share_cpus, try_device

        encoding, device = self._encoding, loaded.device
        assert encoding is not None
        share_cpus(device, self._config.threads or threads_each())
        with own_stream(device):
            watch = Stopwatch()
            with watch.measure():
                paged = open_paged(loaded, self._config)
                with before_any_page():
                    try_device(device)
            self._decoding = DecoderLoop(
                loaded,
                paged,
                prompt=self._config.decode.prompt or loaded.prompt,
                slots=decode_slots(self._config, device.type),
                kv_bytes=kv_bytes(device.type),
                incoming=self._encoded,
                free_memory=encoding.release,
                may_gather=lambda: device.type == "cpu" and not encoding.is_waiting,
            )
            self._meters["decode"] = self._decoding.meter
            self._decoding.meter.add("busy", watch.seconds)
            if self._closing.is_set():
                self._decoding.abandon()
            self._decodes.set_result(None)
            try:
                self._decoding.run()
            finally:
                if paged is not None:
                    paged.close()

    def _fail(self, error: BaseException) -> None:
        """Ends the run with the first error that is passed here."""
        loops = {"encode": self._encoding, "decode": self._decoding}
        held = {stage: loop.on_device for stage, loop in loops.items() if loop is not None}
        if not self.failed.done():
            self._lost = lost_pages(error, held)
        self._abandon()
        with contextlib.suppress(InvalidStateError):
            self.failed.set_exception(error)

    def _abandon(self) -> None:
        """Gives up what waits in any of the queues, and has the threads end."""
        for queue in (self._rendered, self._prepared, self._encoded):
            queue.abandon()
        if self._decoding is not None:
            self._decoding.abandon()

    def _begin(self, name: str, work: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                self._fail(error)

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread


def _free_memory() -> None:
    """Collects what nothing refers to any more, and returns unused memory of the process and of its GPU."""
    gc.collect()
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def _call_in(loop: asyncio.AbstractEventLoop, task: Callable[[int], None], value: int) -> None:
    """Calls task(value) in the event loop from another thread; does nothing if the loop has ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(task, value)
