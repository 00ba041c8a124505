"""Runs the encoder's thread: turns rendered pages into vision tokens, in batches, on a stream of its own."""

import gc
import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ocr.decoding.requests import PageRequest
from pipeline.config.schema import DecodeConfig
from pipeline.device.faults import page_error
from pipeline.device.threads.handover import Handover
from pipeline.device.tickets import Ticket
from pipeline.errors import PipelineError
from pipeline.meter import Meter
from pipeline.outcome.results import failed_result, render_timings
from pipeline.stages.decode import page_settings
from pipeline.stages.encode import encode

if TYPE_CHECKING:
    from pipeline.device.run_encoder import RunEncoder

LOGGER = logging.getLogger("ocrbatch")
# How long the encoder waits for a batch to fill up before it checks again whether the decoder has enough to do.
_PATIENCE_S = 0.02


class EncoderLoop:
    """Encodes the pages of one queue and puts them into the next, until the first is over.

    most: pages of a full batch. It waits for a full batch as long as the decoder has another one to work on.
    """

    def __init__(
        self,
        encoder: "RunEncoder",
        config: DecodeConfig,
        *,
        incoming: Handover[Ticket],
        outgoing: Handover[Ticket],
        most: int,
    ) -> None:
        self.meter = Meter()
        self._encoder, self._config = encoder, config
        self._incoming, self._outgoing = incoming, outgoing
        self._most = most
        self._using = threading.Lock()
        self._computing: Sequence[Ticket] = ()

    def run(self) -> None:
        """Encodes until the queue is over. Raises: DeviceLostError."""
        self.meter.start()
        while not self._incoming.is_over:
            if tickets := self._next():
                encoded = self._encoded(tickets)
                self._computing = ()
                self._hand_on(encoded)
        self.meter.stop()

    def let_go(self) -> None:
        """Drops the model, once the thread has ended; the meter stays."""
        del self._encoder

    @property
    def is_waiting(self) -> bool:
        """Tells whether it has no page to encode, or no room for its encoded pages. For any thread."""
        return self.meter.state in ("input", "output")

    @property
    def on_device(self) -> list[Ticket]:
        """The batch that is being encoded, or that was when the thread failed. For any thread."""
        return list(self._computing)

    def release(self) -> bool:
        """Frees the encoder's graphs for a decoder that runs out of memory; returns whether there were any.

        For any thread.
        """
        with self._using:
            return self._encoder.release()

    def _next(self) -> list[Ticket]:
        at_least = self._most if len(self._outgoing) >= self._most else 1
        with self.meter.waiting("input"):
            return self._incoming.take(
                self._most, at_least=at_least, timeout_s=None if at_least == 1 else _PATIENCE_S
            )

    def _hand_on(self, tickets: Sequence[Ticket]) -> None:
        with self.meter.waiting("output"):
            for ticket in tickets:
                assert ticket.request is not None
                tokens = ticket.request.vision.tokens_TD
                self._outgoing.put(ticket, tokens.numel() * tokens.element_size(), first=ticket.is_urgent)

    def _encoded(self, tickets: Sequence[Ticket], *, again: bool = False) -> list[Ticket]:
        """Encodes a batch and returns its pages for the decoder. Where that fails, tries its halves.

        again: this is the second try of a page that ran out of memory: some may have become free meanwhile.
        """
        self._computing = tickets
        try:
            with self._using:
                self._encoder.begin_batch()
                encoded = encode(self._encoder, [ticket.rendered for ticket in tickets])
            requests = [
                PageRequest(
                    vision=tokens,
                    settings=page_settings(self._config, ticket.rendered.page.kind, ticket.step),
                )
                for ticket, (tokens, _) in zip(tickets, encoded, strict=True)
            ]
        except PipelineError:
            raise
        except Exception as error:
            LOGGER.debug("encode failed for %d pages", len(tickets), exc_info=error)
            failure = page_error("encode", error)
        else:  # must not fail from here on: a page is settled only once
            for ticket, request, (_, timings) in zip(tickets, requests, encoded, strict=True):
                ticket.request, ticket.timings = request, timings
                self._drop_views(ticket)
            return list(tickets)
        # The batch's memory is free only now: the exception referred to the frames that held it.
        gc.collect()
        out_of_memory = failure.category == "out_of_memory"
        if out_of_memory and self.release():
            return self._encoded(tickets)
        if len(tickets) == 1:
            if out_of_memory and not again:
                return self._encoded(tickets, again=True)
            rendered = tickets[0].rendered
            tickets[0].settle(failed_result(rendered.page, failure, render_timings(rendered)))
            return []
        half = len(tickets) // 2
        if out_of_memory:
            self._most = half
        return [*self._encoded(tickets[:half]), *self._encoded(tickets[half:])]

    def _drop_views(self, ticket: Ticket) -> None:
        """Releases the views of an encoded page, which are no longer needed."""
        ticket.rendered = ticket.rendered.without_views()
        if ticket.dropped is not None:
            ticket.dropped(ticket.num_bytes)
