"""Runs the encoder's thread: turns rendered pages into vision tokens, in batches, on a stream of its own."""

import gc
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ocr.decoding.requests import PageRequest
from pipeline.config.schema import DecodeConfig
from pipeline.device.faults import page_error
from pipeline.device.threads.handover import Handover
from pipeline.device.tickets import Ticket
from pipeline.errors import PipelineError
from pipeline.meter import Meter
from pipeline.outcome.results import failed_result, render_timings
from pipeline.stages.decode import page_settings, request_together
from pipeline.stages.encode import encode

if TYPE_CHECKING:
    from pipeline.device.run_encoder import RunEncoder

LOGGER = logging.getLogger("ocrbatch")
# How long the encoder waits for a batch to fill up before it checks again whether the decoder has enough to do.
_PATIENCE_S = 0.02


class EncoderLoop:
    """Encodes the pages of one queue and puts them into the next, until the first is over.

    most: pages of a full batch. It waits for a full batch as long as the decoder has another one to work on.
    prompt_for: returns the prompt for so many pages, of a model that takes several in one; they are handed on as one
    ticket, once the last of them is encoded.
    """

    def __init__(
        self,
        encoder: "RunEncoder",
        config: DecodeConfig,
        *,
        incoming: Handover[Ticket],
        outgoing: Handover[Ticket],
        most: int,
        prompt_for: Callable[[int], str] | None = None,
    ) -> None:
        self.meter = Meter()
        self._encoder, self._config, self._prompt_for = encoder, config, prompt_for
        self._incoming, self._outgoing = incoming, outgoing
        self._most = most
        self._using = threading.Lock()
        self._computing: Sequence[Ticket] = ()

    def run(self) -> None:
        """Encodes until the queue is over. Raises: DeviceLostError."""
        self.meter.start()
        while not self._incoming.is_over:
            if tickets := self._next():
                self._encode(tickets)
                self._computing = ()
                with self.meter.waiting("output"):
                    for ticket in self._gathered(tickets):
                        assert ticket.request is not None
                        num_bytes = sum(item.tokens_TD.nbytes for item in ticket.request.items)
                        self._outgoing.put(ticket, num_bytes, first=ticket.is_urgent)
        self.meter.stop()

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

    def _gathered(self, tickets: Sequence[Ticket]) -> list[Ticket]:
        """Returns what the decoder gets of a batch: its pages, and lots whose last page it has."""
        found: list[Ticket] = []
        for ticket in tickets:
            if ticket.lot is None:
                found += [ticket] if ticket.request is not None else []
            elif members := ticket.lot.encoded(ticket):
                found.append(members[0] if len(members) == 1 else self._together(members))
        return found

    def _together(self, members: tuple[Ticket, ...]) -> Ticket:
        assert self._prompt_for is not None, "pages_per_prompt is refused for other models"
        requests = [ticket.request for ticket in members if ticket.request is not None]
        request = request_together(requests, self._prompt_for(len(members)))
        return Ticket(rendered=members[0].rendered, request=request, members=members)

    def _encode(self, tickets: Sequence[Ticket], *, again: bool = False) -> None:
        """Encodes a batch: its tickets get their requests. Where that fails, tries its halves.

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
                ticket.rendered = ticket.rendered.without_views()  # which are no longer needed
                if ticket.dropped is not None:
                    ticket.dropped(ticket.num_bytes)
            return
        # The batch's memory is free only now: the exception referred to the frames that held it.
        gc.collect()
        out_of_memory = failure.category == "out_of_memory"
        if out_of_memory and self.release():
            self._encode(tickets)
        elif len(tickets) > 1:
            half = len(tickets) // 2
            if out_of_memory:
                self._most = half
            self._encode(tickets[:half])
            self._encode(tickets[half:])
        elif out_of_memory and not again:
            self._encode(tickets, again=True)
        else:
            rendered = tickets[0].rendered
            tickets[0].settle(failed_result(rendered.page, failure, render_timings(rendered.seconds)))
