"""Runs the decoder's thread: turns encoded pages into transcripts; a page that ends makes room for the next."""

import gc
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import DecodeError
from ocr.transcript.page_breaks import told_apart
from ocr.types import Transcript
from pipeline.device.faults import page_error
from pipeline.device.threads.handover import Handover
from pipeline.device.tickets import Abandoned, Ticket
from pipeline.errors import PipelineError
from pipeline.meter import Meter
from pipeline.outcome.results import failed_result
from pipeline.stages.decode import decode_timings
from pipeline.stages.localize import ReadPage
from storage.types import PageError

if TYPE_CHECKING:
    from ocr.decoding.gpu.reader import PagedReader
    from ocr.families.page_model import PageEngine, PageModel

LOGGER = logging.getLogger("ocrbatch")
# How long an idle engine waits for a page before it checks whether the run is over.
_IDLE_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """A failure of the engine. error: as a page's failure. of_data: whether the data caused it, not the method."""

    error: PageError
    of_data: bool


class DecoderLoop:
    """Decodes the pages of a queue until it is over.

    paged: the model's engine for a GPU, if it has one. slots: pages decoded at once without it; halved when memory runs
    out. kv_bytes: the most that keys and values may take then. free_memory: frees memory that others can do without,
    and returns whether there was any. may_gather: tells whether it pays to wait for a page for every slot: on a CPU a
    step of several rows costs little more than one of a single row. The first page of a run never waits.
    """

    def __init__(
        self,
        loaded: "PageModel",
        paged: "PagedReader | None",
        *,
        prompt: str,
        slots: int,
        kv_bytes: int | None,
        incoming: Handover[Ticket],
        free_memory: Callable[[], bool],
        may_gather: Callable[[], bool] = lambda: False,
    ) -> None:
        self.meter = Meter()
        self.num_tokens = 0
        self._loaded, self._paged, self._prompt = loaded, paged, prompt
        self._slots, self._kv_bytes = slots, kv_bytes
        self._incoming, self._free_memory = incoming, free_memory
        self._may_gather = may_gather
        self._in_flight: dict[int, Ticket] = {}
        self._abandoned = False
        self._num_lots = self._num_apart = 0

    def run(self) -> None:
        """Decodes until the queue is over. Raises: PipelineError for errors that end the run, such as a lost device."""
        self.meter.start()
        try:
            while not self._incoming.is_over:
                if failure := self._read(self._arriving(), isolate=False):
                    self._recover(failure)
        except Abandoned:
            LOGGER.debug("abandoned with %d pages under way", len(self._in_flight))
        self.meter.stop()
        if self._num_apart:
            LOGGER.warning(
                "%d of %d prompts with several pages had no answer for each, and their pages were read one by one, "
                "which costs more; a smaller decode.pages_per_prompt may do better",
                self._num_apart,
                self._num_lots,
            )

    def abandon(self) -> None:
        """Ends the thread's work at its next step. For any thread."""
        self._abandoned = True

    @property
    def on_device(self) -> list[Ticket]:
        """The pages that are being decoded, or that were when the thread failed. For any thread."""
        return [page for ticket in self._in_flight.values() for page in ticket.pages]

    def _check(self) -> None:
        if self._abandoned:
            raise Abandoned

    def _arriving(self) -> Iterator[Ticket | None]:
        """Yields pages as they come; None while none is waiting and others are being decoded."""
        while not self._incoming.is_over:
            self._check()
            if self._in_flight:
                tickets = self._incoming.take(1, timeout_s=0)
            else:
                gathers = self.num_tokens > 0 and self._may_gather()
                with self.meter.waiting("input"):
                    at_least = self._slots if gathers else 1
                    tickets = self._incoming.take(1, at_least=at_least, timeout_s=_IDLE_S)
            yield tickets[0] if tickets else None

    def _read(self, tickets: Iterable[Ticket | None], *, isolate: bool) -> _Failure | None:
        """Decodes all these pages, or returns why that failed; pages that were not done are then still under way.

        isolate: one page at a time, without the paged engine.
        """
        self._in_flight = {}
        try:
            for read in self._engine(alone=isolate).read(self._requests(tickets), check=self._check):
                self._deliver(self._in_flight.pop(read.index), read)
            if self._in_flight:
                raise RuntimeError(f"the engine ended with {len(self._in_flight)} pages under way")
        except PipelineError:
            raise
        except Exception as error:
            LOGGER.debug("decode failed with %d pages under way", len(self._in_flight), exc_info=error)
            return _Failure(error=page_error("decode", error), of_data=isinstance(error, DecodeError))
        return None

    def _requests(self, tickets: Iterable[Ticket | None]) -> Iterator[PageRequest | None]:
        index = 0
        for ticket in tickets:
            if ticket is None:
                yield None
                continue
            assert ticket.request is not None
            self._in_flight[index], ticket.taken_at = ticket, time.perf_counter()
            index += 1
            yield ticket.request

    def _deliver(self, ticket: Ticket, read: PageRead) -> None:
        self.num_tokens += len(read.transcript.token_ids)
        seconds, num_pages = time.perf_counter() - ticket.taken_at, len(ticket.pages)
        timings = decode_timings(read, seconds, len(self._in_flight) + 1, num_pages)
        transcripts: Sequence[Transcript] | None = (read.transcript,)
        if ticket.members:
            self._num_lots += 1
            transcripts = told_apart(read.transcript, num_pages, self._loaded.tokenizer)
        if transcripts is None:
            self._num_apart += 1
            self._apart(ticket, "what was written of them cannot be told apart")
            return
        for page, transcript in zip(ticket.pages, transcripts, strict=True):
            page.settle(
                ReadPage(rendered=page.rendered, transcript=transcript, timings=(*page.timings, *timings))
            )

    def _apart(self, ticket: Ticket, reason: str) -> None:
        """Has each of several pages that had one prompt read by itself."""
        first, last = ticket.members[0].rendered.page, ticket.members[-1].rendered.page
        LOGGER.info(
            "%s, pages %d to %d: %s; each is read by itself",
            first.path,
            first.page_number,
            last.page_number,
            reason,
        )
        self._incoming.put_back(ticket.members)

    def _engine(self, *, alone: bool) -> "PageEngine":
        if self._paged is not None and not alone and self._paged.ready():
            return self._paged
        slots = 1 if alone else self._slots
        return self._loaded.engine(prompt=self._prompt, num_slots=slots, kv_bytes=self._kv_bytes)

    def _recover(self, failure: _Failure) -> None:
        """Reads the pages that were under way again: with more memory, in fewer slots, or each page by itself."""
        suspects = list(self._in_flight.values())
        gc.collect()
        out_of_memory = failure.error.category == "out_of_memory"
        # A paged engine has already halved its own slots.
        if out_of_memory and (self._free_memory() or (self._paged is None and self._halve())):
            self._incoming.put_back(suspects)
            return
        if self._paged is not None and not failure.of_data and not out_of_memory:
            LOGGER.warning(
                "the language model's paged engine failed: %s; going on without it, only slower",
                failure.error.message[:300],
            )
            self._paged.close()
            self._paged = None
            self._incoming.put_back(suspects)
            return
        self._each_alone(suspects, failure.error)

    def _halve(self) -> bool:
        if self._slots == 1:
            return False
        self._slots //= 2
        LOGGER.warning(
            "not enough memory for %d pages at once; going on with %d", 2 * self._slots, self._slots
        )
        return True

    def _each_alone(self, suspects: Sequence[Ticket], first: PageError) -> None:
        """Reads each page by itself, so that a page which cannot be read fails alone."""
        for ticket in suspects:
            self._check()
            failure = self._read([ticket], isolate=True)
            if failure is None:
                continue
            if ticket.members:
                self._apart(ticket, failure.error.message[:300])
            else:
                ticket.settle(failed_result(ticket.rendered.page, failure.error, ticket.timings))
        if not suspects:  # it failed before it read any page, and would again
            raise PipelineError(f"the language model cannot read: {first.message}")
